/*
 * Bursts in stages: packets are suspended while a table's memory is prefetched.
 *
 * Generated code runs each packet of a burst up to a table that exceeds the cache, prefetches, stores in the packet's context
 * what is read again, and takes the next packet; then the suspended packets resume, in the order of their arrival. Such a
 * place is a point. Contexts are an array of the worker, and the packets suspended at a point are a set of positions: nothing
 * is allocated, and there is no stack for each packet.
 *
 * Owns: the worker state saved with a suspended packet: requests, digests, and which buffers failed to grow.
 */
#ifndef SD_BURST_H
#define SD_BURST_H

#include "base/sd_buffer.h"
#include "worker/sd_store.h"
#include "table/sd_table.h"

/* Packets of a burst, as many as a set has bits. */
#define SD_BURST 64u

/*
 * Bound for programs whose state does not fit registers: their contexts have to stay in the cache, and each of their
 * stages takes longer than a cache miss.
 */
#define SD_BURST_LARGE 16u

/* Distance in packets at which the bytes of a packet are prefetched. */
#define SD_PREFETCH_PACKETS 6

/* Digests and emitted bytes of the packets of a burst. */
#define SD_SAVED_BYTES_MAX (1u << 30)

/* Result of one stage. */
enum sd_next {
    SD_NEXT_CONTINUE,
    /* The packet has a verdict. */
    SD_NEXT_DONE,
    /* The packet has a verdict and continues at the host. */
    SD_NEXT_PUNT,
    /* Needs the exception path, which makes no assumption about the headers. */
    SD_NEXT_EXCEPTION,
    /* Suspended at point 0; larger values are the points after it. */
    SD_NEXT_SUSPENDED
};

/* A block that suspends its packet returns this plus the number of the point. Beyond all values of enum sd_end. */
#define SD_END_SUSPENDED 0x20000u

/* Ends a packet on the fast path: enum sd_drop. */
SD_INLINE uint32_t sd_drop(struct sd_packet *p, uint32_t reason)
{
    p->verdict = SD_VERDICT_DROP;
    p->drop = reason;
    return SD_NEXT_DONE;
}

/* Drops a packet whose block has ended with `end`, an error of enum sd_end. */
SD_COLD uint32_t sd_drop_stopped(struct sd_packet *p, uint32_t end)
{
    return sd_drop(p, SD_DROP_STEP_BUDGET + (end - SD_END_STEP_BUDGET));
}

/* Drops a packet for which a buffer of the worker was too small. */
SD_COLD uint32_t sd_drop_too_long(struct sd_worker *w, struct sd_packet *p)
{
    w->failed = 0;
    return sd_drop(p, SD_DROP_TOO_LONG);
}

/* Leaves a packet to the host at a step: SD_AT_STEP. */
SD_INLINE uint32_t sd_punt_at_step(struct sd_packet *p, uint32_t at)
{
    p->verdict = SD_VERDICT_AT_STEP;
    p->drop = at;
    return SD_NEXT_PUNT;
}

/* The port is known to exist. Ports with large numbers may exist, too. */
SD_INLINE bool sd_has_port(const struct sd_worker *w, uint32_t port)
{
    return port < w->n_port_flags && w->port_flags[port] & SD_PORT_EXISTS;
}

/*
 * Runs packets one after the other, up to the first that is punted. Returns the number of packets that are done. `run` is a
 * constant, so the compiler makes it part of the loop.
 */
SD_ALWAYS_INLINE uint32_t sd_process_packets(struct sd_worker *w, struct sd_packet *packets, uint32_t n,
                                             uint32_t (*run)(struct sd_worker *, struct sd_packet *))
{
    struct sd_packet *const last = packets + n;
    const struct sd_packet *ahead = n > SD_PREFETCH_PACKETS ? packets + SD_PREFETCH_PACKETS : packets;
    for (struct sd_packet *p = packets; p < last; p++) {
        __builtin_prefetch(ahead->data);
        ahead = ahead + 1 < last ? ahead + 1 : ahead;
        if (SD_UNLIKELY(run(w, p) == SD_NEXT_PUNT))
            return (uint32_t)(p - packets) + 1;
    }
    return n;
}

/* Worker state saved with a suspended packet. */
struct sd_saved {
    struct sd_requests requests;
    uint32_t failed;
    /* Its digests or emitted bytes, in `worker->kept`. */
    uint32_t bytes_at;
    uint32_t n_bytes;
};

/* The burst runs in stages whatever the tables hold: the path says so, or the burst has begun so. */
SD_INLINE bool sd_burst_must_wait(const struct sd_worker *w)
{
    uint32_t path = w->instance->path;
    return w->n_burst_left || path == SD_PATH_BURSTS || path == SD_PATH_MIXED;
}

/* The burst runs in stages; packet by packet costs less while the tables fit the cache. */
SD_INLINE bool sd_burst_waits(const struct sd_worker *w, uint32_t n_points)
{
    const struct sd_instance *instance = w->instance;
    uint64_t n_cached_bytes_max = n_points * SD_CACHED_BYTES;
    return sd_burst_must_wait(w) || (instance->path == SD_PATH_AUTO &&
                                     __atomic_load_n(&instance->entries_bytes, __ATOMIC_RELAXED) > n_cached_bytes_max);
}

/* Variant of sd_burst_waits for large programs: true if any of `tables` exceeds the cache. */
SD_INLINE bool sd_burst_waits_for(const struct sd_worker *w, const uint16_t *tables, uint32_t n_tables)
{
    if (sd_burst_must_wait(w))
        return true;
    for (uint32_t i = 0; w->instance->path == SD_PATH_AUTO && i < n_tables; i++)
        if (sd_table_exceeds_cache(w, tables[i]))
            return true;
    return false;
}

SD_COLD void sd_save_bytes(struct sd_worker *w, struct sd_saved *kept, const struct sd_buffer *from, uint32_t flag)
{
    kept->bytes_at = w->kept.length;
    kept->n_bytes = 0;
    if (!sd_buffer_reserve(&w->kept, from->length, SD_SAVED_BYTES_MAX)) {
        kept->failed |= flag;
        return;
    }
    if (from->length > 0)
        memcpy(w->kept.bytes + w->kept.length, from->bytes, from->length);
    w->kept.length += from->length;
    kept->n_bytes = from->length;
}

SD_COLD void sd_restore_bytes(struct sd_worker *w, const struct sd_saved *kept, struct sd_buffer *to,
                                uint32_t flag)
{
    to->length = 0;
    if (!sd_buffer_reserve(to, kept->n_bytes, SD_SAVED_BYTES_MAX)) {
        w->failed |= flag;
        return;
    }
    if (kept->n_bytes > 0)
        memcpy(to->bytes, w->kept.bytes + kept->bytes_at, kept->n_bytes);
    to->length = kept->n_bytes;
}

/* Saves the worker state when a packet is suspended. */
SD_INLINE void sd_save(struct sd_worker *w, struct sd_saved *kept)
{
    kept->requests.flags = w->requests.flags;
    kept->failed = w->failed;
    if (SD_UNLIKELY(w->requests.flags)) {
        kept->requests = w->requests;
        if (w->requests.flags & SD_REQUEST_DIGEST)
            sd_save_bytes(w, kept, &w->digests, SD_FAILED_DIGEST);
    }
}

/* Restores the worker state when a packet resumes. */
SD_INLINE void sd_restore(struct sd_worker *w, const struct sd_saved *kept)
{
    w->requests.flags = kept->requests.flags;
    w->failed = kept->failed;
    w->digests.length = 0;
    if (SD_UNLIKELY(kept->requests.flags)) {
        w->requests = kept->requests;
        if (kept->requests.flags & SD_REQUEST_DIGEST)
            sd_restore_bytes(w, kept, &w->digests, SD_FAILED_DIGEST);
    }
}

/* Punts a packet: the host gets it after the packets before it. */
SD_COLD uint32_t sd_punt(struct sd_worker *w, const struct sd_packet *p, struct sd_saved *kept, void *to,
                          const void *state, size_t state_bytes)
{
    sd_save(w, kept);
    if (p->verdict == SD_VERDICT_NO_HEADROOM)
        sd_save_bytes(w, kept, &w->emitted, SD_FAILED_EMIT);
    else if (state_bytes)
        memcpy(to, state, state_bytes);
    return SD_NEXT_PUNT;
}

/*
 * Runs the packets of the set `exceptions`, each from its arrival to its verdict. Returns the set of those that are punted. The
 * host gets their state from `states`; without states `state_bytes` is 0.
 */
SD_COLD uint64_t sd_burst_run_exceptions(struct sd_worker *w, struct sd_packet *burst, uint64_t exceptions,
                                         uint32_t (*run)(struct sd_worker *, struct sd_packet *),
                                         struct sd_saved *kept, void *states, size_t state_bytes)
{
    uint64_t punted = 0;
    for (; exceptions; exceptions &= exceptions - 1) {
        const uint32_t i = (uint32_t)__builtin_ctzll(exceptions);
        if (run(w, &burst[i]) == SD_NEXT_PUNT) {
            void *to = state_bytes ? (uint8_t *)states + i * state_bytes : NULL;
            sd_punt(w, &burst[i], &kept[i], to, w->state, state_bytes);
            punted |= UINT64_C(1) << i;
        }
    }
    return punted;
}

/*
 * Gives the host the next punted packet; false when none is left. `n_done` is how many packets of the burst are done
 * by then.
 */
SD_LOCAL bool sd_burst_hand_over(struct sd_worker *w, struct sd_packet *packets, uint32_t n,
                                         const struct sd_saved *kept, const void *states, size_t state_bytes,
                                         uint32_t *n_done)
{
    uint32_t n_left = w->n_burst_left < n ? w->n_burst_left : n;
    uint32_t first = w->leaving ? (uint32_t)__builtin_ctzll(w->leaving) : SD_BURST;
    if (first - w->burst_at >= n_left) {
        *n_done = n_left;
        w->n_burst_left = 0;
        w->leaving = 0;
        return false;
    }
    struct sd_packet *p = &packets[first - w->burst_at];
    *n_done = first - w->burst_at + 1;
    w->leaving &= w->leaving - 1;
    w->burst_at = first + 1;
    w->n_burst_left -= *n_done;
    sd_restore(w, &kept[first]);
    if (p->verdict == SD_VERDICT_NO_HEADROOM)
        sd_restore_bytes(w, &kept[first], &w->emitted, SD_FAILED_EMIT);
    else if (state_bytes)
        memcpy(w->state, (const uint8_t *)states + first * state_bytes, state_bytes);
    if (SD_UNLIKELY(w->failed)) {
        w->failed = 0;
        p->verdict = SD_VERDICT_DROP;
        p->drop = SD_DROP_TOO_LONG;
    }
    return true;
}

/* Begins to hand the set `punted` of a burst to the host. Returns how many packets are done up to the first of them. */
SD_LOCAL uint32_t sd_burst_punt(struct sd_worker *w, struct sd_packet *burst, uint32_t n_burst, uint64_t punted,
                                const struct sd_saved *kept, const void *states, size_t state_bytes)
{
    uint32_t n_handed;
    w->leaving = punted;
    w->burst_at = 0;
    w->n_burst_left = n_burst;
    sd_burst_hand_over(w, burst, n_burst, kept, states, state_bytes, &n_handed);
    return n_handed;
}

#endif
