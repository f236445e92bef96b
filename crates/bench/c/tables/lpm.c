/*
 * How fast tables of longest prefix match are: lookups in bursts, inserts, removals, the dearest updates, memory.
 *
 *     cc -std=gnu11 -O3 -march=native -I rt -I crates/bench/peers crates/bench/c/tables/lpm.c -o lpm && ./lpm [--quick] [--size N]
 *
 * One JSON object per line, with the keys of crates/bench/peers; the IPv4 routes of the mix `backbone` are those that
 * crates/bench/peers/rte_fib.c has. Works: "lookup" (addresses inside routes), "lookup-any" (any addresses), "lookup-one"
 * (the next address depends on what was found), "insert" and "remove" (single routes, with a reader's epochs),
 * "insert-half" and "remove-half" (a route of one bit over a table of so many: cycles of the one update). The peer "ceiling" is one load per lookup, see below.
 */
#include "table/lpm/sd_lpm_update.h"

#include "workload.h"

#define BURSTS_PER_SLICE 128

struct route {
    uint64_t bits[2];
    uint32_t length;
};

struct mix {
    const char *name;
    uint32_t width_bits;
    /* Per mille of the routes that have each length; none: all from `shortest` to the width alike. */
    uint16_t lengths[129];
    uint32_t shortest;
    size_t sizes[4];
};

static const struct mix mixes[] = {
    {
        .name = "backbone",
        .width_bits = 32,
        .lengths = {[8] = 1, [10] = 1, [12] = 2, [13] = 2, [14] = 3, [15] = 3, [16] = 15, [17] = 10, [18] = 15,
                    [19] = 30, [20] = 50, [21] = 55, [22] = 110, [23] = 100, [24] = 593, [26] = 2, [28] = 2,
                    [30] = 2, [32] = 4},
        .sizes = {1000, 100000, 1000000},
    },
    {.name = "uniform", .width_bits = 32, .shortest = 8, .sizes = {1000, 100000, 1000000}},
    {
        .name = "backbone6",
        .width_bits = 128,
        /* About the proportions of an Internet table of IPv6. */
        .lengths = {[20] = 1, [24] = 3, [28] = 8, [29] = 40, [30] = 6, [32] = 130, [33] = 12, [34] = 12, [35] = 8,
                    [36] = 50, [38] = 10, [40] = 90, [42] = 10, [44] = 100, [45] = 5, [46] = 25, [47] = 15,
                    [48] = 455, [56] = 8, [64] = 10, [128] = 2},
        .sizes = {1000, 100000, 1000000},
    },
};

static struct sd_epochs epochs;

static void cut(uint64_t *bits, uint32_t length)
{
    bits[0] &= length == 0 ? 0 : length >= 64 ? UINT64_MAX : ~(UINT64_MAX >> length);
    bits[1] &= length <= 64 ? 0 : length >= 128 ? UINT64_MAX : ~(UINT64_MAX >> (length - 64));
}

static uint32_t random_length(const struct mix *mix, uint64_t *state)
{
    if (mix->shortest)
        return mix->shortest + peer_random_below(state, mix->width_bits - mix->shortest + 1);
    uint32_t at = peer_random_below(state, 1000), length = 0;
    while (length < mix->width_bits && at >= mix->lengths[length])
        at -= mix->lengths[length++];
    return length;
}

static void random_route(const struct mix *mix, uint64_t *state, struct route *r, const struct route *near)
{
    r->length = random_length(mix, state);
    if (mix->width_bits == 32) {
        /* 1.0.0.0 to 223.255.255.255: unicast. */
        uint64_t first = 1 + peer_random_below(state, 223);
        r->bits[0] = first << 56 | (peer_random(state) & 0xffffff) << 32;
        r->bits[1] = 0;
    } else {
        /* 2000::/3; half of the longer ones lie in a route that is there. */
        r->bits[0] = UINT64_C(1) << 61 | peer_random(state) >> 3;
        r->bits[1] = peer_random(state);
        if (near && r->length > near->length && peer_random(state) & 1) {
            uint64_t bits[2] = {near->bits[0], near->bits[1]}, others[2] = {r->bits[0], r->bits[1]};
            cut(others, near->length);
            r->bits[0] = (r->bits[0] ^ others[0]) | bits[0];
            r->bits[1] = (r->bits[1] ^ others[1]) | bits[1];
        }
    }
    cut(r->bits, r->length);
}

/* `n` distinct ones. A table of ours finds those that are there. */
static bool generate(const struct mix *mix, struct route *routes, size_t n)
{
    struct sd_lpm t;
    uint64_t state = 0xf1b;
    if (!sd_lpm_init(&t, mix->width_bits, NULL))
        return false;
    for (size_t i = 0; i < n;) {
        random_route(mix, &state, &routes[i], i ? &routes[peer_random(&state) % i] : NULL);
        uint32_t status = sd_lpm_add(&t, routes[i].bits, routes[i].length, (uint32_t)i);
        if (status == SD_NO_MEMORY)
            return false;
        i += status == SD_OK;
    }
    sd_lpm_free(&t);
    return true;
}

static double fill(struct sd_lpm *t, const struct route *routes, size_t n)
{
    double begin = peer_thread_cycles();
    for (size_t i = 0; i < n; i++)
        if (sd_lpm_add(t, routes[i].bits, routes[i].length, (uint32_t)i) != SD_OK)
            return -1;
    return (peer_thread_cycles() - begin) / (double)n;
}

static double drain(struct sd_lpm *t, const struct route *routes, size_t n)
{
    double begin = peer_thread_cycles();
    for (size_t i = 0; i < n; i++)
        if (sd_lpm_remove(t, routes[i].bits, routes[i].length) != SD_OK)
            return -1;
    return (peer_thread_cycles() - begin) / (double)n;
}

SD_ALWAYS_INLINE double look_up_limbs(const struct sd_lpm *t, const uint64_t *keys, size_t n, uint32_t n_limbs)
{
    static struct peer_slices slices;
    slices.n = 0;
    for (size_t at = 0; at < n; at += (size_t)BURSTS_PER_SLICE * PEER_BURST) {
        uint64_t sum = 0;
        uint64_t begin = peer_tsc();
        for (size_t burst = 0; burst < BURSTS_PER_SLICE; burst++) {
            uint32_t numbers[PEER_BURST];
            sd_lpm_lookup_bulk(t, keys + (at + burst * PEER_BURST) * n_limbs, n_limbs, PEER_BURST, numbers);
            for (size_t i = 0; i < PEER_BURST; i++)
                sum += numbers[i];
        }
        peer_slice_add(&slices, begin, peer_tsc(), (size_t)BURSTS_PER_SLICE * PEER_BURST);
        __asm__ volatile("" : : "r"(sum));
    }
    return peer_median(slices.values, slices.n);
}

SD_ALWAYS_INLINE double look_up_one_limbs(const struct sd_lpm *t, const uint64_t *keys, size_t n, uint32_t n_limbs)
{
    static struct peer_slices slices;
    slices.n = 0;
    uint64_t found = 0;
    size_t n_slice = (size_t)BURSTS_PER_SLICE * PEER_BURST;
    for (size_t at = 0; at < n / 4; at += n_slice) {
        uint64_t begin = peer_tsc();
        for (size_t i = at; i < at + n_slice; i++) {
            found = sd_lpm_lookup(t, keys + (i + (found >> 32)) * n_limbs, n_limbs);
            /* So that nobody knows that it is less than 2^32. */
            __asm__ volatile("" : "+r"(found));
        }
        peer_slice_add(&slices, begin, peer_tsc(), n_slice);
    }
    __asm__ volatile("" : : "r"(found));
    return peer_median(slices.values, slices.n);
}

/* Not inlined, so that each is compiled for its number of limbs, as generated code is. */
static __attribute__((noinline)) double look_up(const struct sd_lpm *t, const uint64_t *keys, size_t n, bool is_one)
{
    if (t->n_limbs == 1)
        return is_one ? look_up_one_limbs(t, keys, n, 1) : look_up_limbs(t, keys, n, 1);
    return is_one ? look_up_one_limbs(t, keys, n, 2) : look_up_limbs(t, keys, n, 2);
}

/*
 * What nothing with one load per lookup can beat: one word for each of the first 24 bits, in huge pages. Prefixes
 * that are longer are left out.
 */
static double look_up_ceiling(const uint32_t *words, const uint64_t *keys, size_t n)
{
    static struct peer_slices slices;
    slices.n = 0;
    for (size_t at = 0; at < n; at += (size_t)BURSTS_PER_SLICE * PEER_BURST) {
        uint64_t sum = 0;
        uint64_t begin = peer_tsc();
        for (size_t burst = 0; burst < BURSTS_PER_SLICE; burst++) {
            const uint64_t *here = keys + at + burst * PEER_BURST;
            for (size_t i = 0; i < PEER_BURST; i++)
                __builtin_prefetch(&words[here[i] >> 40]);
            for (size_t i = 0; i < PEER_BURST; i++)
                sum += words[here[i] >> 40];
        }
        peer_slice_add(&slices, begin, peer_tsc(), (size_t)BURSTS_PER_SLICE * PEER_BURST);
        __asm__ volatile("" : : "r"(sum));
    }
    return peer_median(slices.values, slices.n);
}

static void report(const struct mix *mix, const char *peer, const char *work, size_t n, double *runs,
                   size_t n_runs, double bytes)
{
    double least = runs[0], most = runs[0];
    for (size_t i = 0; i < n_runs; i++) {
        least = runs[i] < least ? runs[i] : least;
        most = runs[i] > most ? runs[i] : most;
    }
    char extra[160];
    double middle = peer_median(runs, n_runs);
    snprintf(extra, sizeof extra, "\"unit\":\"%.6s\",\"burst\":%d,\"mix\":\"%s\",\"spread\":%.2f,\"bytes_per_entry\":%.1f",
             work, PEER_BURST, mix->name, (most - least) / middle, bytes);
    peer_print(peer, "0", work, n, runs, n_runs, extra);
}

static bool measure(const struct mix *mix, size_t n, size_t n_runs)
{
    size_t n_order = (size_t)BURSTS_PER_SLICE * PEER_BURST * 256, n_limbs = (mix->width_bits + 63) / 64;
    struct route *routes = calloc(n, sizeof *routes);
    uint64_t *hits = calloc(n_order + 1, n_limbs * 8), *any = calloc(n_order + 1, n_limbs * 8);
    double inserts[PEER_RUNS], removals[PEER_RUNS], halves[PEER_RUNS], less[PEER_RUNS], lookups[PEER_RUNS];
    struct sd_lpm t;
    bool is_well = false;
    uint64_t state = 3;
    if (!routes || !hits || !any || !generate(mix, routes, n))
        goto done;
    for (size_t i = 0; i < n_order; i++) {
        const struct route *r = &routes[peer_random_below(&state, (uint32_t)n)];
        uint64_t bits[2] = {peer_random(&state), peer_random(&state)}, first[2] = {bits[0], bits[1]};
        cut(bits, mix->width_bits);
        cut(first, r->length);
        memcpy(any + i * n_limbs, bits, n_limbs * 8);
        for (size_t limb = 0; limb < n_limbs; limb++)
            hits[i * n_limbs + limb] = (bits[limb] ^ first[limb]) | r->bits[limb];
    }
    for (size_t run = 0; run < n_runs; run++) {
        static const uint64_t half[2] = {UINT64_C(1) << 63, 0}, quarter[2] = {0, 0};
        if (!sd_lpm_init(&t, mix->width_bits, &epochs) || (inserts[run] = fill(&t, routes, n)) < 0)
            goto done;
        const uint64_t *most = mix->width_bits == 32 ? half : quarter;
        double begin = peer_thread_cycles();
        if (sd_lpm_add(&t, most, 1, (uint32_t)n) != SD_OK)
            goto done;
        halves[run] = peer_thread_cycles() - begin;
        begin = peer_thread_cycles();
        if (sd_lpm_remove(&t, most, 1) != SD_OK)
            goto done;
        less[run] = peer_thread_cycles() - begin;
        if ((removals[run] = drain(&t, routes, n)) < 0)
            goto done;
        sd_lpm_free(&t);
    }
    if (!sd_lpm_init(&t, mix->width_bits, &epochs) || fill(&t, routes, n) < 0)
        goto done;
    double bytes = (double)sd_lpm_n_bytes(&t) / (double)n;
    const struct { const char *name; const uint64_t *keys; bool is_one; } works[] = {
        {"lookup", hits, false}, {"lookup-any", any, false}, {"lookup-one", hits, true},
    };
    for (size_t i = 0; i < SD_ARRAY_LEN(works); i++) {
        look_up(&t, works[i].keys, n_order, works[i].is_one);
        for (size_t run = 0; run < n_runs; run++)
            lookups[run] = look_up(&t, works[i].keys, n_order, works[i].is_one);
        report(mix, "siding", works[i].name, n, lookups, n_runs, bytes);
    }
    if (mix->width_bits == 32) {
        size_t n_words = (size_t)1 << 24;
        uint32_t *words = sd_map_large(n_words * sizeof *words);
        if (!words)
            goto done;
        for (uint64_t i = 0; i < n_words; i++)
            words[i] = sd_lpm_lookup(&t, &(uint64_t){i << 40}, 1);
        for (int i = 0; i < 2; i++) {
            look_up_ceiling(words, works[i].keys, n_order);
            for (size_t run = 0; run < n_runs; run++)
                lookups[run] = look_up_ceiling(words, works[i].keys, n_order);
            report(mix, "ceiling", works[i].name, n, lookups, n_runs, (double)(n_words * sizeof *words) / (double)n);
        }
        sd_unmap_large(words, n_words * sizeof *words);
    }
    report(mix, "siding", "insert", n, inserts, n_runs, bytes);
    report(mix, "siding", "remove", n, removals, n_runs, bytes);
    report(mix, "siding", "insert-half", n, halves, n_runs, bytes);
    report(mix, "siding", "remove-half", n, less, n_runs, bytes);
    sd_lpm_free(&t);
    is_well = true;
done:
    if (!is_well)
        fprintf(stderr, "lpm: %zu routes do not fit\n", n);
    free(routes);
    free(hits);
    free(any);
    return is_well;
}

int main(int argc, char **argv)
{
    bool is_quick = peer_flag(argc, argv, "--quick");
    size_t only = strtoul(peer_option(argc, argv, "--size", "0"), NULL, 10);
    const char *only_mix = peer_option(argc, argv, "--mix", "");
    if (only > 50000000) {
        fprintf(stderr, "lpm: at most 50000000 routes\n");
        return 2;
    }
    if (!sd_epochs_init(&epochs, 1))
        return 1;
    for (size_t m = 0; m < SD_ARRAY_LEN(mixes); m++) {
        if (*only_mix && strcmp(only_mix, mixes[m].name) != 0)
            continue;
        for (size_t i = 0; i < SD_ARRAY_LEN(mixes[m].sizes) && mixes[m].sizes[i]; i++) {
            size_t n = only ? only : mixes[m].sizes[i];
            if ((only && i > 0) || (is_quick && n > 100000))
                continue;
            if (!measure(&mixes[m], n, is_quick ? 3 : PEER_RUNS))
                return 1;
        }
    }
    return 0;
}
