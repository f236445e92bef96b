/*
 * The extern type `NAME`, whose method `next` counts the calls of each object:
 *
 *     make
 *     siding stf --backend both --extern ./NAME.so NAME.p4 NAME.stf
 *
 * siding_extern.h says what every member means.
 */
#include "siding_extern.h"
#include <stdlib.h>

/* The state of one object in one thread. */
struct NAME_state {
    uint32_t count;
};

/* The arguments, in the order of the declaration and without gaps. A bit<W> is the smallest integer type that holds it. */
struct NAME_next_args {
    uint32_t step;
} __attribute__((packed));

/* Runs before the first packet, once for each object in each thread. */
static void *NAME_open(const struct siding_opening *opening)
{
    struct NAME_state *state = calloc(1, sizeof(struct NAME_state));
    static const char message[] = "no memory";
    if (state == NULL && opening->message_bytes >= sizeof message)
        memcpy(opening->message, message, sizeof message);
    return state;
}

/* Runs once for each call. One thread at a time uses a state: it needs no lock. */
static uint32_t NAME_next_run(struct siding_call *call)
{
    struct NAME_state *state = call->state;
    const struct NAME_next_args *args = (const struct NAME_next_args *)call->args;
    state->count += args->step;
    siding_set_result(call, state->count);
    /* SIDING_DROP would drop the packet. */
    return SIDING_OK;
}

/* One element for each method. */
static const struct siding_extern externs[] = {
    {
        .name = "NAME.next",
        /* Siding compares it with the declaration in the program, and refuses a program that differs. */
        .declaration = "bit<32> NAME.next(in bit<32> step)",
        /* SIDING_PACKET_READ or SIDING_PACKET_CHANGED for a method that needs the packet: see call->packet. */
        .packet = SIDING_PACKET_UNUSED,
        .open = NAME_open,
        .close = free,
        .run = NAME_next_run,
    },
};

/* The symbol that Siding looks for. */
const struct siding_extern_library siding_extern_library = {
    .abi_version = SIDING_EXTERN_ABI_VERSION,
    .n_externs = sizeof externs / sizeof externs[0],
    .externs = externs,
};
