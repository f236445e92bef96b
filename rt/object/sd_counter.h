/*
 * Counters of packets and bytes: arrays of them, and the cells of direct counters.
 *
 * Each worker has cells of its own and adds to them without synchronisation; a read adds up the cells of all workers and
 * the common value. Counts wrap. A cell may be read while its worker adds to it: packets and bytes are each whole, but one
 * packet may already be in the one and not yet in the other.
 */
#ifndef SD_COUNTER_H
#define SD_COUNTER_H

#include "object/sd_object.h"

/* Sanitizers do not see through assembly. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SD_CELL_ATOMIC 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SD_CELL_ATOMIC 1
#endif
#endif

/* Adds to a word that only this thread writes and that others read at any time (relaxed): one instruction, which compilers
   do not make of an atomic load and store. */
SD_INLINE void sd_cell_add(uint64_t *cell, uint64_t n)
{
#if defined(__x86_64__) && !defined(SD_CELL_ATOMIC)
    __asm__("addq %1, %0" : "+m"(*cell) : "er"(n) : "cc");
#else
    __atomic_store_n(cell, __atomic_load_n(cell, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
#endif
}

/* Adds what the unit (enum sd_unit) says. */
SD_INLINE void sd_count_add(struct sd_count *count, uint32_t unit, uint64_t n_packets, uint64_t n_bytes)
{
    if (unit != SD_UNIT_BYTES)
        sd_cell_add(&count->n_packets, n_packets);
    if (unit != SD_UNIT_PACKETS)
        sd_cell_add(&count->n_bytes, n_bytes);
}

SD_INLINE struct sd_count *sd_counter_cell(const struct sd_counter_array *counters, uint32_t worker,
                                           uint64_t index)
{
    return (struct sd_count *)(counters->memory.bytes + worker * counters->worker_bytes) + index;
}

SD_INLINE bool sd_counter_count(struct sd_worker *w, uint32_t object, uint64_t index, uint64_t n_packets,
                                uint64_t n_bytes)
{
    const struct sd_object *o = &w->instance->objects[object];
    if (SD_UNLIKELY(index >= o->type->size))
        return false;
    sd_count_add(sd_counter_cell(&o->counters, w->index, index), o->type->unit, n_packets, n_bytes);
    return true;
}

/* False: there cannot be so many cells, or memory is short. */
SD_LOCAL bool sd_counters_init(struct sd_object *o, uint32_t n_workers)
{
    size_t cells_bytes;
    if (__builtin_mul_overflow(o->type->size, sizeof(struct sd_count), &cells_bytes) || cells_bytes > PTRDIFF_MAX)
        return false;
    o->counters.worker_bytes = sd_round_up(cells_bytes, SD_LINE_BYTES);
    return sd_lazy_init(&o->counters.memory, n_workers, o->counters.worker_bytes);
}

/* --- For the control plane --- */

/* The cell's worker may be adding to it. */
SD_INLINE void sd_count_sum(struct sd_count *sum, const struct sd_count *count)
{
    sum->n_packets += __atomic_load_n(&count->n_packets, __ATOMIC_RELAXED);
    sum->n_bytes += __atomic_load_n(&count->n_bytes, __ATOMIC_RELAXED);
}

/* Counts wrap, so one cell, to which no worker adds meanwhile, can take the difference between what is wanted and the sum of
   all. */
SD_INLINE void sd_count_correct(struct sd_count *cell, struct sd_count wanted, struct sd_count sum)
{
    cell->n_packets += wanted.n_packets - sum.n_packets;
    cell->n_bytes += wanted.n_bytes - sum.n_bytes;
}

SD_LOCAL uint32_t sd_counter_get(struct sd_instance *instance, uint32_t object, uint64_t index,
                                         struct sd_count *count)
{
    const struct sd_object *o = sd_object_of(instance, object, SD_OBJECT_COUNTER);
    if (!o)
        return SD_NOT_FOUND;
    if (index >= o->type->size)
        return SD_OUT_OF_RANGE;
    *count = o->counters.common;
    for (uint32_t i = 0; i < instance->n_workers; i++)
        sd_count_sum(count, sd_counter_cell(&o->counters, i, index));
    return SD_OK;
}

SD_LOCAL uint32_t sd_counter_set(struct sd_instance *instance, uint32_t object, uint64_t index,
                                         struct sd_count count)
{
    struct sd_object *o = sd_object_of(instance, object, SD_OBJECT_COUNTER);
    if (!o)
        return SD_NOT_FOUND;
    if (index == SD_ALL_CELLS) {
        if (!sd_lazy_clear(&o->counters.memory))
            return SD_NO_MEMORY;
        o->counters.common = count;
        return SD_OK;
    }
    struct sd_count now;
    uint32_t status = sd_counter_get(instance, object, index, &now);
    if (status != SD_OK)
        return status;
    sd_count_correct(sd_counter_cell(&o->counters, 0, index), count, now);
    return SD_OK;
}

#endif
