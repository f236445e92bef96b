/* Rules and keys bit by bit: what tests of tables compare with. */
#ifndef SD_TEST_SLOW_MATCH_H
#define SD_TEST_SLOW_MATCH_H

#include "sd_abi.h"

static inline bool bit_of(const uint8_t *bytes, uint32_t i)
{
    return bytes[i / 8] >> i % 8 & 1;
}

/* <0, 0, >0 */
static inline int compare_bits(const uint8_t *a, const uint8_t *b, uint32_t width)
{
    for (uint32_t i = width; i-- > 0;)
        if (bit_of(a, i) != bit_of(b, i))
            return bit_of(a, i) ? 1 : -1;
    return 0;
}

/* `value` and `mask` as sd_entry_view has them. */
static inline bool slow_match(const struct sd_key_type *keys, uint32_t n_keys, const uint8_t *value,
                              const uint8_t *mask, const uint8_t *key)
{
    for (uint32_t i = 0; i < n_keys; i++) {
        uint32_t at = keys[i].value.offset, width = keys[i].value.width_bits;
        if (keys[i].match_kind == SD_MATCH_RANGE) {
            if (compare_bits(key + at, value + at, width) < 0 || compare_bits(key + at, mask + at, width) > 0)
                return false;
            continue;
        }
        for (uint32_t j = 0; j < width; j++)
            if (bit_of(mask + at, j) && bit_of(value + at, j) != bit_of(key + at, j))
                return false;
    }
    return true;
}

/* The value of a number, in all bytes: into zeros. */
static inline void slow_value(uint8_t *to, uint32_t width_bits, uint64_t number)
{
    for (uint32_t i = 0; i < width_bits; i++)
        if (number * UINT64_C(0x9e3779b97f4a7c15) >> (i * 7 % 61) & 1)
            to[i / 8] |= (uint8_t)(1u << i % 8);
}

#endif
