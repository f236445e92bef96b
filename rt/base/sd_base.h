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
/* For functions that need not be inlined. `inline` without optimisation, because compilers then emit unused functions. */
#ifdef __OPTIMIZE__
#define SD_LOCAL static __attribute__((unused))
#else
#define SD_LOCAL SD_INLINE
#endif
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

/* sd_read_bits for 1 to 128 bits. */
SD_INLINE sd_u128 sd_read_bits128(const uint8_t *bytes, uint64_t at_bits, unsigned width)
{
    if (width <= 64)
        return sd_read_bits(bytes, at_bits, width);
    sd_u128 high = sd_read_bits(bytes, at_bits, width - 64);
    return high << 64 | sd_read_bits(bytes, at_bits + width - 64, 64);
}

/* sd_read_bits for any width, into limbs. */
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

/* `n` (1 to 8) bytes as a big-endian integer. */
SD_INLINE uint64_t sd_load_be(const uint8_t *at, unsigned n)
{
    switch (n) {
    case 1: return at[0];
    case 2: return sd_load_be16(at);
    case 3: return (uint64_t)sd_load_be16(at) << 8 | at[2];
    case 4: return sd_load_be32(at);
    case 5: return (uint64_t)sd_load_be32(at) << 8 | at[4];
    case 6: return (uint64_t)sd_load_be32(at) << 16 | sd_load_be16(at + 4);
    case 7: return (uint64_t)sd_load_be32(at) << 24 | (uint64_t)sd_load_be16(at + 4) << 8 | at[6];
    default: return sd_load_be64(at);
    }
}

SD_INLINE void sd_store_be(uint8_t *at, unsigned n, uint64_t v)
{
    for (unsigned i = 0; i < n; i++)
        at[i] = (uint8_t)(v >> (8 * (n - 1 - i)));
}

/* --- What operators compute where C has no operator for it. Values have zeros above bit `width`. --- */

/* The value of an `int<width>`. */
SD_INLINE int64_t sd_signed64(uint64_t v, unsigned width)
{
    return (int64_t)(v << (64 - width)) >> (64 - width);
}

SD_INLINE sd_i128 sd_signed128(sd_u128 v, unsigned width)
{
    return (sd_i128)(v << (128 - width)) >> (128 - width);
}

/* An `int<from>` as an `int<to>`, which is not narrower. */
SD_INLINE uint64_t sd_extend64(uint64_t v, unsigned from, unsigned to)
{
    return (uint64_t)sd_signed64(v, from) & SD_MASK64(to);
}

SD_INLINE sd_u128 sd_extend128(sd_u128 v, unsigned from, unsigned to)
{
    return (sd_u128)sd_signed128(v, from) & SD_MASK128(to);
}

/* Division by zero gives zero. */
SD_INLINE uint64_t sd_div64(uint64_t a, uint64_t b) { return b ? a / b : 0; }
SD_INLINE uint64_t sd_mod64(uint64_t a, uint64_t b) { return b ? a % b : 0; }
SD_INLINE sd_u128 sd_div128(sd_u128 a, sd_u128 b) { return b ? a / b : 0; }
SD_INLINE sd_u128 sd_mod128(sd_u128 a, sd_u128 b) { return b ? a % b : 0; }

/* Shifts by the width or more give zero, or the sign. */
SD_INLINE uint64_t sd_shl64(uint64_t a, uint64_t n, unsigned width)
{
    return n < width ? a << n & SD_MASK64(width) : 0;
}

SD_INLINE uint64_t sd_shr64(uint64_t a, uint64_t n) { return n < 64 ? a >> n : 0; }

SD_INLINE uint64_t sd_sar64(uint64_t a, uint64_t n, unsigned width)
{
    return (uint64_t)(sd_signed64(a, width) >> (n < 63 ? n : 63)) & SD_MASK64(width);
}

SD_INLINE sd_u128 sd_shl128(sd_u128 a, uint64_t n, unsigned width)
{
    return n < width ? a << n & SD_MASK128(width) : 0;
}

SD_INLINE sd_u128 sd_shr128(sd_u128 a, uint64_t n) { return n < 128 ? a >> n : 0; }

SD_INLINE sd_u128 sd_sar128(sd_u128 a, uint64_t n, unsigned width)
{
    return (sd_u128)(sd_signed128(a, width) >> (n < 127 ? n : 127)) & SD_MASK128(width);
}

/* Saturating; the signed ones clamp to the range of `int<width>`. */
SD_INLINE sd_u128 sd_sat_add128(sd_u128 a, sd_u128 b, unsigned width)
{
    sd_u128 most = SD_MASK128(width);
    return a > most - b ? most : a + b;
}

SD_INLINE sd_u128 sd_sat_sub128(sd_u128 a, sd_u128 b) { return a > b ? a - b : 0; }

SD_INLINE sd_u128 sd_sat_add_signed128(sd_u128 a, sd_u128 b, unsigned width)
{
    sd_i128 most = (sd_i128)(SD_MASK128(width) >> 1);
    sd_i128 least = -most - 1;
    sd_i128 x = sd_signed128(a, width), y = sd_signed128(b, width), sum;
    if (__builtin_add_overflow(x, y, &sum))
        sum = y < 0 ? least : most;
    sum = sum > most ? most : sum < least ? least : sum;
    return (sd_u128)sum & SD_MASK128(width);
}

SD_INLINE sd_u128 sd_sat_sub_signed128(sd_u128 a, sd_u128 b, unsigned width)
{
    sd_i128 most = (sd_i128)(SD_MASK128(width) >> 1);
    sd_i128 least = -most - 1;
    sd_i128 x = sd_signed128(a, width), y = sd_signed128(b, width), difference;
    if (__builtin_sub_overflow(x, y, &difference))
        difference = y < 0 ? most : least;
    difference = difference > most ? most : difference < least ? least : difference;
    return (sd_u128)difference & SD_MASK128(width);
}

SD_INLINE uint64_t sd_sat_add64(uint64_t a, uint64_t b, unsigned width)
{
    uint64_t most = SD_MASK64(width);
    return a > most - b ? most : a + b;
}

SD_INLINE uint64_t sd_sat_sub64(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

SD_INLINE uint64_t sd_sat_add_signed64(uint64_t a, uint64_t b, unsigned width)
{
    return (uint64_t)sd_sat_add_signed128(a, b, width);
}

SD_INLINE uint64_t sd_sat_sub_signed64(uint64_t a, uint64_t b, unsigned width)
{
    return (uint64_t)sd_sat_sub_signed128(a, b, width);
}

/* `width` bits of `a` (which has `of_bits`) from bit `lo` on; zeros beyond it. */
SD_INLINE uint64_t sd_slice64(uint64_t a, uint64_t lo, unsigned width)
{
    return sd_shr64(a, lo) & SD_MASK64(width);
}

SD_INLINE sd_u128 sd_slice128(sd_u128 a, uint64_t lo, unsigned width)
{
    return sd_shr128(a, lo) & SD_MASK128(width);
}

/* `a`, which has `of_bits`, with other bits from `lo` on; what would lie beyond it is not written. */
SD_INLINE uint64_t sd_set_slice64(uint64_t a, unsigned of_bits, uint64_t lo, unsigned width, uint64_t v)
{
    if (lo >= of_bits)
        return a;
    uint64_t mask = SD_MASK64(width) << lo & SD_MASK64(of_bits);
    return (a & ~mask) | (v << lo & mask);
}

SD_INLINE sd_u128 sd_set_slice128(sd_u128 a, unsigned of_bits, uint64_t lo, unsigned width, sd_u128 v)
{
    if (lo >= of_bits)
        return a;
    sd_u128 mask = SD_MASK128(width) << lo & SD_MASK128(of_bits);
    return (a & ~mask) | (v << lo & mask);
}

/* A value as an amount of bits or an index: as large as it can tell. */
SD_INLINE uint64_t sd_amount128(sd_u128 v) { return v >> 64 ? UINT64_MAX : (uint64_t)v; }

/* The shift amount of an `int<width>`: a negative one is larger than any width. */
SD_INLINE uint64_t sd_signed_amount(uint64_t v, unsigned width)
{
    return v >> (width - 1) & 1 ? UINT64_MAX : v;
}

#endif
