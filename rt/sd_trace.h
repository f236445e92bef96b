/*
 * What code compiled with -DSD_TRACE tells its host, step by step.
 *
 * Every point has the number of a place in the IR (see codegen's manifest: graph, node, statement or terminator);
 * the host knows from there what happened, and reads the values from the state. Without SD_TRACE all of it is
 * nothing.
 */
#ifndef SD_TRACE_H
#define SD_TRACE_H

#include "sd_abi.h"

enum sd_trace_kind {
    /* `point` is the position of the block. */
    SD_TRACE_BLOCK_ENTERED,
    SD_TRACE_BLOCK_LEFT,
    /* A node begins. */
    SD_TRACE_NODE,
    /* A statement is done. */
    SD_TRACE_STATEMENT,
    /* A terminator has chosen: `value` is the number of the successor, or whether it succeeded. */
    SD_TRACE_TERMINATOR,
    /* A table was looked up: `found` says how, `locals` has the key. */
    SD_TRACE_LOOKUP,
    SD_TRACE_CALL,
    SD_TRACE_RETURN
};

struct sd_found;

struct sd_trace_event {
    uint32_t kind;
    uint32_t point;
    uint64_t value;
    const struct sd_found *found;
    /* The variables of the block. */
    const void *locals;
};

#ifdef SD_TRACE
#define SD_TRACE_POINT(w, p, s, locals_, kind_, point_, value_, found_)                                     \
    do {                                                                                                    \
        if ((w)->host->trace) {                                                                             \
            struct sd_trace_event event_ = {(kind_), (point_), (value_), (found_), (locals_)};              \
            (w)->host->trace((w)->host->context, (w), (p), (s), &event_);                                   \
        }                                                                                                   \
    } while (0)
#else
#define SD_TRACE_POINT(w, p, s, locals_, kind_, point_, value_, found_) ((void)0)
#endif

#endif
