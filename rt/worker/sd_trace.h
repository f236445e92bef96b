/*
 * The events that code compiled with -DSD_TRACE reports to its host, step by step.
 *
 * Every point has the number of a place in the IR: the graphs of all blocks, then those of all procedures; in each
 * graph its nodes, and of each node first itself, then its statements, then its terminator. The host knows from
 * there what happened, and reads values from where `sd_trace` says that variables lie. Generated code that tells
 * exports it beside `sd_pipeline`. Without SD_TRACE all of it is nothing.
 */
#ifndef SD_TRACE_H
#define SD_TRACE_H

#include "sd_abi.h"

#define SD_TRACE_SYMBOL "sd_trace"

enum sd_trace_kind {
    /* A node begins. */
    SD_TRACE_NODE,
    /* A statement is done. `value` is SD_END_DONE, or how the block ends with it. */
    SD_TRACE_STATEMENT,
    /* A terminator has chosen: `value` is a condition, the number of a case of a select (UINT64_MAX: none), what a
       switch is on (the number of its case where that has more than 64 bits), the error of an operation of a parser.
       Where a table is applied: what the program asks of the lookup has been assigned. */
    SD_TRACE_TERMINATOR,
    /* A table was looked up: see the last members. */
    SD_TRACE_LOOKUP,
    /* A procedure begins, its parameters are assigned: `value` is its number. `point` is UINT32_MAX where it is the
       action of the table that was looked up last. */
    SD_TRACE_CALL,
    SD_N_TRACE_KINDS
};

struct sd_trace_event {
    uint32_t kind;
    uint32_t point;
    uint64_t value;
    /* The variables of the block. */
    const void *locals;
    /* Lookups: the key, `key_bytes` of the table's type; NULL without keys. */
    const void *key;
    /* Hits: the handle of the entry. */
    uint64_t handle;
    uint32_t hit;
    /* UINT32_MAX: nothing runs. */
    uint32_t action;
    /* UINT32_MAX: none. */
    uint32_t member;
    uint32_t reserved;
};

/* The variables lie in the state, not in a block. */
#define SD_TRACE_IN_STATE UINT32_MAX

/* A part of a variable. */
struct sd_trace_slot {
    /* The number of the block among whose locals it is, or SD_TRACE_IN_STATE. */
    uint32_t block;
    struct sd_value_type value;
};

struct sd_trace_type {
    /* All points of the program. */
    uint32_t n_points;
    uint32_t n_slots;
    /* Variable after variable: a header is its validity and then its fields, a stack its index and then its elements. */
    const struct sd_trace_slot *slots;
    uint32_t n_blocks;
    uint32_t reserved;
    /* For each block. */
    const uint32_t *locals_bytes;
};

#ifdef SD_TRACE
#define SD_HAS_TRACE 1
#define SD_TRACE_TELL(w, p, s, ...)                                                                 \
    do {                                                                                            \
        if ((w)->host->trace) {                                                                     \
            const struct sd_trace_event event_ = {__VA_ARGS__};                                     \
            (w)->host->trace((w)->host->context, (w), (p), (s), &event_);                           \
        }                                                                                           \
    } while (0)
#else
#define SD_HAS_TRACE 0
#define SD_TRACE_TELL(w, p, s, ...) ((void)0)
#endif

#define SD_TRACE_POINT(w, p, s, locals_, kind_, point_, value_)                                     \
    SD_TRACE_TELL(w, p, s, .kind = (kind_), .point = (point_), .value = (value_), .locals = (locals_))

#define SD_TRACE_LOOKUP_POINT(w, p, s, locals_, point_, key_, found_)                               \
    SD_TRACE_TELL(w, p, s, .kind = SD_TRACE_LOOKUP, .point = (point_), .locals = (locals_),         \
                  .key = (key_), .handle = (found_).handle, .hit = (found_).hit,                    \
                  .action = (found_).action, .member = (found_).member)

#endif
