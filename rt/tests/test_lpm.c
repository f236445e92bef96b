/* Longest prefix match against a linear scan over the prefixes. */
#include "table/lpm/sd_lpm_update.h"

#include "check.h"

#define LIMBS_MAX 16
#define N_LISTED 8192
#define N_BULK 70

struct listed {
    uint64_t bits[LIMBS_MAX];
    uint32_t length;
    uint32_t number;
};

static struct listed list[N_LISTED];
static uint32_t n_listed;
static uint64_t state;
static uint32_t width, n_limbs;
static uint64_t n_hits, n_lookups;

static uint64_t below(uint64_t n)
{
    return check_random(&state) % n;
}

static bool bit_of(const uint64_t *bits, uint32_t i)
{
    return bits[i / 64] >> (63 - i % 64) & 1;
}

static void cut(uint64_t *bits, uint32_t length)
{
    for (uint32_t i = length; i < n_limbs * 64; i++)
        bits[i / 64] &= ~(UINT64_C(1) << (63 - i % 64));
}

static bool covers(const struct listed *l, const uint64_t *key)
{
    for (uint32_t i = 0; i < l->length; i++)
        if (bit_of(l->bits, i) != bit_of(key, i))
            return false;
    return true;
}

static uint32_t scan(const uint64_t *key)
{
    const struct listed *best = NULL;
    for (uint32_t i = 0; i < n_listed; i++)
        if ((!best || list[i].length > best->length) && covers(&list[i], key))
            best = &list[i];
    return best ? best->number : SD_LPM_NONE;
}

static struct listed *find(const uint64_t *bits, uint32_t length)
{
    for (uint32_t i = 0; i < n_listed; i++)
        if (list[i].length == length && memcmp(list[i].bits, bits, n_limbs * 8) == 0)
            return &list[i];
    return NULL;
}

/* Often near to what is there: the first bits of it, and then others. */
static void random_bits(uint64_t *bits)
{
    memset(bits, 0, LIMBS_MAX * 8);
    for (uint32_t i = 0; i < n_limbs; i++)
        bits[i] = check_random(&state);
    if (n_listed > 0 && below(8) > 0) {
        const struct listed *near = &list[below(n_listed)];
        uint32_t same = (uint32_t)below(2) ? near->length : (uint32_t)below(width + 1);
        for (uint32_t i = 0; i < same; i++) {
            uint64_t mask = UINT64_C(1) << (63 - i % 64);
            bits[i / 64] = (bits[i / 64] & ~mask) | (near->bits[i / 64] & mask);
        }
        if (same > 0 && below(2))
            bits[(same - 1) / 64] ^= UINT64_C(1) << (63 - (same - 1) % 64);
    }
    cut(bits, width);
}

static void check_lookups(const struct sd_lpm *t)
{
    static uint64_t keys[N_BULK * LIMBS_MAX];
    static uint32_t numbers[N_BULK];
    uint32_t n = (uint32_t)below(N_BULK + 1);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t key[LIMBS_MAX];
        random_bits(key);
        memcpy(keys + (size_t)i * n_limbs, key, n_limbs * 8);
    }
    /* As generated code says it, and as code does that does not know the width. */
    if (n_limbs == 1)
        sd_lpm_lookup_bulk(t, keys, 1, n, numbers);
    else if (n_limbs == 2)
        sd_lpm_lookup_bulk(t, keys, 2, n, numbers);
    else
        sd_lpm_lookup_bulk(t, keys, n_limbs, n, numbers);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t *key = keys + (size_t)i * n_limbs;
        uint32_t wanted = scan(key);
        CHECK(numbers[i] == wanted);
        CHECK(sd_lpm_lookup(t, key, n_limbs) == wanted);
        n_hits += wanted != SD_LPM_NONE;
        n_lookups++;
    }
}

/* As if nothing had ever been there. */
static void check_empty(const struct sd_lpm *t)
{
    CHECK(t->n_prefixes == 0 && t->limbo.n == 0);
    CHECK(t->blocks.n_used - t->blocks.n_free == (1 + SD_LPM_LINES_MAX) * SD_LINE_BYTES);
    for (size_t i = 0; i < (size_t)1 << t->top->n_bits; i++)
        CHECK(t->top->words[i] == 0);
    for (size_t i = 0; i < (size_t)1 << t->root->n_bits; i++)
        CHECK(t->root->words[i] == 0);
    for (size_t i = 0; i < (size_t)2 << t->top->n_bits; i++)
        CHECK(t->shorts[i] == 0);
}

static void run(uint32_t n_steps, uint32_t n_max, uint32_t every, uint64_t n_view)
{
    struct sd_lpm t;
    CHECK(sd_lpm_init(&t, width, NULL));
    t.n_view_prefixes = n_view;
    n_limbs = (width + 63) / 64;
    n_listed = 0;
    uint32_t next = 0;
    for (uint32_t step = 0; step < n_steps; step++) {
        struct listed l;
        random_bits(l.bits);
        l.length = (uint32_t)below(width + 1);
        if (below(3) && width > 24)
            l.length = 18 + (uint32_t)below(7);
        /* Few that change a large part of a large table. */
        if (n_max > 1000 && l.length < 8 && below(20))
            l.length += 8;
        cut(l.bits, l.length);
        /* They come and go. */
        bool is_filling = step / (2 * n_max) % 3 < 2;
        if (below(10) < (is_filling ? 7 : 3)) {
            bool is_there = find(l.bits, l.length) != NULL;
            if (!is_there && n_listed >= n_max)
                continue;
            l.number = next++;
            CHECK(sd_lpm_add(&t, l.bits, l.length, l.number) == (is_there ? SD_EXISTS : SD_OK));
            if (!is_there)
                list[n_listed++] = l;
        } else {
            if (n_listed > 0 && below(4))
                l = list[below(n_listed)];
            struct listed *there = find(l.bits, l.length);
            CHECK(sd_lpm_find(&t, l.bits, l.length) == (there ? there->number : SD_LPM_NONE));
            CHECK(sd_lpm_remove(&t, l.bits, l.length) == (there ? SD_OK : SD_NOT_FOUND));
            if (there)
                *there = list[--n_listed];
        }
        if (step % every == 0)
            check_lookups(&t);
    }
    CHECK(n_max < 4096 || (t.top->n_bits == 18 && t.root->n_bits == 24));
    while (n_listed > 0) {
        const struct listed *l = &list[--n_listed];
        CHECK(sd_lpm_remove(&t, l->bits, l->length) == SD_OK);
        if (n_listed % (10 * every) == 0)
            check_lookups(&t);
    }
    check_empty(&t);
    sd_lpm_free(&t);
}

static uint64_t host_of(uint32_t i, uint32_t length)
{
    /* Distinct in the first 24 bits, whatever the order. */
    return (uint64_t)(i * 0x9e3779u & 0xffffffu) << 40 | (length > 24 ? UINT64_C(1) << (64 - length) : 0);
}

/* Each prefix alone in what it needs a node of its own for. */
static void test_sparse(uint32_t n, uint32_t length, size_t bytes_each)
{
    struct sd_lpm t;
    CHECK(sd_lpm_init(&t, 32, NULL));
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bits = host_of(i, length);
        CHECK(sd_lpm_add(&t, &bits, length, i) == SD_OK);
        CHECK(sd_lpm_add(&t, &bits, length, n) == SD_EXISTS);
    }
    CHECK(sd_lpm_n_bytes(&t) < bytes_each * n);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t key = host_of(i, length);
        CHECK(sd_lpm_lookup(&t, &key, 1) == i);
        key ^= UINT64_C(1) << (64 - length);
        CHECK(sd_lpm_lookup(&t, &key, 1) == SD_LPM_NONE);
        CHECK(sd_lpm_find(&t, &key, length) == SD_LPM_NONE);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bits = host_of(i, length);
        CHECK(sd_lpm_remove(&t, &bits, length) == SD_OK);
    }
    check_empty(&t);
    sd_lpm_free(&t);
}

/* Pairs that differ in the last bit only, and all prefixes of one key over one another. */
static void test_deep(uint32_t width_bits)
{
    struct sd_lpm t;
    CHECK(sd_lpm_init(&t, width_bits, NULL));
    uint64_t key[LIMBS_MAX];
    memset(key, 0xff, sizeof key);
    width = width_bits;
    n_limbs = (width + 63) / 64;
    for (uint32_t i = 0; i <= width; i++) {
        /* In an order that is none. */
        uint32_t length = i * 50 % (width + 1);
        uint64_t bits[LIMBS_MAX];
        memcpy(bits, key, sizeof bits);
        cut(bits, length);
        CHECK(sd_lpm_add(&t, bits, length, length) == SD_OK);
        if (length == 0)
            continue;
        bits[(length - 1) / 64] ^= UINT64_C(1) << (63 - (length - 1) % 64);
        CHECK(sd_lpm_add(&t, bits, length, width + length) == SD_OK);
    }
    for (uint32_t length = 1; length <= width; length++) {
        uint64_t bits[LIMBS_MAX];
        memcpy(bits, key, sizeof bits);
        cut(bits, width);
        CHECK(sd_lpm_lookup(&t, bits, n_limbs) == width);
        bits[(length - 1) / 64] ^= UINT64_C(1) << (63 - (length - 1) % 64);
        CHECK(sd_lpm_lookup(&t, bits, n_limbs) == width + length);
    }
    sd_lpm_free(&t);
}

/* Full memory, and a reader that stays within its burst, change nothing but that there is no more room. */
static void test_short_of_memory(uint32_t width_bits)
{
    struct sd_lpm t;
    struct sd_epochs epochs;
    CHECK(sd_epochs_init(&epochs, 1) && sd_lpm_init(&t, width_bits, &epochs));
    width = width_bits;
    n_limbs = (width + 63) / 64;
    t.n_blocks_bytes_max = 1;
    uint32_t length = width > 60 ? 60 : width;
    sd_epoch_quiesce(&epochs, 0);
    uint64_t random = 1, bits[2] = {0, 0};
    uint32_t n = 0, status;
    for (;; n++) {
        bits[0] = check_random(&random);
        cut(bits, length);
        status = sd_lpm_add(&t, bits, length, n);
        if (status != SD_OK)
            break;
    }
    CHECK(status == SD_NO_MEMORY && n > 1000 && t.n_prefixes == n);
    CHECK(sd_lpm_find(&t, bits, length) == SD_LPM_NONE && sd_lpm_lookup(&t, bits, n_limbs) == SD_LPM_NONE);
    for (uint32_t round = 0; round < 2; round++) {
        random = 1;
        for (uint32_t i = 0; i < n; i++) {
            bits[0] = check_random(&random);
            cut(bits, length);
            CHECK(sd_lpm_lookup(&t, bits, n_limbs) == i);
        }
        /* The reader leaves, and what waited for it is room again. */
        sd_epoch_idle(&epochs, 0);
        sd_collect(&t.limbo, &epochs);
        CHECK(t.limbo.n == 0);
        sd_epoch_quiesce(&epochs, 0);
    }
    bits[0] = check_random(&random);
    CHECK(sd_lpm_add(&t, bits, width + 1, 1) == SD_OUT_OF_RANGE);
    CHECK(sd_lpm_add(&t, bits, length, SD_LPM_N_NUMBERS) == SD_OUT_OF_RANGE);
    random = 1;
    for (uint32_t i = 0; i < n; i++) {
        bits[0] = check_random(&random);
        cut(bits, length);
        status = sd_lpm_remove(&t, bits, length);
        sd_epoch_quiesce(&epochs, 0);
        if (status == SD_NO_MEMORY) {
            sd_collect(&t.limbo, &epochs);
            status = sd_lpm_remove(&t, bits, length);
        }
        CHECK(status == SD_OK);
    }
    sd_epoch_idle(&epochs, 0);
    sd_collect(&t.limbo, &epochs);
    check_empty(&t);
    sd_lpm_free(&t);
    sd_epochs_free(&epochs);
}

int main(void)
{
    test_sparse(200000, 25, 200);
    test_sparse(50000, 32, 400);
    test_deep(32);
    test_deep(128);
    test_deep(1000);
    test_short_of_memory(32);
    test_short_of_memory(128);

    static const uint32_t widths[] = {1, 5, 6, 7, 13, 24, 32, 33, 48, 63, 64, 65, 70, 127, 128, 129, 200, 1000};
    for (uint32_t i = 0; i < SD_ARRAY_LEN(widths); i++) {
        width = widths[i];
        state = width;
        n_hits = n_lookups = 0;
        run(4000, 100, 5, UINT64_MAX);
        /* With a view almost from the beginning, of a top that has no nodes yet. */
        run(4000, 100, 5, 40);
        if (width == 32 || width == 128)
            run(16000, 5000, 300, width == 32 ? 4500 : 600);
        CHECK(n_hits * 20 > n_lookups && n_hits * 100 < n_lookups * 99);
    }
    return 0;
}
