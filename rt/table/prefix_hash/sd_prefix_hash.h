/*
 * Longest prefix match by hashing: one index of masked keys for each prefix length in use, the longest first.
 *
 * For keys too wide for sd_lpm.h. A lookup costs one hash for each length in use.
 */
#ifndef SD_PREFIX_HASH_H
#define SD_PREFIX_HASH_H

#include "table/sd_index.h"

/* Entries whose LPM element has a prefix of this length. */
struct sd_prefix_length {
    uint32_t prefix_bits;
    struct sd_index index;
    /* Mask of the key: ones in exact elements and in the prefix. */
    uint8_t *mask;
};

struct sd_prefix_hash {
    const struct sd_key_type *lpm_key;
    /* Indexed by prefix length; NULL: this length was never used. */
    struct sd_prefix_length **by_length;
    /* Lengths that have entries, the longest first. */
    struct sd_prefix_length **in_use;
    uint32_t n_in_use;
};

#endif
