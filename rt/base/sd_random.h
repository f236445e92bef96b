/*
 * Random numbers that a seed gives again: xoshiro256++ and SplitMix64, by D. Blackman and S. Vigna
 * (https://prng.di.unimi.it), as the interpreter has them.
 */
#ifndef SD_RANDOM_H
#define SD_RANDOM_H

#include "sd_abi.h"

SD_INLINE uint64_t sd_rotate_left64(uint64_t v, unsigned n)
{
    return v << n | v >> (64 - n);
}

/* Four numbers of SplitMix64: never all zeros, which xoshiro does not leave. */
SD_INLINE void sd_random_seed(uint64_t state[4], uint64_t seed)
{
    for (unsigned i = 0; i < 4; i++) {
        seed += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t z = seed;
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        state[i] = z ^ z >> 31;
    }
}

SD_INLINE uint64_t sd_random_next(struct sd_worker *w)
{
    uint64_t *s = w->random;
    uint64_t result = sd_rotate_left64(s[0] + s[3], 23) + s[0];
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = sd_rotate_left64(s[3], 45);
    return result;
}

/* From `low` to `high`, both inclusive, each as likely; `low`, and nothing drawn, unless `high` is above. */
SD_INLINE uint64_t sd_random_within(struct sd_worker *w, uint64_t low, uint64_t high)
{
    if (high <= low)
        return low;
    uint64_t span = high - low;
    uint64_t mask = UINT64_MAX >> __builtin_clzll(span);
    uint64_t n;
    /* Taken at least every other time. */
    do
        n = sd_random_next(w) & mask;
    while (n > span);
    return low + n;
}

#endif
