/*
 * Three externs in C: a function that changes packets, a function that gives values, and an object with a method.
 *
 *     cc -O2 -shared -fPIC -I rt -o scramble.so examples/04-own-extern/scramble.c
 *     siding stf --extern ./scramble.so examples/04-own-extern/scramble.p4 examples/04-own-extern/scramble.packets
 */
#include "siding_extern.h"
#include <stdlib.h>

/* --- void scramble(in bit<32> key) --- */

/* Arguments lie one after the other without gaps, in the order of the declaration. */
struct scramble_args {
    uint32_t key;
} __attribute__((packed));

static uint32_t scramble(struct siding_call *call)
{
    const struct scramble_args *args = (const struct scramble_args *)call->args;
    struct siding_packet *packet = call->packet;
    for (uint32_t i = packet->payload_at; i < packet->length_bytes; i++)
        packet->data[i] ^= (uint8_t)(args->key >> 8 * (3 - (i - packet->payload_at) % 4));
    return SIDING_OK;
}

/* The same for packets that come together: a device would take them all at once. */
static void scramble_batch(struct siding_call *calls, uint32_t *status, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        status[i] = scramble(&calls[i]);
}

/* --- bit<32> count_class(in bit<8> class, out bit<32> total) --- */

struct counts {
    uint32_t of_class[256];
    uint32_t total;
};

struct count_args {
    uint8_t class;
    uint32_t total;
} __attribute__((packed));

static void *counts_open(const struct siding_opening *opening)
{
    (void)opening;
    return calloc(1, sizeof(struct counts));
}

static uint32_t count_class(struct siding_call *call)
{
    struct counts *counts = call->state;
    struct count_args *args = (struct count_args *)call->args;
    args->total = ++counts->total;
    siding_set_result(call, ++counts->of_class[args->class]);
    /* Class 255 is not wanted here. */
    return args->class == 255 ? SIDING_DROP : SIDING_OK;
}

/* --- extern Sequence { Sequence(); bit<16> next(); } --- */

static void *sequence_open(const struct siding_opening *opening)
{
    (void)opening;
    return calloc(1, sizeof(uint16_t));
}

/* Each object has a state of its own. */
static uint32_t sequence_next(struct siding_call *call)
{
    uint16_t *next = call->state;
    siding_set_result(call, (*next)++);
    return SIDING_OK;
}

/* --- What the library exports --- */

static const struct siding_extern externs[] = {
    {
        .name = "scramble",
        .declaration = "void scramble(in bit<32> key)",
        .packet = SIDING_PACKET_CHANGED,
        .run = scramble,
        .run_batch = scramble_batch,
    },
    {
        .name = "count_class",
        .declaration = "bit<32> count_class(in bit<8> class, out bit<32> total)",
        .open = counts_open,
        .close = free,
        .run = count_class,
    },
    {
        .name = "Sequence.next",
        .declaration = "bit<16> Sequence.next()",
        .open = sequence_open,
        .close = free,
        .run = sequence_next,
    },
};

const struct siding_extern_library siding_extern_library = {
    .abi_version = SIDING_EXTERN_ABI_VERSION,
    .n_externs = sizeof externs / sizeof externs[0],
    .externs = externs,
};
