/* Reading and writing bits, against bytes taken apart into one bit per element. */
#include "check.h"
#include "base/sd_base.h"

enum { N_BYTES = 96, N_BITS = N_BYTES * 8, WIDTH_MAX = 300 };

static uint64_t state = 1;

/* Bit `i` of a packet: the most significant bit of the first byte is bit 0. */
static unsigned packet_bit(const uint8_t *bytes, uint64_t i)
{
    return bytes[i / 8] >> (7 - i % 8) & 1;
}

/* Bit `i` of a number, the least significant is bit 0. */
static unsigned limb_bit(const uint64_t *limbs, unsigned i)
{
    return (unsigned)(limbs[i / 64] >> i % 64 & 1);
}

/* A copy of just these bytes, so that a sanitizer sees what is read beyond. */
static uint8_t *copy_of(const uint8_t *bytes, size_t n)
{
    uint8_t *copy = malloc(n);
    CHECK(copy);
    memcpy(copy, bytes, n);
    return copy;
}

static void fill(uint8_t *bytes, size_t n)
{
    unsigned kind = (unsigned)check_random(&state) % 4;
    for (size_t i = 0; i < n; i++)
        bytes[i] = kind == 0 ? 0 : kind == 1 ? 0xff : (uint8_t)check_random(&state);
}

static void check_number(const uint64_t *limbs, unsigned width, const uint8_t *bytes, uint64_t at)
{
    for (unsigned i = 0; i < width; i++)
        CHECK(limb_bit(limbs, i) == packet_bit(bytes, at + width - 1 - i));
    for (unsigned i = width; i < SD_LIMBS(width) * 64; i++)
        CHECK(limb_bit(limbs, i) == 0);
}

static void read_at(uint64_t at, unsigned width)
{
    /* The bytes in front do not belong to it either. */
    uint64_t first = at / 8;
    uint64_t n = (at + width + 7) / 8 - first;
    uint8_t all[N_BYTES];
    fill(all, n);
    uint8_t *bytes = copy_of(all, n);
    at -= first * 8;
    uint64_t limbs[SD_LIMBS(WIDTH_MAX)];
    sd_read_bits_wide(limbs, bytes, at, width);
    check_number(limbs, width, bytes, at);
    if (width <= 128) {
        sd_u128 v = sd_read_bits128(bytes, at, width);
        uint64_t two[2] = {(uint64_t)v, (uint64_t)(v >> 64)};
        CHECK(width > 64 || two[1] == 0);
        check_number(two, width, bytes, at);
    }
    if (width <= 64) {
        uint64_t one = sd_read_bits(bytes, at, width);
        check_number(&one, width, bytes, at);
    }
    free(bytes);
}

static void check_written(const uint8_t *before, const uint8_t *after, size_t n, uint64_t at, unsigned width,
                          const uint64_t *limbs)
{
    for (uint64_t i = 0; i < n * 8; i++) {
        if (i >= at && i < at + width)
            CHECK(packet_bit(after, i) == limb_bit(limbs, (unsigned)(at + width - 1 - i)));
        else
            CHECK(packet_bit(after, i) == packet_bit(before, i));
    }
}

static void write_at(uint64_t at, unsigned width)
{
    size_t n = (size_t)(at + width + 7) / 8;
    uint8_t before[N_BYTES];
    uint64_t limbs[SD_LIMBS(WIDTH_MAX)];
    fill(before, n);
    /* What lies above the width is not written. */
    fill((uint8_t *)limbs, sizeof limbs);

    uint8_t *bytes = copy_of(before, n);
    sd_write_bits_wide(bytes, at, width, limbs);
    check_written(before, bytes, n, at, width, limbs);
    if (width <= 128) {
        memcpy(bytes, before, n);
        sd_write_bits128(bytes, at, width, SD_U128(limbs[1], limbs[0]));
        check_written(before, bytes, n, at, width, limbs);
    }
    if (width <= 64) {
        memcpy(bytes, before, n);
        sd_write_bits(bytes, at, width, limbs[0]);
        check_written(before, bytes, n, at, width, limbs);
        CHECK(sd_read_bits(bytes, at, width) == (limbs[0] & SD_MASK64(width)));
    }
    free(bytes);
}

static void whole_integers(void)
{
    const uint8_t bytes[9] = {0xee, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x88};
    CHECK(sd_load_be16(bytes + 1) == 0x0102);
    CHECK(sd_load_be32(bytes + 1) == 0x01020304);
    CHECK(sd_load_be64(bytes + 1) == UINT64_C(0x0102030405060788));
    uint8_t to[9];
    memset(to, 0xee, sizeof to);
    sd_store_be16(to + 1, 0x0102);
    CHECK(memcmp(to, bytes, 3) == 0 && to[3] == 0xee);
    sd_store_be32(to + 1, 0x01020304);
    CHECK(memcmp(to, bytes, 5) == 0 && to[5] == 0xee);
    sd_store_be64(to + 1, UINT64_C(0x0102030405060788));
    CHECK(memcmp(to, bytes, 9) == 0);
}

int main(void)
{
    const uint8_t example[4] = {0x45, 0xab, 0xc8, 0x01};
    CHECK(sd_read_bits(example, 4, 4) == 5);
    CHECK(sd_read_bits(example, 8, 12) == 0xabc);
    CHECK(sd_read_bits(example, 3, 29) == 0x05abc801);
    whole_integers();
    for (unsigned width = 1; width <= WIDTH_MAX; width++) {
        for (uint64_t skip = 0; skip < 8; skip++) {
            read_at(skip, width);
            write_at(skip, width);
            uint64_t at = check_random(&state) % (N_BITS - WIDTH_MAX);
            read_at(at, width);
            write_at(at, width);
        }
    }
    CHECK(SD_MASK64(1) == 1 && SD_MASK64(64) == UINT64_MAX);
    CHECK(SD_MASK128(65) == SD_U128(1, UINT64_MAX) && SD_MASK128(128) == SD_U128(UINT64_MAX, UINT64_MAX));
    return 0;
}
