/*
 * Going through all entries of an exact table while it changes.
 *
 * The order is that of the hash: first the bits that say the segment, then those that say the home, which segments of
 * any size go through in the same order. So a walk can go on in what has taken a segment's place.
 */
#ifndef SD_EXACT_SCAN_H
#define SD_EXACT_SCAN_H

#include "table/exact/sd_exact.h"

/* --- Going through all entries --- */

/* How far a walk has come; zeros to begin with. Which segment, as the bits that the hashes of its keys begin with;
   where in it, as the bits that say the home. */
struct sd_exact_cursor {
    uint64_t prefix;
    /* Where the segment ended when the walk came to it, less 1; it may be in parts since. */
    uint64_t last;
    /* In this part of it, and in those to come. */
    uint64_t home, home_of_parts;
    bool is_inside, is_done;
};

struct sd_exact_seen {
    const uint8_t *key;
    const uint8_t *value;
};

/* So many entries may be at home in one bucket. */
#define SD_EXACT_SCAN_MIN (SD_EXACT_SLOTS + SD_EXACT_N_AWAY_MAX)

/* The entries that are at home in this bucket, from the hash bits `from` on. */
SD_LOCAL uint32_t sd_exact_scan_home(const struct sd_exact *t, struct sd_exact_shape shape, uint64_t cell,
                                             uint32_t index, uint64_t from, struct sd_exact_seen *seen)
{
    uint32_t n_buckets = sd_exact_n_buckets(cell), n;
    uint8_t *buckets = sd_exact_buckets(cell), *home_bucket = buckets + (size_t)index * t->bucket_bytes;
    uint32_t home = sd_exact_home(home_bucket), before;
    do {
        before = home;
        n = 0;
        for (uint32_t i = 0; i <= SD_EXACT_HOME_REACH(home); i++) {
            uint32_t at = index + i < n_buckets ? index + i : index + i - n_buckets;
            uint8_t *bucket = buckets + (size_t)at * t->bucket_bytes;
            for (uint32_t lane = 0; lane < SD_EXACT_SLOTS; lane++) {
                if (sd_exact_tag(bucket, lane) <= SD_EXACT_REMOVED)
                    continue;
                const uint8_t *key = sd_exact_entry(shape, bucket, lane);
                uint64_t hash = sd_exact_hash(t->secrets, key, shape.key_bytes);
                if (sd_exact_home_index(hash, n_buckets) == index && sd_exact_home_bits(hash) >= from &&
                    n < SD_EXACT_SCAN_MIN)
                    seen[n++] = (struct sd_exact_seen){key, key + sd_exact_value_at(shape)};
            }
        }
        home = sd_exact_home(home_bucket);
    } while (home != before);
    return n;
}

/*
 * The next entries, up to `n_max`, which is at least SD_EXACT_SCAN_MIN; 0 after the last. What is there all the time
 * is seen once; only in a segment that has become several twice while the walk was in it something may be seen
 * again. What comes or goes meanwhile may be seen. For the writer, and for readers.
 */
SD_LOCAL uint32_t sd_exact_scan(const struct sd_exact *t, struct sd_exact_shape shape,
                                        struct sd_exact_cursor *cursor, struct sd_exact_seen *seen, uint32_t n_max)
{
    uint32_t n = 0;
    while (!cursor->is_done && n + SD_EXACT_SCAN_MIN <= n_max) {
        uint64_t cell = sd_exact_cell(t, cursor->prefix);
        uint32_t depth = sd_exact_segment_of(cell)->depth;
        uint64_t n_buckets = sd_exact_n_buckets(cell), last = depth ? cursor->prefix | UINT64_MAX >> depth : UINT64_MAX;
        if (!cursor->is_inside) {
            cursor->is_inside = true;
            cursor->last = last;
            cursor->home = cursor->home_of_parts = 0;
        }
        uint64_t index = cursor->home * n_buckets >> 32;
        n += sd_exact_scan_home(t, shape, cell, (uint32_t)index, cursor->home, seen + n);
        /* The first bits that the next bucket is home of. */
        cursor->home = (((index + 1) << 32) + n_buckets - 1) / n_buckets;
        if (index + 1 < n_buckets) {
            /* The parts that come after this one, if it is one, begin where the first of them did. */
            if (last == cursor->last)
                cursor->home_of_parts = cursor->home;
            continue;
        }
        cursor->is_done = last == UINT64_MAX;
        cursor->is_inside = last != cursor->last;
        cursor->prefix = last + 1;
        cursor->home = cursor->home_of_parts;
    }
    return n;
}

#endif
