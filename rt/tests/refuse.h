/* Allocation that `is_refused` can refuse: the test says which, before it includes this, and includes the runtime after it. */
#ifndef SD_TEST_REFUSE_H
#define SD_TEST_REFUSE_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

static void *short_calloc(size_t n, size_t each)
{
    return is_refused() ? NULL : calloc(n, each);
}

static void *short_realloc(void *p, size_t n)
{
    return is_refused() ? NULL : realloc(p, n);
}

static void *short_aligned_alloc(size_t align, size_t n)
{
    return is_refused() ? NULL : aligned_alloc(align, n);
}

static void *short_mmap(void *at, size_t n, int protection, int flags, int file, off_t offset)
{
    return is_refused() ? MAP_FAILED : mmap(at, n, protection, flags, file, offset);
}

#define calloc short_calloc
#define realloc short_realloc
#define aligned_alloc short_aligned_alloc
#define mmap short_mmap

#endif
