/*
 * Arithmetic on integers of any width, in limbs: what crate ir, module bits, says of them.
 *
 * A value of `width` (at least 1) bits takes SD_LIMBS(width) limbs, the least significant first, with zeros
 * above its width; operands have to be so, and results are. `to` may be one of the operands, or all of them:
 * every function goes through the limbs in the order that allows it. Two arrays must not overlap otherwise.
 *
 * `width` is a constant where generated code calls, so that loops are of known length after inlining.
 */
#ifndef SD_WIDE_H
#define SD_WIDE_H

#include "base/sd_base.h"

/* The mask of the last limb. */
SD_INLINE uint64_t sd_wide_top_mask(unsigned width)
{
    return SD_MASK64((width - 1) % 64 + 1);
}

SD_INLINE bool sd_wide_bit(const uint64_t *a, unsigned bit)
{
    return a[bit / 64] >> bit % 64 & 1;
}

/* The highest bit, which is the sign of an `int<W>`. */
SD_INLINE bool sd_wide_sign(const uint64_t *a, unsigned width)
{
    return sd_wide_bit(a, width - 1);
}

/* Limb `i`, or zero beyond the last. */
SD_INLINE uint64_t sd_wide_limb(const uint64_t *a, unsigned n_limbs, unsigned i)
{
    return i < n_limbs ? a[i] : 0;
}

SD_INLINE void sd_wide_zero(uint64_t *to, unsigned width)
{
    memset(to, 0, SD_LIMBS(width) * sizeof *to);
}

/* Sets the bits from `lo` up to the width; lower bits do not change. */
SD_INLINE void sd_wide_fill(uint64_t *to, unsigned lo, unsigned width)
{
    if (lo >= width)
        return;
    unsigned n = SD_LIMBS(width);
    to[lo / 64] |= ~UINT64_C(0) << lo % 64;
    for (unsigned i = lo / 64 + 1; i < n; i++)
        to[i] = ~UINT64_C(0);
    to[n - 1] &= sd_wide_top_mask(width);
}

/* --- Comparison --- */

SD_INLINE bool sd_wide_is_zero(const uint64_t *a, unsigned width)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < SD_LIMBS(width); i++)
        any |= a[i];
    return any == 0;
}

SD_INLINE bool sd_wide_eq(const uint64_t *a, const uint64_t *b, unsigned width)
{
    uint64_t differing = 0;
    for (unsigned i = 0; i < SD_LIMBS(width); i++)
        differing |= a[i] ^ b[i];
    return differing == 0;
}

/* Less than, equal to or greater than zero, as `a` is to `b`. */
SD_INLINE int sd_wide_cmp(const uint64_t *a, const uint64_t *b, unsigned width, bool is_signed)
{
    if (is_signed && sd_wide_sign(a, width) != sd_wide_sign(b, width))
        return sd_wide_sign(a, width) ? -1 : 1;
    for (unsigned i = SD_LIMBS(width); i-- > 0;) {
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    }
    return 0;
}

/* For shifts and indices: the number, or UINT64_MAX where it takes more than 64 bits. */
SD_INLINE uint64_t sd_wide_amount(const uint64_t *a, unsigned width)
{
    for (unsigned i = 1; i < SD_LIMBS(width); i++) {
        if (a[i] != 0)
            return UINT64_MAX;
    }
    return a[0];
}

/* --- Bit by bit --- */

SD_INLINE void sd_wide_and(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned width)
{
    for (unsigned i = 0; i < SD_LIMBS(width); i++)
        to[i] = a[i] & b[i];
}

SD_INLINE void sd_wide_or(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned width)
{
    for (unsigned i = 0; i < SD_LIMBS(width); i++)
        to[i] = a[i] | b[i];
}

SD_INLINE void sd_wide_xor(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned width)
{
    for (unsigned i = 0; i < SD_LIMBS(width); i++)
        to[i] = a[i] ^ b[i];
}

SD_INLINE void sd_wide_not(uint64_t *to, const uint64_t *a, unsigned width)
{
    unsigned n = SD_LIMBS(width);
    for (unsigned i = 0; i < n; i++)
        to[i] = ~a[i];
    to[n - 1] &= sd_wide_top_mask(width);
}

/* --- Sums: they wrap, or saturate --- */

/* Adds without a mask on the last limb; returns the carry. */
SD_INLINE bool sd_wide_add_limbs(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned n)
{
    uint64_t carry = 0;
    for (unsigned i = 0; i < n; i++) {
        sd_u128 sum = (sd_u128)a[i] + b[i] + carry;
        to[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
    return carry != 0;
}

/* Subtracts without a mask on the last limb; returns the borrow. */
SD_INLINE bool sd_wide_sub_limbs(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned n)
{
    uint64_t borrow = 0;
    for (unsigned i = 0; i < n; i++) {
        sd_u128 difference = (sd_u128)a[i] - b[i] - borrow;
        to[i] = (uint64_t)difference;
        borrow = (uint64_t)(difference >> 64) & 1;
    }
    return borrow != 0;
}

SD_INLINE void sd_wide_add(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned width)
{
    unsigned n = SD_LIMBS(width);
    sd_wide_add_limbs(to, a, b, n);
    to[n - 1] &= sd_wide_top_mask(width);
}

SD_INLINE void sd_wide_sub(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned width)
{
    unsigned n = SD_LIMBS(width);
    sd_wide_sub_limbs(to, a, b, n);
    to[n - 1] &= sd_wide_top_mask(width);
}

/* Two's complement. */
SD_INLINE void sd_wide_neg(uint64_t *to, const uint64_t *a, unsigned width)
{
    unsigned n = SD_LIMBS(width);
    uint64_t carry = 1;
    for (unsigned i = 0; i < n; i++) {
        uint64_t limb = ~a[i] + carry;
        carry = carry & (limb == 0);
        to[i] = limb;
    }
    to[n - 1] &= sd_wide_top_mask(width);
}

/* The least or the greatest number of an `int<W>`. */
SD_INLINE void sd_wide_signed_end(uint64_t *to, bool least, unsigned width)
{
    sd_wide_zero(to, width);
    if (least)
        sd_wide_fill(to, width - 1, width);
    else if (width > 1)
        sd_wide_fill(to, 0, width - 1);
}

SD_INLINE void sd_wide_sat_add(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned width,
                               bool is_signed)
{
    unsigned n = SD_LIMBS(width);
    bool a_sign = sd_wide_sign(a, width);
    bool b_sign = sd_wide_sign(b, width);
    bool carry = sd_wide_add_limbs(to, a, b, n);
    if (width % 64 != 0)
        carry = to[n - 1] >> width % 64 & 1;
    to[n - 1] &= sd_wide_top_mask(width);
    if (!is_signed && carry)
        sd_wide_fill(to, 0, width);
    if (is_signed && a_sign == b_sign && sd_wide_sign(to, width) != a_sign)
        sd_wide_signed_end(to, a_sign, width);
}

SD_INLINE void sd_wide_sat_sub(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned width,
                               bool is_signed)
{
    unsigned n = SD_LIMBS(width);
    bool a_sign = sd_wide_sign(a, width);
    bool b_sign = sd_wide_sign(b, width);
    bool borrow = sd_wide_sub_limbs(to, a, b, n);
    to[n - 1] &= sd_wide_top_mask(width);
    if (!is_signed && borrow)
        sd_wide_zero(to, width);
    if (is_signed && a_sign != b_sign && sd_wide_sign(to, width) != a_sign)
        sd_wide_signed_end(to, a_sign, width);
}

/* --- Shifts and slices --- */

/* By the width or more: zero. */
SD_INLINE void sd_wide_shl(uint64_t *to, const uint64_t *a, uint64_t amount, unsigned width)
{
    if (amount >= width) {
        sd_wide_zero(to, width);
        return;
    }
    unsigned n = SD_LIMBS(width);
    unsigned skip = (unsigned)amount / 64;
    unsigned shift = (unsigned)amount % 64;
    for (unsigned i = n; i-- > skip;) {
        uint64_t limb = a[i - skip] << shift;
        if (shift != 0 && i > skip)
            limb |= a[i - skip - 1] >> (64 - shift);
        to[i] = limb;
    }
    for (unsigned i = 0; i < skip; i++)
        to[i] = 0;
    to[n - 1] &= sd_wide_top_mask(width);
}

/* Bits `lo + width - 1` down to `lo`; zeros beyond `from_width`. */
SD_INLINE void sd_wide_slice(uint64_t *to, unsigned width, const uint64_t *from, unsigned from_width,
                             uint64_t lo)
{
    if (lo >= from_width) {
        sd_wide_zero(to, width);
        return;
    }
    unsigned n = SD_LIMBS(width);
    unsigned n_from = SD_LIMBS(from_width);
    unsigned skip = (unsigned)lo / 64;
    unsigned shift = (unsigned)lo % 64;
    for (unsigned i = 0; i < n; i++) {
        uint64_t limb = sd_wide_limb(from, n_from, i + skip) >> shift;
        if (shift != 0)
            limb |= sd_wide_limb(from, n_from, i + skip + 1) << (64 - shift);
        to[i] = limb;
    }
    to[n - 1] &= sd_wide_top_mask(width);
}

/* Logical: fills with zeros. */
SD_INLINE void sd_wide_shr(uint64_t *to, const uint64_t *a, uint64_t amount, unsigned width)
{
    sd_wide_slice(to, width, a, width, amount);
}

/* Arithmetic: fills with the sign. */
SD_INLINE void sd_wide_sar(uint64_t *to, const uint64_t *a, uint64_t amount, unsigned width)
{
    bool sign = sd_wide_sign(a, width);
    sd_wide_slice(to, width, a, width, amount);
    if (sign)
        sd_wide_fill(to, amount < width ? width - (unsigned)amount : 0, width);
}

/* Writes bits `lo + width - 1` down to `lo` of `to`; what would lie beyond `to_width` is not written. */
SD_INLINE void sd_wide_set_slice(uint64_t *to, unsigned to_width, uint64_t lo, const uint64_t *from,
                                 unsigned width)
{
    if (lo >= to_width)
        return;
    unsigned n_from = SD_LIMBS(width);
    unsigned first = (unsigned)lo / 64;
    unsigned shift = (unsigned)lo % 64;
    unsigned last_bit = width < to_width - (unsigned)lo ? (unsigned)lo + width - 1 : to_width - 1;
    for (unsigned i = last_bit / 64 + 1; i-- > first;) {
        uint64_t written = ~UINT64_C(0);
        if (i == first)
            written &= ~UINT64_C(0) << shift;
        if (i == last_bit / 64)
            written &= SD_MASK64(last_bit % 64 + 1);
        uint64_t limb = sd_wide_limb(from, n_from, i - first) << shift;
        if (shift != 0 && i > first)
            limb |= from[i - first - 1] >> (64 - shift);
        to[i] = (to[i] & ~written) | (limb & written);
    }
}

/* `high ++ low`, of high_width + low_width bits. */
SD_INLINE void sd_wide_concat(uint64_t *to, const uint64_t *high, unsigned high_width, const uint64_t *low,
                              unsigned low_width)
{
    unsigned n_high = SD_LIMBS(high_width);
    unsigned n_low = SD_LIMBS(low_width);
    unsigned skip = low_width / 64;
    unsigned shift = low_width % 64;
    for (unsigned i = SD_LIMBS(high_width + low_width); i-- > 0;) {
        uint64_t limb = sd_wide_limb(low, n_low, i);
        if (i >= skip)
            limb |= sd_wide_limb(high, n_high, i - skip) << shift;
        if (shift != 0 && i > skip)
            limb |= sd_wide_limb(high, n_high, i - skip - 1) >> (64 - shift);
        to[i] = limb;
    }
}

/* Truncates, or extends with zeros or with the sign. */
SD_INLINE void sd_wide_resize(uint64_t *to, unsigned to_width, const uint64_t *from, unsigned from_width,
                              bool is_signed)
{
    bool sign = is_signed && sd_wide_sign(from, from_width);
    sd_wide_slice(to, to_width, from, from_width, 0);
    if (sign)
        sd_wide_fill(to, from_width, to_width);
}

/* --- Products and quotients --- */

/* Wraps. */
SD_INLINE void sd_wide_mul(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned width)
{
    unsigned n = SD_LIMBS(width);
    uint64_t product[SD_LIMBS(width)];
    memset(product, 0, sizeof product);
    for (unsigned i = 0; i < n; i++) {
        uint64_t carry = 0;
        for (unsigned j = 0; i + j < n; j++) {
            sd_u128 sum = (sd_u128)a[i] * b[j] + product[i + j] + carry;
            product[i + j] = (uint64_t)sum;
            carry = (uint64_t)(sum >> 64);
        }
    }
    product[n - 1] &= sd_wide_top_mask(width);
    memcpy(to, product, sizeof product);
}

/*
 * Unsigned; both are zero where the divisor is. `quotient` and `remainder` may be NULL. Long division in digits
 * of 32 bits (Knuth, The Art of Computer Programming, volume 2, section 4.3.1, algorithm D).
 */
SD_LOCAL void sd_wide_div_mod(uint64_t *quotient, uint64_t *remainder, const uint64_t *a,
                                      const uint64_t *b, unsigned width)
{
    unsigned n_digits = SD_LIMBS(width) * 2;
    unsigned n_bytes = n_digits * 4;
    /* `u` becomes the remainder; it has one digit more for the normalisation. */
    uint32_t u[SD_LIMBS(width) * 2 + 1];
    uint32_t v[SD_LIMBS(width) * 2];
    uint32_t q[SD_LIMBS(width) * 2];
    memcpy(u, a, n_bytes);
    u[n_digits] = 0;
    memcpy(v, b, n_bytes);
    memset(q, 0, n_bytes);

    unsigned n = n_digits;
    while (n > 0 && v[n - 1] == 0)
        n--;
    if (n == 0) {
        memset(u, 0, n_bytes);
    } else if (n == 1) {
        uint64_t rest = 0;
        for (unsigned i = n_digits; i-- > 0;) {
            rest = rest << 32 | u[i];
            q[i] = (uint32_t)(rest / v[0]);
            rest %= v[0];
            u[i] = 0;
        }
        u[0] = (uint32_t)rest;
    } else {
        unsigned shift = (unsigned)__builtin_clz(v[n - 1]);
        if (shift != 0) {
            for (unsigned i = n - 1; i > 0; i--)
                v[i] = v[i] << shift | v[i - 1] >> (32 - shift);
            v[0] <<= shift;
            for (unsigned i = n_digits; i > 0; i--)
                u[i] = u[i] << shift | u[i - 1] >> (32 - shift);
            u[0] <<= shift;
        }
        for (unsigned j = n_digits - n + 1; j-- > 0;) {
            /* A guess from two digits, corrected by a third: it is right, or too large by one. */
            uint64_t two = (uint64_t)u[j + n] << 32 | u[j + n - 1];
            uint64_t guess = two / v[n - 1];
            uint64_t rest = two % v[n - 1];
            while (guess >> 32 != 0 || guess * v[n - 2] > (rest << 32 | u[j + n - 2])) {
                guess--;
                rest += v[n - 1];
                if (rest >> 32 != 0)
                    break;
            }
            uint64_t carry = 0;
            uint64_t borrow = 0;
            for (unsigned i = 0; i < n; i++) {
                uint64_t product = guess * v[i] + carry;
                carry = product >> 32;
                uint64_t difference = (uint64_t)u[i + j] - (uint32_t)product - borrow;
                u[i + j] = (uint32_t)difference;
                borrow = difference >> 63;
            }
            uint64_t difference = (uint64_t)u[j + n] - carry - borrow;
            u[j + n] = (uint32_t)difference;
            if (difference >> 63 != 0) {
                guess--;
                carry = 0;
                for (unsigned i = 0; i < n; i++) {
                    uint64_t sum = (uint64_t)u[i + j] + v[i] + carry;
                    u[i + j] = (uint32_t)sum;
                    carry = sum >> 32;
                }
                u[j + n] += (uint32_t)carry;
            }
            q[j] = (uint32_t)guess;
        }
        if (shift != 0) {
            for (unsigned i = 0; i < n; i++)
                u[i] = u[i] >> shift | u[i + 1] << (32 - shift);
        }
    }
    if (quotient)
        memcpy(quotient, q, n_bytes);
    if (remainder)
        memcpy(remainder, u, n_bytes);
}

SD_INLINE void sd_wide_div(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned width)
{
    sd_wide_div_mod(to, NULL, a, b, width);
}

SD_INLINE void sd_wide_mod(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned width)
{
    sd_wide_div_mod(NULL, to, a, b, width);
}

#endif
