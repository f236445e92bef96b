/*
 * A `select` with many cases: rows of constants, searched in order. The compiler's time for such a table does not grow with
 * the number of cases as it does for a chain of `if`s.
 */
#ifndef SD_SELECT_H
#define SD_SELECT_H

#include "base/sd_base.h"

/* One key of one case: `(key & mask) == value && low <= key && key <= high`. Signed keys have their top bit inverted. */
struct sd_select_key {
    uint64_t mask, value, low, high;
};

/* The first of `n_cases` rows of `n_keys` whose keys all match; `n_cases` when there is none. */
SD_INLINE uint32_t sd_select(const struct sd_select_key *rows, uint32_t n_cases, const uint64_t *keys, uint32_t n_keys)
{
    for (uint32_t i = 0; i < n_cases; i++, rows += n_keys) {
        bool is_match = true;
        for (uint32_t k = 0; k < n_keys; k++)
            is_match &= (keys[k] & rows[k].mask) == rows[k].value && rows[k].low <= keys[k] && keys[k] <= rows[k].high;
        if (is_match)
            return i;
    }
    return n_cases;
}

#endif
