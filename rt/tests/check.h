/* What the test programs share: each is a main of its own that ends with 0 when all is well. */
#ifndef SD_CHECK_H
#define SD_CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(cond)                                                                          \
    do {                                                                                     \
        if (!(cond)) {                                                                       \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #cond);        \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

/* The next of a sequence that the first state determines (SplitMix64). */
static inline __attribute__((unused)) uint64_t check_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

#endif
