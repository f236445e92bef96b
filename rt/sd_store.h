/*
 * What an instance consists of, and the memory that its parts live in.
 *
 * Owns: struct sd_instance; allocation. Everything is allocated by calloc and its kin, but for arrays of
 * cells, which may have thousands of millions: those are mapped, and a page exists from the first write to
 * it on.
 *
 * Invariant: while packets run, nothing here is changed but cells and the marks of entries; the control
 * plane has an instance for itself (sd_abi.h, struct sd_control_ops).
 */
#ifndef SD_STORE_H
#define SD_STORE_H

#include <sys/mman.h>

#include "sd_abi.h"

#define SD_ALWAYS_INLINE static inline __attribute__((unused, always_inline))

/* Members of groups that watch one of these are left out: in ascending order. */
struct sd_ports {
    uint32_t *ports;
    uint32_t n;
};

struct sd_instance {
    const struct sd_pipeline *pipeline;
    /* As many as the pipeline says. */
    struct sd_table *tables;
    struct sd_object *objects;
    struct sd_value_set *value_sets;
    struct sd_worker **workers;
    uint32_t n_workers;
    struct sd_ports ports_down;
};

#define SD_LINE_BYTES 64u

SD_INLINE size_t sd_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Zeros, at the beginning of a cache line; free() takes them back. NULL for sizes that cannot be. */
static SD_UNUSED void *sd_alloc_lines(size_t n, size_t each_bytes)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, each_bytes, &bytes) || bytes > PTRDIFF_MAX - SD_LINE_BYTES)
        return NULL;
    bytes = sd_round_up(bytes ? bytes : 1, SD_LINE_BYTES);
    void *memory = aligned_alloc(SD_LINE_BYTES, bytes);
    if (memory)
        memset(memory, 0, bytes);
    return memory;
}

/* Room for `n` items, at least one; NULL where there is none, and then `items` stay as they are. */
static SD_UNUSED void *sd_reserve(void *items, uint64_t *capacity, uint64_t n, size_t item_bytes)
{
    if (n <= *capacity)
        return items;
    uint64_t wanted = *capacity < 8 ? 8 : *capacity * 2;
    if (wanted < n)
        wanted = n;
    size_t bytes;
    if (__builtin_mul_overflow(wanted, item_bytes, &bytes))
        return NULL;
    void *grown = realloc(items, bytes);
    if (grown)
        *capacity = wanted;
    return grown;
}

/* Memory of zeros, of which only what was written takes room. */
struct sd_lazy {
    uint8_t *bytes;
    size_t n_bytes;
};

static SD_UNUSED bool sd_lazy_init(struct sd_lazy *lazy, uint64_t n, size_t each_bytes)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, each_bytes, &bytes) || bytes > PTRDIFF_MAX)
        return false;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    lazy->bytes = memory;
    lazy->n_bytes = bytes ? bytes : 1;
    return true;
}

static SD_UNUSED void sd_lazy_free(struct sd_lazy *lazy)
{
    if (lazy->bytes)
        munmap(lazy->bytes, lazy->n_bytes);
    lazy->bytes = NULL;
}

/* Zeros again, in the time that it takes to give back what was written. */
static SD_UNUSED bool sd_lazy_clear(struct sd_lazy *lazy)
{
    if (madvise(lazy->bytes, lazy->n_bytes, MADV_DONTNEED) == 0)
        return true;
    /* Locked memory is not given back; a new mapping takes its place. */
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    return mmap(lazy->bytes, lazy->n_bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
}

#endif
