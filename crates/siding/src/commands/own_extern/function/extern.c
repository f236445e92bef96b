/*
 * The extern function `NAME`:
 *
 *     make
 *     siding stf --backend both --extern ./NAME.so NAME.p4 NAME.stf
 *
 * siding_extern.h says what every member means.
 */
#include "siding_extern.h"

/* The arguments, in the order of the declaration and without gaps. A bit<W> is the smallest integer type that holds it. */
struct NAME_args {
    uint32_t value;
} __attribute__((packed));

/* Runs once for each call. Several threads may be here at the same time: keep nothing in variables outside. */
static uint32_t NAME_run(struct siding_call *call)
{
    const struct NAME_args *args = (const struct NAME_args *)call->args;
    uint32_t mixed = (args->value ^ args->value >> 16) * 0x9e3779b1u;
    siding_set_result(call, mixed ^ mixed >> 15);
    /* SIDING_DROP would drop the packet. */
    return SIDING_OK;
}

/* One element for each extern of the library. */
static const struct siding_extern externs[] = {
    {
        .name = "NAME",
        /* Siding compares it with the declaration in the program, and refuses a program that differs. */
        .declaration = "bit<32> NAME(in bit<32> value)",
        /* SIDING_PACKET_READ or SIDING_PACKET_CHANGED for a function that needs the packet: see call->packet. */
        .packet = SIDING_PACKET_UNUSED,
        .run = NAME_run,
    },
};

/* The symbol that Siding looks for. */
const struct siding_extern_library siding_extern_library = {
    .abi_version = SIDING_EXTERN_ABI_VERSION,
    .n_externs = sizeof externs / sizeof externs[0],
    .externs = externs,
};
