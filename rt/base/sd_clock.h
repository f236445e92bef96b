/*
 * Time for what is shorter than a microsecond: cycles of the time stamp counter, or what a machine has instead. Differences
 * between cores are those of the machine.
 */
#ifndef SD_CLOCK_H
#define SD_CLOCK_H

#include "sd_abi.h"

#if defined(__x86_64__)
SD_INLINE uint64_t sd_cycles(void)
{
    return __builtin_ia32_rdtsc();
}

SD_INLINE void sd_relax(void)
{
    __builtin_ia32_pause();
}
#elif defined(__aarch64__)
SD_INLINE uint64_t sd_cycles(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

SD_INLINE void sd_relax(void)
{
    __asm__ volatile("yield");
}
#else
#include <time.h>
SD_INLINE uint64_t sd_cycles(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

SD_INLINE void sd_relax(void)
{
}
#endif

/* The power of two of a number of cycles: the bucket of a histogram. */
SD_INLINE uint32_t sd_log2_bucket(uint64_t cycles)
{
    uint32_t bucket = cycles ? 64 - (uint32_t)__builtin_clzll(cycles) : 0;
    return bucket < SD_ASYNC_BUCKETS ? bucket : SD_ASYNC_BUCKETS - 1;
}

#endif
