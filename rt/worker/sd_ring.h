/*
 * A bounded ring of pointers between two threads: one puts in, one takes out, in bursts.
 *
 * Each side keeps what it has last seen of the other's position, and looks again only when that says full or empty:
 * so a burst costs one exchange of a cache line and not one for each pointer (Lamport's queue; the cached positions are
 * those of FastForward and its successors). Positions only grow; a slot is a position's low bits.
 *
 * Invariant: 0 <= produced - consumed <= capacity, in the arithmetic of 32 bits.
 */
#ifndef SD_RING_H
#define SD_RING_H

#include "base/sd_base.h"

#include <stdlib.h>

struct sd_ring {
    void **slots;
    /* A power of two. */
    uint32_t capacity;
    struct {
        uint32_t produced;
        uint32_t consumed_seen;
    } producer __attribute__((aligned(SD_LINE_BYTES)));
    struct {
        uint32_t consumed;
        uint32_t produced_seen;
    } consumer __attribute__((aligned(SD_LINE_BYTES)));
};

/* Makes a ring with at least this capacity; false when memory is short. */
SD_LOCAL bool sd_ring_init(struct sd_ring *r, uint32_t capacity)
{
    memset(r, 0, sizeof *r);
    r->capacity = 1;
    while (r->capacity < capacity)
        r->capacity *= 2;
    r->slots = calloc(r->capacity, sizeof *r->slots);
    return r->slots != NULL;
}

SD_LOCAL void sd_ring_free(struct sd_ring *r)
{
    free(r->slots);
    r->slots = NULL;
}

/* Pushes the first of `n` items, as many as fit; returns their number. For the producer only. */
SD_INLINE uint32_t sd_ring_push(struct sd_ring *r, void *const *items, uint32_t n)
{
    uint32_t produced = r->producer.produced;
    uint32_t room = r->capacity - (produced - r->producer.consumed_seen);
    if (SD_UNLIKELY(room < n)) {
        r->producer.consumed_seen = __atomic_load_n(&r->consumer.consumed, __ATOMIC_ACQUIRE);
        room = r->capacity - (produced - r->producer.consumed_seen);
        n = n < room ? n : room;
    }
    uint32_t at = produced & (r->capacity - 1);
    uint32_t n_first = n < r->capacity - at ? n : r->capacity - at;
    memcpy(r->slots + at, items, n_first * sizeof *items);
    memcpy(r->slots, items + n_first, (n - n_first) * sizeof *items);
    if (n > 0)
        __atomic_store_n(&r->producer.produced, produced + n, __ATOMIC_RELEASE);
    return n;
}

/* Pops up to `n` items in order; returns their number. For the consumer only. */
SD_INLINE uint32_t sd_ring_pop(struct sd_ring *r, void **items, uint32_t n)
{
    uint32_t consumed = r->consumer.consumed;
    uint32_t ready = r->consumer.produced_seen - consumed;
    if (ready < n) {
        r->consumer.produced_seen = __atomic_load_n(&r->producer.produced, __ATOMIC_ACQUIRE);
        ready = r->consumer.produced_seen - consumed;
        n = n < ready ? n : ready;
    }
    uint32_t at = consumed & (r->capacity - 1);
    uint32_t n_first = n < r->capacity - at ? n : r->capacity - at;
    memcpy(items, r->slots + at, n_first * sizeof *items);
    memcpy(items + n_first, r->slots, (n - n_first) * sizeof *items);
    if (n > 0)
        __atomic_store_n(&r->consumer.consumed, consumed + n, __ATOMIC_RELEASE);
    return n;
}

/* How many are in it, at some moment of the call. Anybody. */
SD_INLINE uint32_t sd_ring_length(const struct sd_ring *r)
{
    uint32_t consumed = __atomic_load_n(&r->consumer.consumed, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&r->producer.produced, __ATOMIC_ACQUIRE) - consumed;
}

#endif
