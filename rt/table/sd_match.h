/*
 * Matching of a key with one entry, or one member of a value set.
 *
 * Owns: matching with a value and a mask as in struct sd_entry_view; prefix masks; which match kinds a key has.
 */
#ifndef SD_MATCH_H
#define SD_MATCH_H

#include "table/sd_index.h"

/* Compares little-endian integers: <0, 0 or >0. */
SD_INLINE int sd_le_compare(const uint8_t *a, const uint8_t *b, uint32_t n_bytes)
{
    if (n_bytes <= 8) {
        uint64_t x = sd_key_word(a, n_bytes, 0), y = sd_key_word(b, n_bytes, 0);
        return (x > y) - (x < y);
    }
    for (uint32_t i = n_bytes; i-- > 0;)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

SD_LOCAL bool sd_has_range(const struct sd_key_type *keys, uint32_t n_keys)
{
    for (uint32_t i = 0; i < n_keys; i++)
        if (keys[i].match_kind == SD_MATCH_RANGE)
            return true;
    return false;
}

/* Sets the `n` most significant bits of a value. */
SD_LOCAL void sd_prefix_mask(uint8_t *value, uint32_t width_bits, uint32_t n)
{
    for (uint32_t i = width_bits - n; i < width_bits; i++)
        value[i / 8] |= (uint8_t)(1u << i % 8);
}

SD_LOCAL uint32_t sd_count_ones(const uint8_t *bytes, uint32_t n_bytes)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_bytes; i++)
        n += (uint32_t)__builtin_popcount(bytes[i]);
    return n;
}

/* Sum of the prefix lengths of the LPM elements in a mask. */
SD_LOCAL uint32_t sd_prefix_bits(const struct sd_table_type *type, const uint8_t *mask)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < type->n_keys; i++) {
        const struct sd_key_type *key = &type->keys[i];
        if (key->match_kind == SD_MATCH_LPM)
            n += sd_count_ones(mask + key->value.offset, key->value.size_bytes);
    }
    return n;
}

/* Number of key elements with this match kind. */
SD_LOCAL uint32_t sd_count_keys(const struct sd_table_type *type, enum sd_match_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < type->n_keys; i++)
        n += type->keys[i].match_kind == kind;
    return n;
}

/* All elements of the key are exact. */
SD_LOCAL bool sd_keys_are_exact(const struct sd_table_type *type)
{
    return type->n_keys > 0 && sd_count_keys(type, SD_MATCH_EXACT) == type->n_keys;
}

/* One element is LPM, all others are exact. */
SD_LOCAL bool sd_keys_are_lpm(const struct sd_table_type *type)
{
    return sd_count_keys(type, SD_MATCH_LPM) == 1 && sd_count_keys(type, SD_MATCH_EXACT) == type->n_keys - 1;
}

/* Matches element by element. Not inlined: with sizes that are no constants compilers warn of impossible ones. */
static SD_UNUSED __attribute__((noinline)) bool
sd_elements_match(const struct sd_key_type *keys, uint32_t n_keys, const uint8_t *key, const uint8_t *value,
                  const uint8_t *mask)
{
    for (uint32_t i = 0; i < n_keys; i++) {
        uint32_t at = keys[i].value.offset, n = keys[i].value.size_bytes;
        if (keys[i].match_kind == SD_MATCH_RANGE) {
            if (sd_le_compare(key + at, value + at, n) < 0 || sd_le_compare(key + at, mask + at, n) > 0)
                return false;
        } else if (!sd_key_equal(key + at, value + at, mask + at, n)) {
            return false;
        }
    }
    return true;
}

/* `has_range` is the result of sd_has_range; without ranges one comparison matches all elements. */
SD_ALWAYS_INLINE bool sd_matches(const struct sd_key_type *keys, uint32_t n_keys, bool has_range,
                                 uint32_t key_bytes, const uint8_t *key, const uint8_t *value,
                                 const uint8_t *mask)
{
    if (has_range)
        return sd_elements_match(keys, n_keys, key, value, mask);
    return sd_key_equal(key, value, mask, key_bytes);
}

#endif
