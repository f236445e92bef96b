/*
 * Keys to hashes, and hashes to slots.
 *
 * Owns: the hash of table keys, which is not visible outside, and an open-addressing index.
 *
 * The hash is vector multiply-shift (Dietzfelbinger 1996; Thorup, "High speed hashing for integers and
 * strings"): the sum of word times secret in 128 bits, of which the high 64 count. For secrets
 * that are chosen at random any two keys collide with a chance of 2^-64, so an attacker who does
 * not know the secrets cannot choose keys that flood a table. A bijection follows, because indexes use
 * the low bits, and linear probing dislikes arithmetic progressions.
 *
 * Invariants of an index: cells are 0 or (32 bits of the hash, slot + 1); between the home of a cell (low
 * bits of its hash) and the cell there is no empty one; at most two thirds are in use.
 */
#ifndef SD_INDEX_H
#define SD_INDEX_H

#include <sys/random.h>

#include "worker/sd_store.h"

/* --- Hash --- */

SD_INLINE uint64_t sd_mix64(uint64_t v)
{
    v = (v ^ v >> 33) * UINT64_C(0xff51afd7ed558ccd);
    v = (v ^ v >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return v ^ v >> 33;
}

/* 128 bits for each word of a key, and 128 to begin with. */
#define SD_N_SECRETS(key_bytes) (2 * (((size_t)(key_bytes) + 7) / 8) + 2)

/* SplitMix64 (Steele, Lea, Flood 2014), seeded by the system and `seed`. */
SD_LOCAL void sd_secrets_init(uint64_t *secrets, size_t n, uint64_t seed)
{
    uint64_t state = 0;
    if (getrandom(&state, sizeof state, GRND_NONBLOCK) != (ssize_t)sizeof state)
        state = (uint64_t)(uintptr_t)secrets;
    state ^= seed;
    for (size_t i = 0; i < n; i++) {
        state += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t v = state;
        v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
        secrets[i] = v ^ v >> 31;
    }
}

/* The eight bytes from `at` on, zeros beyond the end. */
SD_ALWAYS_INLINE uint64_t sd_key_word(const uint8_t *key, uint32_t key_bytes, uint32_t at)
{
    uint32_t n = key_bytes - at;
    key += at;
    if (n >= 8) {
        uint64_t word;
        memcpy(&word, key, 8);
        return word;
    }
    /* Two overlapping loads instead of a copy of unknown length. */
    if (n >= 4) {
        uint32_t low, high;
        memcpy(&low, key, 4);
        memcpy(&high, key + n - 4, 4);
        return low | (uint64_t)high << 8 * (n - 4);
    }
    if (n >= 2) {
        uint16_t low, high;
        memcpy(&low, key, 2);
        memcpy(&high, key + n - 2, 2);
        return low | (uint64_t)high << 8 * (n - 2);
    }
    return n == 1 ? key[0] : 0;
}

/* The hash of the key, or of `key & mask` if `mask` is not NULL. */
SD_ALWAYS_INLINE uint64_t sd_key_hash(const uint64_t *secrets, const uint8_t *key, const uint8_t *mask,
                                      uint32_t key_bytes)
{
    sd_u128 sum = SD_U128(secrets[0], secrets[1]);
    for (uint32_t at = 0; at < key_bytes; at += 8) {
        uint64_t word = sd_key_word(key, key_bytes, at);
        if (mask)
            word &= sd_key_word(mask, key_bytes, at);
        secrets += 2;
        sum += (sd_u128)word * secrets[0] + ((sd_u128)(word * secrets[1]) << 64);
    }
    return sd_mix64((uint64_t)(sum >> 64));
}

/* Compares two keys, under `mask` if it is not NULL. */
SD_ALWAYS_INLINE bool sd_key_equal(const uint8_t *a, const uint8_t *b, const uint8_t *mask, uint32_t key_bytes)
{
    if (!mask)
        return memcmp(a, b, key_bytes) == 0;
    for (uint32_t at = 0; at < key_bytes; at += 8) {
        uint64_t difference = sd_key_word(a, key_bytes, at) ^ sd_key_word(b, key_bytes, at);
        if (difference & sd_key_word(mask, key_bytes, at))
            return false;
    }
    return true;
}

/* --- Index --- */

#define SD_NO_SLOT UINT32_MAX

struct sd_index {
    uint64_t *cells;
    /* Number of cells minus 1; a power of two of them, or none. */
    uint32_t mask;
    uint32_t n;
};

/* The next slot whose hash agrees; SD_NO_SLOT after the last. `at` begins as the low 32 bits of the hash. */
SD_ALWAYS_INLINE uint32_t sd_index_next(const struct sd_index *index, uint64_t hash, uint32_t *at)
{
    if (index->n == 0)
        return SD_NO_SLOT;
    for (;;) {
        uint64_t cell = __atomic_load_n(&index->cells[(*at)++ & index->mask], __ATOMIC_ACQUIRE);
        if (cell == 0)
            return SD_NO_SLOT;
        if ((uint32_t)(cell >> 32) == (uint32_t)hash)
            return (uint32_t)cell - 1;
    }
}

SD_INLINE void sd_index_put(uint64_t *cells, uint32_t mask, uint64_t cell)
{
    uint32_t at = (uint32_t)(cell >> 32) & mask;
    while (cells[at] != 0)
        at = (at + 1) & mask;
    cells[at] = cell;
}

/* Makes room for one more. */
SD_LOCAL bool sd_index_reserve(struct sd_index *index)
{
    uint64_t n_cells = index->cells ? (uint64_t)index->mask + 1 : 0;
    if (((uint64_t)index->n + 1) * 3 <= n_cells * 2)
        return true;
    uint64_t n_wanted = n_cells ? n_cells * 2 : 8;
    if (n_wanted > (uint64_t)UINT32_MAX + 1)
        return false;
    uint64_t *cells = calloc(n_wanted, sizeof *cells);
    if (!cells)
        return false;
    for (uint64_t i = 0; i < n_cells; i++)
        if (index->cells[i] != 0)
            sd_index_put(cells, (uint32_t)(n_wanted - 1), index->cells[i]);
    free(index->cells);
    index->cells = cells;
    index->mask = (uint32_t)(n_wanted - 1);
    return true;
}

/* sd_index_reserve has made room. */
SD_LOCAL void sd_index_add(struct sd_index *index, uint64_t hash, uint32_t slot)
{
    sd_index_put(index->cells, index->mask, hash << 32 | (slot + 1));
    index->n++;
}

/* Another slot takes the place of one that is in the index, beside readers: they find one of the two. */
SD_LOCAL void sd_index_change(struct sd_index *index, uint64_t hash, uint32_t slot, uint32_t new_slot)
{
    uint32_t at = (uint32_t)hash & index->mask;
    while (index->cells[at] != (hash << 32 | (slot + 1)))
        at = (at + 1) & index->mask;
    __atomic_store_n(&index->cells[at], hash << 32 | (new_slot + 1), __ATOMIC_RELEASE);
}

/* Removes a slot, which is in the index. */
SD_LOCAL void sd_index_remove(struct sd_index *index, uint64_t hash, uint32_t slot)
{
    uint32_t mask = index->mask;
    uint32_t hole = (uint32_t)hash & mask;
    while (index->cells[hole] != (hash << 32 | (slot + 1)))
        hole = (hole + 1) & mask;
    /* Moves cells into the hole that lookups would not find behind it (Knuth 6.4, algorithm R). */
    for (uint32_t at = (hole + 1) & mask; index->cells[at] != 0; at = (at + 1) & mask) {
        uint32_t home = (uint32_t)(index->cells[at] >> 32) & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            index->cells[hole] = index->cells[at];
            hole = at;
        }
    }
    index->cells[hole] = 0;
    index->n--;
}

#endif
