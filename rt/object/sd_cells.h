/*
 * Counters, meters and registers, and the cells of direct counters and meters.
 *
 * Owns: struct sd_object and the arrays in it; sd_meter_mark.
 *
 * Arrays may have thousands of millions of cells, of which few are used, and all of them can be written at
 * once. So memory is lazy (sd_store.h), and what was written to all is kept beside the cells, such that a
 * cell of zeros stands for it: counters are counts above it, registers differ from it by exclusive or,
 * meters without a mark of their own have it.
 *
 * Between workers: counters are counted by each worker for itself and added up when they are read. A
 * register cell of 1, 2, 4 or 8 bytes is read and written as a whole; larger ones may be seen half written,
 * and between a read and the write that follows it another worker's write can be lost. A meter cell is
 * marked by one worker at a time.
 */
#ifndef SD_CELLS_H
#define SD_CELLS_H

#include "worker/sd_store.h"

#define SD_ALL_CELLS UINT64_MAX

#if defined(__x86_64__) || defined(__i386__)
#define SD_PAUSE() __builtin_ia32_pause()
#else
#define SD_PAUSE() ((void)0)
#endif

/* --- Meters: two rates, three colours (RFC 2698), colour-blind --- */

enum sd_colour { SD_GREEN, SD_YELLOW, SD_RED };

/* Tokens are billionths of the unit: rates per second times nanoseconds. */
#define SD_TOKEN_SCALE UINT64_C(1000000000)

struct sd_meter {
    sd_u128 committed_tokens;
    sd_u128 peak_tokens;
    struct sd_meter_rates rates;
    uint64_t filled_ns;
    uint32_t lock;
    /* Of arrays: this cell no longer has what was written to all. */
    uint32_t is_own;
};

/* Both buckets begin full. */
SD_INLINE void sd_meter_set(struct sd_meter *meter, const struct sd_meter_rates *rates, uint64_t now_ns)
{
    meter->rates = (struct sd_meter_rates){0};
    if (rates->is_set)
        meter->rates = *rates;
    meter->committed_tokens = (sd_u128)meter->rates.committed_burst * SD_TOKEN_SCALE;
    meter->peak_tokens = (sd_u128)meter->rates.peak_burst * SD_TOKEN_SCALE;
    meter->filled_ns = now_ns;
    meter->is_own = 1;
}

SD_INLINE sd_u128 sd_tokens_fill(sd_u128 tokens, uint64_t elapsed_ns, uint64_t rate, uint64_t burst)
{
    sd_u128 filled = tokens + (sd_u128)elapsed_ns * rate;
    sd_u128 full = (sd_u128)burst * SD_TOKEN_SCALE;
    return filled < tokens || filled > full ? full : filled;
}

/* Meters `n` units, where nobody else does; gives the colour. */
SD_INLINE uint32_t sd_meter_mark_alone(struct sd_meter *meter, uint64_t n, uint64_t now_ns)
{
    const struct sd_meter_rates *rates = &meter->rates;
    if (!rates->is_set)
        return SD_GREEN;
    /* Time that runs backwards gives nothing. */
    uint64_t elapsed_ns = 0;
    if (now_ns > meter->filled_ns) {
        elapsed_ns = now_ns - meter->filled_ns;
        meter->filled_ns = now_ns;
    }
    meter->committed_tokens = sd_tokens_fill(meter->committed_tokens, elapsed_ns, rates->committed_rate,
                                             rates->committed_burst);
    meter->peak_tokens = sd_tokens_fill(meter->peak_tokens, elapsed_ns, rates->peak_rate, rates->peak_burst);
    sd_u128 cost = (sd_u128)n * SD_TOKEN_SCALE;
    if (meter->peak_tokens < cost)
        return SD_RED;
    meter->peak_tokens -= cost;
    if (meter->committed_tokens < cost)
        return SD_YELLOW;
    meter->committed_tokens -= cost;
    return SD_GREEN;
}

SD_INLINE void sd_meter_lock(struct sd_meter *meter)
{
    while (__atomic_exchange_n(&meter->lock, 1, __ATOMIC_ACQUIRE))
        while (__atomic_load_n(&meter->lock, __ATOMIC_RELAXED))
            SD_PAUSE();
}

SD_INLINE void sd_meter_unlock(struct sd_meter *meter)
{
    __atomic_store_n(&meter->lock, 0, __ATOMIC_RELEASE);
}

/* Meters `n` units: 1 packet, or the bytes of it. */
SD_INLINE uint32_t sd_meter_mark(struct sd_meter *meter, uint64_t n, uint64_t now_ns)
{
    /* Rates are the control plane's to write, and it does not while packets run. */
    if (!meter->rates.is_set)
        return SD_GREEN;
    sd_meter_lock(meter);
    uint32_t colour = sd_meter_mark_alone(meter, n, now_ns);
    sd_meter_unlock(meter);
    return colour;
}

/* --- Arrays --- */

struct sd_counter_array {
    struct sd_lazy memory;
    /* From one worker's cells to the next one's. */
    size_t worker_bytes;
    struct sd_count common;
};

struct sd_meter_array {
    struct sd_lazy memory;
    struct sd_meter_rates common;
    uint64_t common_since_ns;
};

struct sd_register_array {
    struct sd_lazy memory;
    /* A cell. */
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

/* What of packets and bytes counts. */
SD_INLINE void sd_count_add(struct sd_count *count, uint32_t unit, uint64_t n_packets, uint64_t n_bytes)
{
    if (unit != SD_UNIT_BYTES)
        count->n_packets += n_packets;
    if (unit != SD_UNIT_PACKETS)
        count->n_bytes += n_bytes;
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

SD_INLINE bool sd_meter_execute(struct sd_worker *w, const struct sd_packet *packet, uint32_t object,
                                uint64_t index, uint32_t *colour)
{
    const struct sd_object *o = &w->instance->objects[object];
    *colour = SD_GREEN;
    if (SD_UNLIKELY(index >= o->type->size))
        return false;
    struct sd_meter *meter = (struct sd_meter *)o->meters.memory.bytes + index;
    uint64_t n = o->type->unit == SD_UNIT_BYTES ? packet->length_bytes : 1;
    if (!o->meters.common.is_set) {
        *colour = sd_meter_mark(meter, n, w->now_ns);
        return true;
    }
    sd_meter_lock(meter);
    if (!meter->is_own)
        sd_meter_set(meter, &o->meters.common, o->meters.common_since_ns);
    *colour = sd_meter_mark_alone(meter, n, w->now_ns);
    sd_meter_unlock(meter);
    return true;
}

/* Copies a cell of an array, or one to it. */
SD_ALWAYS_INLINE void sd_cell_load(void *to, const uint8_t *cell, size_t cell_bytes)
{
    switch (cell_bytes) {
    case 1: *(uint8_t *)to = __atomic_load_n(cell, __ATOMIC_RELAXED); break;
    case 2: {
        uint16_t v = __atomic_load_n((const uint16_t *)(const void *)cell, __ATOMIC_RELAXED);
        memcpy(to, &v, sizeof v);
        break;
    }
    case 4: {
        uint32_t v = __atomic_load_n((const uint32_t *)(const void *)cell, __ATOMIC_RELAXED);
        memcpy(to, &v, sizeof v);
        break;
    }
    case 8: {
        uint64_t v = __atomic_load_n((const uint64_t *)(const void *)cell, __ATOMIC_RELAXED);
        memcpy(to, &v, sizeof v);
        break;
    }
    default: memcpy(to, cell, cell_bytes);
    }
}

SD_ALWAYS_INLINE void sd_cell_store(uint8_t *cell, const void *from, size_t cell_bytes)
{
    switch (cell_bytes) {
    case 1: __atomic_store_n(cell, *(const uint8_t *)from, __ATOMIC_RELAXED); break;
    case 2: {
        uint16_t v;
        memcpy(&v, from, sizeof v);
        __atomic_store_n((uint16_t *)(void *)cell, v, __ATOMIC_RELAXED);
        break;
    }
    case 4: {
        uint32_t v;
        memcpy(&v, from, sizeof v);
        __atomic_store_n((uint32_t *)(void *)cell, v, __ATOMIC_RELAXED);
        break;
    }
    case 8: {
        uint64_t v;
        memcpy(&v, from, sizeof v);
        __atomic_store_n((uint64_t *)(void *)cell, v, __ATOMIC_RELAXED);
        break;
    }
    default: memcpy(cell, from, cell_bytes);
    }
}

SD_ALWAYS_INLINE void sd_bytes_xor(void *to, const uint8_t *other, size_t n)
{
    uint8_t *bytes = to;
    for (size_t i = 0; i < n; i++)
        bytes[i] ^= other[i];
}

/* `cell_bytes` of the type. */
SD_ALWAYS_INLINE bool sd_register_read(struct sd_worker *w, uint32_t object, uint64_t index, void *cell,
                                       size_t cell_bytes)
{
    const struct sd_object *o = &w->instance->objects[object];
    if (SD_UNLIKELY(index >= o->type->size)) {
        memset(cell, 0, cell_bytes);
        return false;
    }
    sd_cell_load(cell, o->registers.memory.bytes + index * cell_bytes, cell_bytes);
    sd_bytes_xor(cell, o->registers.common, cell_bytes);
    return true;
}

SD_ALWAYS_INLINE bool sd_register_write(struct sd_worker *w, uint32_t object, uint64_t index, const void *cell,
                                        size_t cell_bytes)
{
    const struct sd_object *o = &w->instance->objects[object];
    if (SD_UNLIKELY(index >= o->type->size))
        return false;
    uint8_t *to = o->registers.memory.bytes + index * cell_bytes;
    if (cell_bytes <= 8) {
        uint8_t stored[8];
        /* The condition again: without optimisation compilers take large cells to come here. */
        const size_t n_bytes = cell_bytes <= 8 ? cell_bytes : 8;
        memcpy(stored, cell, n_bytes);
        sd_bytes_xor(stored, o->registers.common, n_bytes);
        sd_cell_store(to, stored, n_bytes);
    } else {
        memcpy(to, cell, cell_bytes);
        sd_bytes_xor(to, o->registers.common, cell_bytes);
    }
    return true;
}

/* --- For the control plane --- */

SD_LOCAL bool sd_cells_init(struct sd_object *o, const struct sd_object_type *type, uint32_t n_workers)
{
    o->type = type;
    size_t cells_bytes;
    switch (type->kind) {
    case SD_OBJECT_COUNTER:
        if (__builtin_mul_overflow(type->size, sizeof(struct sd_count), &cells_bytes) ||
            cells_bytes > PTRDIFF_MAX)
            return false;
        o->counters.worker_bytes = sd_round_up(cells_bytes, SD_LINE_BYTES);
        return sd_lazy_init(&o->counters.memory, n_workers, o->counters.worker_bytes);
    case SD_OBJECT_METER:
        return sd_lazy_init(&o->meters.memory, type->size, sizeof(struct sd_meter));
    case SD_OBJECT_REGISTER:
        o->registers.common = calloc(1, type->cell_bytes ? type->cell_bytes : 1);
        return o->registers.common && sd_lazy_init(&o->registers.memory, type->size, type->cell_bytes);
    default:
        return true;
    }
}

SD_LOCAL void sd_cells_free(struct sd_object *o)
{
    switch (o->type ? o->type->kind : SD_OBJECT_OTHER) {
    case SD_OBJECT_COUNTER:
        sd_lazy_free(&o->counters.memory);
        break;
    case SD_OBJECT_METER:
        sd_lazy_free(&o->meters.memory);
        break;
    case SD_OBJECT_REGISTER:
        sd_lazy_free(&o->registers.memory);
        free(o->registers.common);
        break;
    default:
        break;
    }
}

/* The object, if it is of this kind. */
SD_INLINE struct sd_object *sd_object_of(struct sd_instance *instance, uint32_t object, uint32_t kind)
{
    if (object >= instance->pipeline->n_objects || instance->pipeline->objects[object].kind != kind)
        return NULL;
    return &instance->objects[object];
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
    for (uint32_t i = 0; i < instance->n_workers; i++) {
        const struct sd_count *cell = sd_counter_cell(&o->counters, i, index);
        count->n_packets += cell->n_packets;
        count->n_bytes += cell->n_bytes;
    }
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
    /* Counts wrap, so one worker's cell can make up the difference. */
    struct sd_count *cell = sd_counter_cell(&o->counters, 0, index);
    cell->n_packets += count.n_packets - now.n_packets;
    cell->n_bytes += count.n_bytes - now.n_bytes;
    return SD_OK;
}

SD_LOCAL uint32_t sd_meter_get_rates(struct sd_instance *instance, uint32_t object, uint64_t index,
                                             struct sd_meter_rates *rates)
{
    const struct sd_object *o = sd_object_of(instance, object, SD_OBJECT_METER);
    if (!o)
        return SD_NOT_FOUND;
    if (index >= o->type->size)
        return SD_OUT_OF_RANGE;
    const struct sd_meter *meter = (const struct sd_meter *)o->meters.memory.bytes + index;
    *rates = meter->is_own ? meter->rates : o->meters.common;
    return SD_OK;
}

SD_LOCAL uint32_t sd_meter_set_rates(struct sd_instance *instance, uint32_t object, uint64_t index,
                                             const struct sd_meter_rates *rates, uint64_t now_ns)
{
    struct sd_object *o = sd_object_of(instance, object, SD_OBJECT_METER);
    if (!o)
        return SD_NOT_FOUND;
    if (index == SD_ALL_CELLS) {
        if (!sd_lazy_clear(&o->meters.memory))
            return SD_NO_MEMORY;
        o->meters.common = (struct sd_meter_rates){0};
        if (rates->is_set)
            o->meters.common = *rates;
        o->meters.common_since_ns = now_ns;
        return SD_OK;
    }
    if (index >= o->type->size)
        return SD_OUT_OF_RANGE;
    sd_meter_set((struct sd_meter *)o->meters.memory.bytes + index, rates, now_ns);
    return SD_OK;
}

SD_LOCAL uint32_t sd_register_get(struct sd_instance *instance, uint32_t object, uint64_t index,
                                          uint8_t *cell)
{
    const struct sd_object *o = sd_object_of(instance, object, SD_OBJECT_REGISTER);
    if (!o)
        return SD_NOT_FOUND;
    if (index >= o->type->size)
        return SD_OUT_OF_RANGE;
    uint32_t n = o->type->cell_bytes;
    memcpy(cell, o->registers.memory.bytes + index * n, n);
    sd_bytes_xor(cell, o->registers.common, n);
    return SD_OK;
}

SD_LOCAL uint32_t sd_register_set(struct sd_instance *instance, uint32_t object, uint64_t index,
                                          const uint8_t *cell)
{
    struct sd_object *o = sd_object_of(instance, object, SD_OBJECT_REGISTER);
    if (!o)
        return SD_NOT_FOUND;
    uint32_t n = o->type->cell_bytes;
    if (index == SD_ALL_CELLS) {
        if (!sd_lazy_clear(&o->registers.memory))
            return SD_NO_MEMORY;
        memcpy(o->registers.common, cell, n);
        return SD_OK;
    }
    if (index >= o->type->size)
        return SD_OUT_OF_RANGE;
    uint8_t *to = o->registers.memory.bytes + index * n;
    memcpy(to, cell, n);
    sd_bytes_xor(to, o->registers.common, n);
    return SD_OK;
}

#endif
