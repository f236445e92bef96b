/*
 * Registers: arrays of cells.
 *
 * Cells are stored as the exclusive or with the common value. A cell of 1, 2, 4 or 8 bytes is read and written atomically;
 * a larger one may be seen half written. Between a worker's read and its write another worker's write can be lost.
 */
#ifndef SD_REGISTER_H
#define SD_REGISTER_H

#include "object/sd_object.h"

/* Copies a cell, atomically if it has the size of a word. */
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

/* `cell_bytes` is that of the type. False, and zeros: there is no such cell. */
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
        /* Repeats the condition: without optimisation compilers warn of larger cells here. */
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

SD_LOCAL bool sd_registers_init(struct sd_object *o)
{
    uint32_t cell_bytes = o->type->cell_bytes;
    o->registers.common = calloc(1, cell_bytes ? cell_bytes : 1);
    return o->registers.common && sd_lazy_init(&o->registers.memory, o->type->size, cell_bytes);
}

/* --- For the control plane --- */

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
