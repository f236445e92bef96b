/* What is emitted and packed, against one array element for each bit; and buffers that cannot grow. */
#include "check.h"
#include <stdlib.h>
#include <string.h>

/* Allocations that succeed before all that follow fail. */
static unsigned n_allocations_left = UINT32_MAX;

static void *failing_realloc(void *bytes, size_t n)
{
    if (n_allocations_left == 0)
        return NULL;
    n_allocations_left--;
    return realloc(bytes, n);
}

#include "base/sd_base.h"
#define realloc failing_realloc
#include "base/sd_buffer.h"
#undef realloc

enum { WIDTH_MAX = 300, BITS_MAX = 1 << 16 };

static uint64_t state = 3;

/* --- The model --- */

static uint8_t bits[BITS_MAX];
static uint32_t n_bits;

static void expect_number(const uint64_t *limbs, unsigned width)
{
    CHECK(n_bits + width <= BITS_MAX);
    for (unsigned i = width; i-- > 0;)
        bits[n_bits++] = limbs[i / 64] >> i % 64 & 1;
}

static void expect_packet_bits(const uint8_t *bytes, uint32_t n)
{
    CHECK(n_bits + n <= BITS_MAX);
    for (uint32_t i = 0; i < n; i++)
        bits[n_bits++] = bytes[i / 8] >> (7 - i % 8) & 1;
}

static void check_buffer(const struct sd_buffer *buffer, uint32_t tail_bits)
{
    CHECK(buffer->length == (n_bits + 7) / 8);
    CHECK(tail_bits == n_bits % 8);
    for (uint32_t i = 0; i < buffer->length * 8; i++)
        CHECK((buffer->bytes[i / 8] >> (7 - i % 8) & 1) == (i < n_bits ? bits[i] : 0));
}

static void random_limbs(uint64_t *limbs, unsigned width)
{
    for (unsigned i = 0; i < SD_LIMBS(width); i++)
        limbs[i] = check_random(&state) % 4 == 0 ? UINT64_MAX : check_random(&state);
    limbs[SD_LIMBS(width) - 1] &= SD_MASK64((width - 1) % 64 + 1);
}

/* --- Writing --- */

static void write_number(struct sd_worker *w, bool packs, unsigned width, const uint64_t *limbs)
{
    expect_number(limbs, width);
    unsigned choice = (unsigned)check_random(&state) % 3;
    if (choice == 0 && width <= 64) {
        if (packs)
            sd_pack_bits(w, width, limbs[0]);
        else
            sd_emit_bits(w, width, limbs[0]);
    } else if (choice <= 1 && width <= 128) {
        sd_u128 value = SD_U128(width > 64 ? limbs[1] : 0, limbs[0]);
        if (packs)
            sd_pack_bits128(w, width, value);
        else
            sd_emit_bits128(w, width, value);
    } else {
        if (packs)
            sd_pack_wide(w, width, limbs);
        else
            sd_emit_wide(w, width, limbs);
    }
}

static void write_bytes(struct sd_worker *w, bool packs, uint32_t n)
{
    /* Just the bytes that hold these bits, and some more bits in the last. */
    uint8_t *bytes = n > 0 ? malloc((n + 7) / 8) : NULL;
    for (uint32_t i = 0; i < (n + 7) / 8; i++)
        bytes[i] = (uint8_t)check_random(&state);
    expect_packet_bits(bytes, n);
    if (packs)
        sd_pack_bytes(w, bytes, n);
    else
        sd_emit_bytes(w, bytes, n);
    free(bytes);
}

static void reserve_bytes(struct sd_worker *w)
{
    uint32_t n = 1 + (uint32_t)check_random(&state) % 80;
    uint8_t *to = sd_emit_reserve(w, n);
    CHECK((to == NULL) == (n_bits % 8 != 0));
    if (!to)
        return;
    for (uint32_t i = 0; i < n; i++)
        to[i] = (uint8_t)check_random(&state);
    expect_packet_bits(to, n * 8);
}

static void random_writes(struct sd_worker *w, bool packs)
{
    n_bits = 0;
    if (packs)
        sd_pack_begin(w);
    else
        sd_emit_begin(w);
    unsigned n_writes = (unsigned)check_random(&state) % 60;
    for (unsigned i = 0; i < n_writes; i++) {
        uint64_t limbs[SD_LIMBS(WIDTH_MAX)];
        unsigned width;
        switch (check_random(&state) % 5) {
        case 0: width = 8 * (1 + (unsigned)check_random(&state) % 8); break;
        case 1: width = 1 + (unsigned)check_random(&state) % 64; break;
        case 2: width = 1 + (unsigned)check_random(&state) % WIDTH_MAX; break;
        case 3: write_bytes(w, packs, (uint32_t)check_random(&state) % WIDTH_MAX); continue;
        default:
            if (!packs)
                reserve_bytes(w);
            continue;
        }
        random_limbs(limbs, width);
        write_number(w, packs, width, limbs);
    }
    if (packs)
        check_buffer(&w->scratch, w->scratch_tail_bits);
    else
        check_buffer(&w->emitted, w->emitted_tail_bits);
    CHECK(w->failed == 0);
}

/* Every width behind every number of bits, read back. */
static void every_alignment(struct sd_worker *w)
{
    for (unsigned skip = 0; skip < 8; skip++) {
        for (unsigned width = 1; width <= WIDTH_MAX; width++) {
            uint64_t limbs[SD_LIMBS(WIDTH_MAX)];
            uint64_t found[SD_LIMBS(WIDTH_MAX)];
            random_limbs(limbs, width);
            sd_emit_begin(w);
            if (skip > 0)
                sd_emit_bits(w, skip, 0x55);
            sd_emit_wide(w, width, limbs);
            CHECK(w->emitted.length == (skip + width + 7) / 8);
            sd_read_bits_wide(found, w->emitted.bytes, skip, width);
            CHECK(memcmp(found, limbs, SD_LIMBS(width) * sizeof *limbs) == 0);
            CHECK(skip == 0 || sd_read_bits(w->emitted.bytes, 0, skip) == (0x55 & SD_MASK64(skip)));
            if (width > 64)
                continue;
            sd_emit_begin(w);
            if (skip > 0)
                sd_emit_bits(w, skip, 0);
            /* What lies above the width does not count. */
            sd_emit_bits(w, width, limbs[0] | ~SD_MASK64(width));
            CHECK(sd_read_bits(w->emitted.bytes, skip, width) == limbs[0]);
            CHECK(skip == 0 || sd_read_bits(w->emitted.bytes, 0, skip) == 0);
        }
    }
}

/* --- Packing --- */

static void packed_without_gaps(struct sd_worker *w)
{
    sd_pack_begin(w);
    sd_pack_bits(w, 4, 0x4);
    sd_pack_bits(w, 4, 0x5);
    sd_pack_bits(w, 12, 0xabc);
    sd_pack_bits(w, 1, 1);
    const uint8_t expected[] = {0x45, 0xab, 0xc8};
    CHECK(w->scratch.length == sizeof expected && memcmp(w->scratch.bytes, expected, sizeof expected) == 0);
    sd_pack_begin(w);
    CHECK(w->scratch.length == 0 && w->scratch_tail_bits == 0);
}

static void packed_little(struct sd_worker *w)
{
    sd_pack_begin(w);
    sd_pack_little_bits(w, 16, 0x0102);
    sd_pack_little_bits(w, 9, 0xffff);
    sd_pack_little_bits128(w, 72, SD_U128(0x1122, UINT64_C(0x0102030405060708)));
    const uint64_t limbs[3] = {UINT64_C(0x0807060504030201), UINT64_C(0x100f0e0d0c0b0a09), 0x1};
    sd_pack_little_wide(w, 129, limbs);
    /* As in a packet: 1 0000 0010 is the number 102; two bytes. */
    const uint8_t packet_bits[2] = {0x81, 0x7f};
    sd_pack_little_bytes(w, packet_bits, 9);
    const uint8_t number[3] = {0x0a, 0x0b, 0x0c};
    sd_pack_little_bytes(w, number, 24);
    sd_pack_little_bytes(w, NULL, 0);
    const uint8_t expected[] = {
        0x02, 0x01, 0xff, 0x01, 8,    7,    6,    5,    4,    3,    2,    1,    0x22, 1,    2,
        3,    4,    5,    6,    7,    8,    9,    0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x01,
        0x02, 0x01, 0x0c, 0x0b, 0x0a,
    };
    CHECK(w->scratch.length == sizeof expected && memcmp(w->scratch.bytes, expected, sizeof expected) == 0);
    CHECK(w->scratch_tail_bits == 0 && w->failed == 0);
}

/* --- What does not fit --- */

static void bounded(struct sd_worker *w)
{
    sd_emit_begin(w);
    uint8_t *to = sd_emit_reserve(w, SD_EMIT_BYTES_MAX - 10);
    CHECK(to);
    memset(to, 0x11, SD_EMIT_BYTES_MAX - 10);
    CHECK(!sd_emit_reserve(w, 11));
    CHECK(w->failed == SD_FAILED_EMIT && w->emitted.length == SD_EMIT_BYTES_MAX - 10);
    w->failed = 0;
    sd_emit_bits(w, 64, UINT64_C(0x1122334455667788));
    sd_emit_bits(w, 12, 0xabc);
    CHECK(w->failed == 0 && w->emitted.length == SD_EMIT_BYTES_MAX && w->emitted_tail_bits == 4);
    /* Five bits do not fit, four do. */
    sd_emit_bits(w, 5, 0x1f);
    const uint8_t five[1] = {0xf8};
    const uint64_t limbs[3] = {1, 2, 3};
    sd_emit_bytes(w, five, 5);
    sd_emit_bits128(w, 100, 0);
    sd_emit_wide(w, 190, limbs);
    CHECK(w->failed == SD_FAILED_EMIT);
    CHECK(w->emitted.length == SD_EMIT_BYTES_MAX && w->emitted_tail_bits == 4);
    w->failed = 0;
    sd_emit_bits(w, 4, 0xd);
    CHECK(w->failed == 0 && w->emitted.length == SD_EMIT_BYTES_MAX && w->emitted_tail_bits == 0);
    const uint8_t end[] = {0x11, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0xab, 0xcd};
    CHECK(memcmp(w->emitted.bytes + SD_EMIT_BYTES_MAX - sizeof end, end, sizeof end) == 0);
    sd_emit_bits(w, 1, 1);
    CHECK(w->failed == SD_FAILED_EMIT && w->emitted.length == SD_EMIT_BYTES_MAX);
    CHECK(w->emitted.capacity == SD_EMIT_BYTES_MAX);

    /* The next packet is not concerned. */
    sd_emit_begin(w);
    CHECK(w->failed == 0 && w->emitted.length == 0 && w->emitted_tail_bits == 0);
    static uint8_t zeros[SD_EMIT_BYTES_MAX + 1];
    sd_emit_bytes(w, zeros, SD_EMIT_BYTES_MAX * 8 + 1);
    CHECK(w->failed == SD_FAILED_EMIT && w->emitted.length == 0);
    sd_emit_bytes(w, zeros, UINT32_MAX);
    CHECK(w->emitted.length == 0);
    sd_emit_begin(w);
    sd_emit_bytes(w, zeros, SD_EMIT_BYTES_MAX * 8);
    CHECK(w->failed == 0 && w->emitted.length == SD_EMIT_BYTES_MAX);
}

static void without_memory(void)
{
    struct sd_worker w = {0};
    uint8_t args[1000];
    memset(args, 7, sizeof args);
    n_allocations_left = 0;
    sd_emit_begin(&w);
    sd_emit_bits(&w, 8, 1);
    CHECK(w.failed == SD_FAILED_EMIT && w.emitted.length == 0 && w.emitted_tail_bits == 0);
    sd_pack_begin(&w);
    sd_pack_bits(&w, 3, 1);
    sd_pack_little_bits(&w, 3, 1);
    sd_pack_little_bytes(&w, args, 8);
    CHECK(w.failed == (SD_FAILED_EMIT | SD_FAILED_PACK) && w.scratch.length == 0);
    sd_digest(&w, 1, args, 4);
    CHECK(w.failed == (SD_FAILED_EMIT | SD_FAILED_PACK | SD_FAILED_DIGEST) && w.digests.length == 0);
    CHECK(w.requests.flags == 0);
    sd_emit_begin(&w);
    CHECK(w.failed == (SD_FAILED_PACK | SD_FAILED_DIGEST));
    w.failed = 0;

    /* A first allocation, and then no growth: what is there stays. */
    n_allocations_left = 3;
    sd_emit_bits(&w, 4, 0xa);
    sd_pack_bits(&w, 4, 0xb);
    sd_digest(&w, 5, args, 3);
    CHECK(w.failed == 0 && n_allocations_left == 0);
    sd_emit_bytes(&w, args, 8 * sizeof args);
    sd_pack_bytes(&w, args, 8 * sizeof args);
    sd_digest(&w, 6, args, sizeof args);
    CHECK(w.failed == (SD_FAILED_EMIT | SD_FAILED_PACK | SD_FAILED_DIGEST));
    CHECK(w.emitted.length == 1 && w.emitted_tail_bits == 4 && w.emitted.bytes[0] == 0xa0);
    CHECK(w.scratch.length == 1 && w.scratch_tail_bits == 4 && w.scratch.bytes[0] == 0xb0);
    const uint8_t digest[] = {5, 0, 0, 0, 3, 0, 0, 0, 7, 7, 7};
    CHECK(w.digests.length == sizeof digest && memcmp(w.digests.bytes, digest, sizeof digest) == 0);
    CHECK(w.requests.flags == SD_REQUEST_DIGEST);

    n_allocations_left = UINT32_MAX;
    sd_emit_bytes(&w, args, 8 * sizeof args);
    CHECK(w.emitted.length == 1 + sizeof args && w.emitted.bytes[0] == 0xa0 && w.emitted.bytes[500] == 0x70);
    sd_digest(&w, 9, NULL, 0);
    const uint8_t empty[] = {9, 0, 0, 0, 0, 0, 0, 0};
    CHECK(w.digests.length == sizeof digest + sizeof empty);
    CHECK(memcmp(w.digests.bytes + sizeof digest, empty, sizeof empty) == 0);
    sd_buffer_free(&w.emitted);
    CHECK(!w.emitted.bytes && w.emitted.length == 0 && w.emitted.capacity == 0);
    sd_buffer_free(&w.scratch);
    sd_buffer_free(&w.digests);
}

int main(void)
{
    struct sd_worker w = {0};
    for (unsigned i = 0; i < 2000; i++)
        random_writes(&w, i % 2 == 0);
    every_alignment(&w);
    packed_without_gaps(&w);
    packed_little(&w);
    bounded(&w);
    without_memory();
    sd_buffer_free(&w.emitted);
    sd_buffer_free(&w.scratch);
    return 0;
}
