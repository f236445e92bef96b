/*
 * Value sets of parsers: filled by the control plane, asked by `select`.
 *
 * Owns: struct sd_value_set. Members are values and masks one after the other, `key_bytes` each.
 */
#ifndef SD_VALUE_SET_H
#define SD_VALUE_SET_H

#include "table/sd_match.h"

struct sd_value_set {
    const struct sd_value_set_type *type;
    uint32_t n_members;
    bool has_range;
    uint8_t *values;
    uint8_t *masks;
};

/* `key_bytes` of the type. */
SD_ALWAYS_INLINE bool sd_value_set_contains(const struct sd_worker *w, uint32_t value_set, const void *key,
                                            uint32_t key_bytes)
{
    const struct sd_value_set *set = &w->instance->value_sets[value_set];
    for (uint32_t i = 0; i < set->n_members; i++) {
        size_t at = (size_t)i * key_bytes;
        if (sd_matches(set->type->fields, set->type->n_fields, set->has_range, key_bytes, key,
                       set->values + at, set->masks + at))
            return true;
    }
    return false;
}

SD_LOCAL void sd_value_set_init(struct sd_value_set *set, const struct sd_value_set_type *type)
{
    set->type = type;
    set->has_range = sd_has_range(type->fields, type->n_fields);
}

SD_LOCAL void sd_value_set_free(struct sd_value_set *set)
{
    free(set->values);
    free(set->masks);
}

SD_LOCAL uint32_t sd_value_set_write(struct sd_instance *instance, uint32_t value_set,
                                             const uint8_t *values, const uint8_t *masks, uint32_t n)
{
    if (value_set >= instance->pipeline->n_value_sets)
        return SD_NOT_FOUND;
    struct sd_value_set *set = &instance->value_sets[value_set];
    if (n > set->type->size)
        return SD_FULL;
    size_t bytes = (size_t)n * set->type->key_bytes;
    uint8_t *new_values = malloc(bytes ? bytes : 1);
    uint8_t *new_masks = malloc(bytes ? bytes : 1);
    if (!new_values || !new_masks) {
        free(new_values);
        free(new_masks);
        return SD_NO_MEMORY;
    }
    if (bytes) {
        memcpy(new_values, values, bytes);
        memcpy(new_masks, masks, bytes);
    }
    sd_value_set_free(set);
    set->values = new_values;
    set->masks = new_masks;
    set->n_members = n;
    return SD_OK;
}

SD_LOCAL uint32_t sd_value_set_read(struct sd_instance *instance, uint32_t value_set,
                                            const uint8_t **values, const uint8_t **masks)
{
    if (value_set >= instance->pipeline->n_value_sets)
        return 0;
    const struct sd_value_set *set = &instance->value_sets[value_set];
    *values = set->values;
    *masks = set->masks;
    return set->n_members;
}

#endif
