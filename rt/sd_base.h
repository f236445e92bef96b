/*
 * Integers, bytes and bits.
 *
 * A `bit<W>` or `int<W>` of up to 128 bits is the smallest unsigned C integer that holds it, with zeros above
 * bit W; a wider one is an array of 64-bit limbs, the least significant first, with zeros above bit W.
 * A `bool` is a uint8_t of 0 or 1; an enum without underlying type and an error code are uint32_t.
 *
 * In memory that Rust shares (keys, action data, cells, fields of the state) a value is the same bytes: a
 * little-endian integer. A big-endian machine is refused at compile time.
 */
#ifndef SD_BASE_H
#define SD_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Siding's generated code wants a little-endian machine"
#endif

__extension__ typedef unsigned __int128 sd_u128;
__extension__ typedef __int128 sd_i128;

#define SD_LIKELY(x) __builtin_expect(!!(x), 1)
#define SD_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SD_UNUSED __attribute__((unused))
#define SD_INLINE static inline __attribute__((unused))
#define SD_COLD static __attribute__((unused, cold, noinline))
#define SD_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define SD_LIMBS(width) (((width) + 63) / 64)

/* The low `width` bits, 1 to 64 or 1 to 128. */
#define SD_MASK64(width) (~UINT64_C(0) >> (64 - (width)))
#define SD_MASK128(width) (~(sd_u128)0 >> (128 - (width)))
#define SD_U128(high, low) ((sd_u128)(uint64_t)(high) << 64 | (uint64_t)(low))

/* Big-endian loads and stores of whole integers at any address. */
SD_INLINE uint16_t sd_load_be16(const uint8_t *at)
{
    uint16_t v;
    memcpy(&v, at, sizeof v);
    return __builtin_bswap16(v);
}

SD_INLINE uint32_t sd_load_be32(const uint8_t *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return __builtin_bswap32(v);
}

SD_INLINE uint64_t sd_load_be64(const uint8_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return __builtin_bswap64(v);
}

SD_INLINE void sd_store_be16(uint8_t *at, uint16_t v)
{
    v = __builtin_bswap16(v);
    memcpy(at, &v, sizeof v);
}

SD_INLINE void sd_store_be32(uint8_t *at, uint32_t v)
{
    v = __builtin_bswap32(v);
    memcpy(at, &v, sizeof v);
}

SD_INLINE void sd_store_be64(uint8_t *at, uint64_t v)
{
    v = __builtin_bswap64(v);
    memcpy(at, &v, sizeof v);
}

/*
 * `width` (1 to 64) bits from bit `at_bits` on, the most significant bit of a byte first. All bytes that hold
 * some of these bits have to be there, others are not touched.
 */
SD_INLINE uint64_t sd_read_bits(const uint8_t *bytes, uint64_t at_bits, unsigned width)
{
    const uint8_t *at = bytes + at_bits / 8;
    unsigned skip = (unsigned)(at_bits % 8);
    unsigned n_bytes = (skip + width + 7) / 8;
    unsigned excess = n_bytes * 8 - skip - width;
    if (n_bytes <= 8) {
        uint64_t v = 0;
        for (unsigned i = 0; i < n_bytes; i++)
            v = v << 8 | at[i];
        return v >> excess & SD_MASK64(width);
    }
    sd_u128 v = 0;
    for (unsigned i = 0; i < n_bytes; i++)
        v = v << 8 | at[i];
    return (uint64_t)(v >> excess) & SD_MASK64(width);
}

/* The same for 1 to 128 bits. */
SD_INLINE sd_u128 sd_read_bits128(const uint8_t *bytes, uint64_t at_bits, unsigned width)
{
    if (width <= 64)
        return sd_read_bits(bytes, at_bits, width);
    sd_u128 high = sd_read_bits(bytes, at_bits, width - 64);
    return high << 64 | sd_read_bits(bytes, at_bits + width - 64, 64);
}

/* The same for any width, into limbs. */
SD_INLINE void sd_read_bits_wide(uint64_t *to, const uint8_t *bytes, uint64_t at_bits, unsigned width)
{
    unsigned limb = 0;
    unsigned left = width;
    while (left > 0) {
        unsigned n = left < 64 ? left : 64;
        to[limb++] = sd_read_bits(bytes, at_bits + left - n, n);
        left -= n;
    }
}

/* Writes `width` (1 to 64) bits at bit `at_bits`; the other bits of the bytes stay. */
SD_INLINE void sd_write_bits(uint8_t *bytes, uint64_t at_bits, unsigned width, uint64_t value)
{
    while (width > 0) {
        uint8_t *at = bytes + at_bits / 8;
        unsigned skip = (unsigned)(at_bits % 8);
        unsigned n = 8 - skip < width ? 8 - skip : width;
        uint8_t mask = (uint8_t)((0xffu >> skip) & (0xffu << (8 - skip - n)));
        uint8_t part = (uint8_t)(value >> (width - n) << (8 - skip - n));
        *at = (uint8_t)((*at & ~mask) | (part & mask));
        at_bits += n;
        width -= n;
    }
}

SD_INLINE void sd_write_bits128(uint8_t *bytes, uint64_t at_bits, unsigned width, sd_u128 value)
{
    if (width > 64) {
        sd_write_bits(bytes, at_bits, width - 64, (uint64_t)(value >> 64));
        at_bits += width - 64;
        width = 64;
    }
    sd_write_bits(bytes, at_bits, width, (uint64_t)value);
}

SD_INLINE void sd_write_bits_wide(uint8_t *bytes, uint64_t at_bits, unsigned width, const uint64_t *value)
{
    unsigned left = width;
    unsigned limb = 0;
    while (left > 0) {
        unsigned n = left < 64 ? left : 64;
        sd_write_bits(bytes, at_bits + left - n, n, value[limb++]);
        left -= n;
    }
}

#endif
