/*
 * What the hand-written programs of the ceiling share: how run.c calls them.
 *
 * A ceiling does the work of one benchmark program on the same packets, with the same `struct sd_packet`, as tightly as
 * we can write it in C: it knows what the program is, generated code does not. It comes in ways (one after the other,
 * prefetching in bursts); the fastest at a size is the ceiling at that size.
 */
#ifndef CEILING_H
#define CEILING_H

#include "sd_abi.h"

struct ceiling_way {
    const char *name;
    void (*process)(const void *tables, struct sd_packet *packets, uint32_t n);
};

#endif
