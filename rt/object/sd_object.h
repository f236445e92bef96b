/*
 * Extern objects of an instance: arrays of counters, meters or registers, and action profiles.
 *
 * Owns: struct sd_object.
 *
 * An array may have thousands of millions of cells, of which few are used, and one operation writes all of them. So its
 * memory is allocated on the first write to a page (sd_store.h), and the value written to all cells (`common`) is stored
 * once; a cell of zeros stands for it.
 */
#ifndef SD_OBJECT_H
#define SD_OBJECT_H

#include "worker/sd_store.h"

/* Index that stands for all cells. */
#define SD_ALL_CELLS UINT64_MAX

struct sd_counter_array {
    struct sd_lazy memory;
    /* Bytes of the cells of one worker. */
    size_t worker_bytes;
    struct sd_count common;
};

struct sd_meter_array {
    struct sd_lazy memory;
    struct sd_meter_rates common;
    uint64_t common_since_ns;
    /* Counts of colours, with cells for each worker as in counters. */
    struct sd_lazy colours;
    size_t worker_bytes;
    struct sd_colour_counts common_colours;
};

struct sd_register_array {
    struct sd_lazy memory;
    uint8_t *common;
};

struct sd_profile;

struct sd_object {
    const struct sd_object_type *type;
    union {
        struct sd_counter_array counters;
        struct sd_meter_array meters;
        struct sd_register_array registers;
        struct sd_profile *profile;
    };
};

/* The object, or NULL if there is none of this kind. */
SD_INLINE struct sd_object *sd_object_of(struct sd_instance *instance, uint32_t object, uint32_t kind)
{
    if (object >= instance->pipeline->n_objects || instance->pipeline->objects[object].kind != kind)
        return NULL;
    return &instance->objects[object];
}

#endif
