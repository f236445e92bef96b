/*
 * The few operations on vectors that lookups inline, by vector types of gcc and clang.
 *
 * Owns: types of 32 bytes and what the language has no operator for. The header of all intrinsics takes longer to
 * compile than most programs; what engines do out of line (sd_control.c) may include it.
 *
 * SD_SCALAR: without vectors, for tests.
 */
#ifndef SD_VECTOR_H
#define SD_VECTOR_H

#include "base/sd_base.h"

#if defined(__AVX2__) && !defined(SD_SCALAR)
#define SD_AVX2 1

typedef uint16_t sd_u16x16 __attribute__((vector_size(32), may_alias));
typedef uint32_t sd_u32x8 __attribute__((vector_size(32), may_alias));
typedef uint64_t sd_u64x4 __attribute__((vector_size(32), may_alias));
typedef uint16_t sd_u16x4 __attribute__((vector_size(8), may_alias));
/* The types that the compilers' own functions take. */
typedef char sd_v32qi __attribute__((vector_size(32)));
typedef long long sd_v4di __attribute__((vector_size(32)));
typedef float sd_v8sf __attribute__((vector_size(32)));
typedef double sd_v4df __attribute__((vector_size(32)));

/* The highest bit of each byte; of lanes that are all ones or zeros two for 16 bits. */
SD_INLINE uint32_t sd_bytes_mask(sd_u16x16 v)
{
    return (uint32_t)__builtin_ia32_pmovmskb256((sd_v32qi)v);
}

SD_INLINE uint32_t sd_u32x8_mask(sd_u32x8 v)
{
    return (uint32_t)__builtin_ia32_movmskps256((sd_v8sf)v);
}

SD_INLINE uint32_t sd_u64x4_mask(sd_u64x4 v)
{
    return (uint32_t)__builtin_ia32_movmskpd256((sd_v4df)v);
}

/* Each lane by its own number of bits, 64 of which leave zero. */
SD_INLINE sd_u64x4 sd_u64x4_shift_right(sd_u64x4 v, sd_u64x4 by)
{
    return (sd_u64x4)__builtin_ia32_psrlv4di((sd_v4di)v, (sd_v4di)by);
}
#else
#define SD_AVX2 0
#endif

#endif
