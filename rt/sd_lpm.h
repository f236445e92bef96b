/*
 * Longest prefix match: prefixes of keys of one width, each with a number.
 *
 * Owns: struct sd_lpm. A key is an array of 64-bit limbs, the most significant first, its first bit the
 * highest of the first limb; bits beyond the width are zero. A prefix is such a key with zeros beyond its
 * length. Numbers tell prefixes apart: no two of one table have the same.
 */
#ifndef SD_LPM_H
#define SD_LPM_H

#include "sd_store.h"

struct sd_epochs;

#define SD_LPM_NONE UINT32_MAX
/* Numbers are less than this. */
#define SD_LPM_N_NUMBERS 0x7fffffffu
#define SD_LPM_LIMBS_MAX 64u

struct sd_lpm_route {
    uint64_t bits[SD_LPM_LIMBS_MAX];
    uint32_t length;
    uint32_t number;
};

struct sd_lpm {
    uint32_t width_bits;
    uint32_t n_limbs;
    struct sd_epochs *epochs;
    struct sd_lpm_route *routes;
    uint64_t n, capacity;
};

static SD_UNUSED bool sd_lpm_init(struct sd_lpm *t, uint32_t width_bits, struct sd_epochs *epochs)
{
    *t = (struct sd_lpm){.width_bits = width_bits, .n_limbs = (width_bits + 63) / 64, .epochs = epochs};
    return width_bits > 0 && t->n_limbs <= SD_LPM_LIMBS_MAX;
}

static SD_UNUSED void sd_lpm_free(struct sd_lpm *t)
{
    free(t->routes);
}

SD_INLINE bool sd_lpm_covers(const uint64_t *prefix, uint32_t length, const uint64_t *key)
{
    uint32_t i = 0;
    for (; length >= 64; length -= 64, i++)
        if (prefix[i] != key[i])
            return false;
    return length == 0 || (prefix[i] ^ key[i]) >> (64 - length) == 0;
}

static SD_UNUSED uint32_t sd_lpm_find(const struct sd_lpm *t, const uint64_t *prefix, uint32_t length)
{
    for (uint64_t i = 0; i < t->n; i++)
        if (t->routes[i].length == length && sd_lpm_covers(prefix, length, t->routes[i].bits))
            return t->routes[i].number;
    return SD_LPM_NONE;
}

static SD_UNUSED uint32_t sd_lpm_add(struct sd_lpm *t, const uint64_t *prefix, uint32_t length, uint32_t number)
{
    if (length > t->width_bits || number >= SD_LPM_N_NUMBERS)
        return SD_OUT_OF_RANGE;
    if (sd_lpm_find(t, prefix, length) != SD_LPM_NONE)
        return SD_EXISTS;
    void *routes = sd_reserve(t->routes, &t->capacity, t->n + 1, sizeof *t->routes);
    if (!routes)
        return SD_NO_MEMORY;
    t->routes = routes;
    struct sd_lpm_route *route = &t->routes[t->n++];
    memcpy(route->bits, prefix, t->n_limbs * sizeof *prefix);
    route->length = length;
    route->number = number;
    return SD_OK;
}

static SD_UNUSED uint32_t sd_lpm_remove(struct sd_lpm *t, const uint64_t *prefix, uint32_t length)
{
    for (uint64_t i = 0; i < t->n; i++) {
        if (t->routes[i].length == length && sd_lpm_covers(prefix, length, t->routes[i].bits)) {
            t->routes[i] = t->routes[--t->n];
            return SD_OK;
        }
    }
    return SD_NOT_FOUND;
}

SD_ALWAYS_INLINE uint32_t sd_lpm_lookup(const struct sd_lpm *t, const uint64_t *key, uint32_t n_limbs)
{
    (void)n_limbs;
    uint32_t best = SD_LPM_NONE, length = 0;
    for (uint64_t i = 0; i < t->n; i++) {
        const struct sd_lpm_route *route = &t->routes[i];
        if (route->length >= length && sd_lpm_covers(route->bits, route->length, key)) {
            best = route->number;
            length = route->length;
        }
    }
    return best;
}

/* Of `n` keys, one after the other. */
SD_ALWAYS_INLINE void sd_lpm_lookup_bulk(const struct sd_lpm *t, const uint64_t *keys, uint32_t n_limbs,
                                         uint32_t n, uint32_t *numbers)
{
    for (uint32_t i = 0; i < n; i++)
        numbers[i] = sd_lpm_lookup(t, keys + (size_t)i * n_limbs, n_limbs);
}

#endif
