/*
 * An instance's parts and their memory.
 *
 * Owns: struct sd_instance; allocation. Everything is allocated by calloc and its kin, but for large blocks of tables, and
 * for arrays of cells, which may have thousands of millions: those are mapped, and a page exists from the first write to it
 * on.
 *
 * Invariant: while packets run, nothing here is changed but cells, the marks of entries, and those tables that can be
 * written beside readers (sd_table_concurrent_ops); what else the control plane does it does while no worker runs packets
 * (sd_abi.h, struct sd_control_ops).
 */
#ifndef SD_STORE_H
#define SD_STORE_H

#include <sys/mman.h>

#include "sd_abi.h"

/* Without optimisation inlining only makes more code. */
#ifdef __OPTIMIZE__
#define SD_ALWAYS_INLINE static inline __attribute__((unused, always_inline))
#else
#define SD_ALWAYS_INLINE SD_INLINE
#endif

/* Ports that are down, ascending: members of groups that watch one of them are skipped. */
struct sd_ports {
    uint32_t *ports;
    uint32_t n;
};

struct sd_epochs;

#define SD_DATA_SEQUENCE_BITS 10

struct sd_instance {
    const struct sd_pipeline *pipeline;
    /* The epoch of each worker: decides when removed memory can be reused. */
    struct sd_epochs *epochs;
    /* Arrays of the sizes in `pipeline`. */
    struct sd_table *tables;
    struct sd_object *objects;
    struct sd_value_set *value_sets;
    struct sd_worker **workers;
    uint32_t n_workers;
    /* enum sd_path */
    uint32_t path;
    /* Bytes of all entries that lookups may touch, about. Workers read it without synchronisation. */
    uint64_t entries_bytes;
    struct sd_ports ports_down;
    /* Numbers of flows that packets have taken. */
    uint64_t n_flow_ids;
    /* Entries whose data actions change: see sd_data_begin_update. */
    uint32_t data_sequences[1 << SD_DATA_SEQUENCE_BITS];
};

/* For the control plane only. */
SD_INLINE void sd_instance_add_bytes(struct sd_instance *instance, uint64_t n)
{
    __atomic_store_n(&instance->entries_bytes, instance->entries_bytes + n, __ATOMIC_RELAXED);
}

#define SD_LINE_BYTES 64u

SD_INLINE size_t sd_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Zeroed memory, aligned to cache lines; free() releases it. NULL when memory is short or the size overflows. */
SD_LOCAL void *sd_alloc_lines(size_t n, size_t each_bytes)
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

/* Grows an array to at least `n` items; NULL when memory is short, and then `items` does not change. */
SD_LOCAL void *sd_reserve(void *items, uint64_t *capacity, uint64_t n, size_t item_bytes)
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

#define SD_HUGE_BYTES ((size_t)2 << 20)

/*
 * Zeroed memory that is allocated on the first write to a page, in huge pages if the system has them: tables that exceed the
 * caches are read at random, and TLB misses would cost as much as cache misses. Aligned to a huge page if it is that large.
 * NULL when memory is short. sd_unmap_large releases it.
 */
SD_LOCAL void *sd_map_large(size_t n_bytes)
{
    if (n_bytes > PTRDIFF_MAX - SD_HUGE_BYTES)
        return NULL;
    size_t kept = n_bytes ? n_bytes : 1;
    size_t slack = kept >= SD_HUGE_BYTES ? SD_HUGE_BYTES : 0;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint8_t *mapped = mmap(NULL, kept + slack, PROT_READ | PROT_WRITE, flags, -1, 0);
    if ((void *)mapped == MAP_FAILED)
        return NULL;
    if (!slack)
        return mapped;
    /* Unmaps what is in front of the first huge page and behind the end. */
    size_t before = -(uintptr_t)mapped & (SD_HUGE_BYTES - 1);
    size_t after = (slack - before) & ~(size_t)4095;
    if (before)
        munmap(mapped, before);
    mapped += before;
    if (after)
        munmap(mapped + sd_round_up(kept, 4096), after);
    /* Advice: without huge pages everything works, more slowly. */
    madvise(mapped, kept, MADV_HUGEPAGE);
    return mapped;
}

/* A hint: allocates the pages now instead of on the first write. */
SD_LOCAL void sd_populate(void *memory, size_t n_bytes)
{
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
    madvise(memory, n_bytes, MADV_POPULATE_WRITE);
}

SD_LOCAL void sd_unmap_large(void *memory, size_t n_bytes)
{
    if (memory)
        munmap(memory, n_bytes ? n_bytes : 1);
}

/*
 * Memory that is cut into pieces and freed together: blocks whose size grows with what there is, in huge pages as soon as
 * they are large, or that is reserved.
 */
struct sd_block {
    uint8_t *bytes;
    size_t n_bytes;
};

struct sd_blocks {
    /* The last one is used up to `at`. */
    struct sd_block *blocks;
    uint64_t n_blocks, capacity;
    size_t at;
    size_t n_bytes;
};

/* Blocks of this size and above are mapped. */
#define SD_BLOCK_MAPPED_BYTES ((size_t)64 << 10)
#define SD_BLOCK_BYTES_MAX ((size_t)64 << 20)

SD_LOCAL void sd_blocks_free(struct sd_blocks *b)
{
    for (uint64_t i = 0; i < b->n_blocks; i++) {
        if (b->blocks[i].n_bytes < SD_BLOCK_MAPPED_BYTES)
            free(b->blocks[i].bytes);
        else
            sd_unmap_large(b->blocks[i].bytes, b->blocks[i].n_bytes);
    }
    free(b->blocks);
    memset(b, 0, sizeof *b);
}

SD_INLINE size_t sd_blocks_left(const struct sd_blocks *b)
{
    return b->n_blocks ? b->blocks[b->n_blocks - 1].n_bytes - b->at : 0;
}

/* Appends a block; the rest of the last one is not used any more. NULL when memory is short. */
SD_LOCAL const struct sd_block *sd_blocks_add(struct sd_blocks *b, size_t n_bytes)
{
    struct sd_block *blocks = sd_reserve(b->blocks, &b->capacity, b->n_blocks + 1, sizeof *blocks);
    if (!blocks)
        return NULL;
    b->blocks = blocks;
    n_bytes = sd_round_up(n_bytes, n_bytes >= SD_HUGE_BYTES ? SD_HUGE_BYTES : SD_LINE_BYTES);
    uint8_t *bytes = n_bytes < SD_BLOCK_MAPPED_BYTES ? sd_alloc_lines(1, n_bytes) : sd_map_large(n_bytes);
    if (!bytes)
        return NULL;
    blocks += b->n_blocks++;
    *blocks = (struct sd_block){bytes, n_bytes};
    b->n_bytes += n_bytes;
    b->at = 0;
    return blocks;
}

/* Zeroed memory, aligned to cache lines; NULL when memory is short. */
SD_LOCAL void *sd_blocks_take(struct sd_blocks *b, size_t n_bytes)
{
    n_bytes = sd_round_up(n_bytes, SD_LINE_BYTES);
    if (sd_blocks_left(b) < n_bytes) {
        size_t wanted = b->n_bytes / 8 < SD_BLOCK_BYTES_MAX ? b->n_bytes / 8 : SD_BLOCK_BYTES_MAX;
        if (!sd_blocks_add(b, wanted < n_bytes ? n_bytes : wanted))
            return NULL;
    }
    void *taken = b->blocks[b->n_blocks - 1].bytes + b->at;
    b->at += n_bytes;
    return taken;
}

/* Makes sure of so many bytes in one block, and that their pages exist; false when memory is short. */
SD_LOCAL bool sd_blocks_reserve(struct sd_blocks *b, size_t n_bytes)
{
    if (sd_blocks_left(b) >= n_bytes)
        return true;
    const struct sd_block *block = sd_blocks_add(b, n_bytes);
    if (block && block->n_bytes >= SD_BLOCK_MAPPED_BYTES)
        sd_populate(block->bytes, block->n_bytes);
    return block != NULL;
}

/* Zeroed memory whose pages are allocated on the first write. */
struct sd_lazy {
    uint8_t *bytes;
    size_t n_bytes;
};

SD_LOCAL bool sd_lazy_init(struct sd_lazy *lazy, uint64_t n, size_t each_bytes)
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

SD_LOCAL void sd_lazy_free(struct sd_lazy *lazy)
{
    if (lazy->bytes)
        munmap(lazy->bytes, lazy->n_bytes);
    lazy->bytes = NULL;
}

/* Zeroes the memory by releasing its pages. */
SD_LOCAL bool sd_lazy_clear(struct sd_lazy *lazy)
{
    if (madvise(lazy->bytes, lazy->n_bytes, MADV_DONTNEED) == 0)
        return true;
    /* Locked memory is not given back; a new mapping takes its place. */
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    return mmap(lazy->bytes, lazy->n_bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
}

#endif
