/*
 * Asynchronous blocks: a packet is suspended while another core runs its block; the worker runs other packets meanwhile.
 *
 * A block that the program marks `@async` is a suspension point, see sd_burst.h. Its packets suspend until an offload
 * worker has run the block: another worker of the same instance, on a core of its own. Saved state is stored at the
 * beginning of the packet's own buffer, in the headroom: struct sd_suspended, and behind it a struct of generated code. Its
 * address goes through a ring to the offload worker, which runs the block on packet and context, and back through another
 * ring. No stack is kept, nothing is allocated, no byte of the packet is copied.
 *
 *     worker           p4x_process runs up to the block, then sd_async_send;
 *                      p4x_resume calls sd_async_receive and continues behind the block
 *     offload worker   p4x_serve runs the blocks of received packets; if each of them calls one extern, it runs all packets
 *                      up to the call, makes the calls as a batch, and continues behind the call
 *
 * For each point a worker has a channel, which is two rings, to an offload worker. struct sd_offload_policy decides whether
 * packets are offloaded, waited for or run inline, and how many may be in flight.
 *
 * Owns: channels, policies, the context's head. Invariant: a packet is in one place at a time (at its worker, in a ring, or
 * at its offload worker), and only that place accesses its buffer.
 */
#ifndef SD_ASYNC_H
#define SD_ASYNC_H

#include <sched.h>
#include <time.h>

#include "worker/sd_async_choice.h"
#include "worker/sd_burst.h"
#include "worker/sd_ring.h"

/* Packets that are sent, served or received at once. */
#define SD_ASYNC_BURST 32u

/* Polls of a waiting worker before it yields its core. */
#define SD_ASYNC_SPINS 2048u

/* Contexts begin at a multiple of this. */
#define SD_ASYNC_ALIGN SD_SUSPENDED_ALIGN

/* Maximum wait in nanoseconds; then the worker continues with other packets, because the offload worker may hang. */
#define SD_ASYNC_PATIENCE_NS UINT64_C(100000000)

/* Head of a suspended packet's context, at the beginning of its buffer. The program's saved state follows, and behind it
   struct sd_requests if the program uses it. */
struct sd_suspended {
    struct sd_packet packet;
    /* Arrival of its burst, in cycles (sd_cycles). */
    uint64_t since;
    uint32_t point;
    /* The result of the block (enum sd_end). */
    uint32_t end;
    uint32_t steps_left;
    /* Bytes of the headroom taken by the context. */
    uint32_t n_taken;
    /* `flags` of struct sd_requests. */
    uint32_t flags;
    uint32_t failed;
} __attribute__((aligned(SD_ASYNC_ALIGN)));

_Static_assert(offsetof(struct sd_suspended, point) == SD_SUSPENDED_POINT_AT, "the host looks there");

/* Bytes of a context in front of the saved state of the program. */
#define SD_ASYNC_HEAD_BYTES ((uint32_t)(sizeof(struct sd_suspended) + sizeof(struct sd_requests)))

struct sd_channel {
    struct sd_ring requests;
    struct sd_ring completions;
    /* Average cost of a block on the offload worker, which writes it for the worker. */
    uint32_t served_cycles __attribute__((aligned(SD_LINE_BYTES)));
};

/*
 * Worker state saved with a suspended packet, only what the program uses: steps left (programs with loops), requests, and
 * failed buffers. Generated code passes constants.
 */
enum sd_save_flags { SD_SAVE_STEPS = 1, SD_SAVE_REQUESTS = 2, SD_SAVE_FAILED = 4 };

/* --- At the worker --- */

enum { SD_OFFLOAD_INLINE, SD_OFFLOAD_REMOTE, SD_OFFLOAD_DROP };

/* Lets packets suspend from now on: a burst has arrived, or packets have come back. */
SD_INLINE void sd_async_enter(struct sd_worker *w)
{
    w->may_suspend = 1;
    w->burst_since = sd_cycles();
    w->trial_since = w->burst_since;
}

/* Decides where the block of this packet runs. */
SD_INLINE uint32_t sd_async_where(struct sd_worker *w, const struct sd_packet *p, uint32_t point, uint32_t context_bytes,
                                 uint32_t keeps)
{
    struct sd_offload_policy *way = &w->async_ways[point];
    if (!w->may_suspend || way->mode == SD_ASYNC_INLINE) {
        way->n_here++;
        sd_async_sample(w, way, way->n_here);
        return SD_OFFLOAD_INLINE;
    }
    uint64_t room = p->headroom_bytes;
    /* A packet with a digest stays: digests are in a buffer that the next burst empties. */
    bool fits = room >= SD_ASYNC_HEAD_BYTES + context_bytes + SD_ASYNC_ALIGN - 1 &&
                !((keeps & SD_SAVE_REQUESTS) && (w->requests.flags & SD_REQUEST_DIGEST));
    if (SD_UNLIKELY(!fits)) {
        way->n_no_room++;
        return SD_OFFLOAD_INLINE;
    }
    if (SD_UNLIKELY(way->n_in_flight >= way->capacity)) {
        if (way->full == SD_ASYNC_FULL_DROP && !way->choice.is_on) {
            way->n_dropped++;
            return SD_OFFLOAD_DROP;
        }
        way->n_full++;
        sd_async_sample(w, way, way->n_full);
        return SD_OFFLOAD_INLINE;
    }
    return SD_OFFLOAD_REMOTE;
}

/* Suspends the packet: allocates its context in the headroom. */
SD_INLINE void *sd_async_suspend(struct sd_worker *w, struct sd_packet *p, uint32_t point, uint32_t keeps)
{
    uint8_t *buffer = p->data - p->headroom_bytes;
    uint32_t skipped = (uint32_t)(-(uintptr_t)buffer & (SD_ASYNC_ALIGN - 1));
    struct sd_suspended *s = (struct sd_suspended *)(void *)(buffer + skipped);
    s->since = w->burst_since;
    s->point = point;
    s->end = SD_END_DONE;
    if (keeps & SD_SAVE_STEPS)
        s->steps_left = w->steps_left;
    s->n_taken = skipped;
    w->suspended = s;
    return s + 1;
}

/*
 * Saves struct sd_packet field by field: the fields have just been written one by one, and a processor cannot forward
 * several narrow stores in flight to a wide load.
 */
SD_INLINE void sd_async_copy(struct sd_packet *to, const struct sd_packet *from)
{
    to->data = from->data;
    to->length_bytes = from->length_bytes;
    to->headroom_bytes = from->headroom_bytes;
    to->tailroom_bytes = from->tailroom_bytes;
    to->ingress_port = from->ingress_port;
    to->cursor_bits = from->cursor_bits;
    to->egress_port = from->egress_port;
    to->arrived_ns = from->arrived_ns;
    to->token = from->token;
}

/* Second part, after generated code has written the `context_bytes` of the context. */
SD_INLINE uint32_t sd_async_suspended(struct sd_worker *w, struct sd_packet *p, uint32_t context_bytes, uint32_t keeps)
{
    struct sd_suspended *s = w->suspended;
    s->n_taken += SD_ASYNC_HEAD_BYTES + context_bytes;
    if (keeps & SD_SAVE_FAILED)
        s->failed = w->failed;
    if (keeps & SD_SAVE_REQUESTS) {
        s->flags = w->requests.flags;
        if (SD_UNLIKELY(s->flags))
            memcpy((uint8_t *)(s + 1) + context_bytes, &w->requests, sizeof w->requests);
    }
    p->headroom_bytes -= s->n_taken;
    sd_async_copy(&s->packet, p);
    p->verdict = SD_VERDICT_SUSPENDED;
    return SD_END_SUSPENDED + s->point;
}

SD_LOCAL void sd_async_flush(struct sd_worker *w)
{
    for (uint32_t point = 0; point < w->instance->pipeline->n_async; point++) {
        struct sd_offload_policy *way = &w->async_ways[point];
        uint32_t at = 0;
        if (way->n_waiting == 0)
            continue;
        /* The rings have room for all that may be under way. */
        while (at < way->n_waiting)
            at += sd_ring_push(&way->channel->requests, way->waiting + at, way->n_waiting - at);
        way->n_waiting = 0;
    }
}

SD_LOCAL void sd_async_look(struct sd_worker *w)
{
    w->n_bursts_until_look = SD_CHOICE_BURSTS;
    for (uint32_t point = 0; point < w->instance->pipeline->n_async; point++) {
        struct sd_offload_policy *way = &w->async_ways[point];
        bool is_tried = w->trial_phase != SD_TRIAL_NONE && w->trial_point == point;
        if (way->choice.is_on && way->channel && !is_tried)
            sd_choice_look(w, point, __atomic_load_n(&way->channel->served_cycles, __ATOMIC_RELAXED));
    }
}

/* A burst of `n_arrived` packets is over, or one of those that are back (0). */
SD_INLINE void sd_async_leave(struct sd_worker *w, uint32_t n_arrived)
{
    sd_async_flush(w);
    w->may_suspend = 0;
    if (SD_UNLIKELY(w->trial_phase != SD_TRIAL_NONE))
        sd_trial_note(w, n_arrived);
    if (n_arrived > 0 && SD_UNLIKELY(w->n_bursts_until_look-- == 0))
        sd_async_look(w);
}

SD_COLD uint64_t sd_monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Offloads the packet and waits for it. Returns false after a timeout: the packet is in flight then. */
SD_LOCAL bool sd_async_wait(struct sd_offload_policy *way, struct sd_suspended *s)
{
    void *item = s;
    uint64_t begin_ns = 0;
    s->since = sd_cycles();
    while (!sd_ring_push(&way->channel->requests, &item, 1))
        sd_relax();
    /* No other packet is in flight at this point, so the next completion is this packet. */
    for (uint32_t n = 1; !sd_ring_pop(&way->channel->completions, &item, 1); n++) {
        sd_relax();
        /* The offload worker may share this core. */
        if (n % SD_ASYNC_SPINS == 0) {
            sched_yield();
            uint64_t now_ns = sd_monotonic_ns();
            if (begin_ns == 0)
                begin_ns = now_ns;
            if (now_ns - begin_ns > SD_ASYNC_PATIENCE_NS)
                return false;
        }
    }
    way->n_waited++;
    return true;
}

/*
 * Sends the suspended packet to its offload worker. Returns true if it is back already, because the policy is to wait: then
 * the caller continues it at once.
 */
SD_INLINE bool sd_async_send(struct sd_worker *w)
{
    struct sd_suspended *s = w->suspended;
    struct sd_offload_policy *way = &w->async_ways[s->point];
    way->n_sent++;
    /* After a change of the policy to `wait`, packets in flight come back first. */
    if (way->mode == SD_ASYNC_WAIT && way->n_in_flight == 0) {
        if (sd_async_wait(way, s))
            return true;
        way->n_in_flight++;
        return false;
    }
    way->n_in_flight++;
    way->waiting[way->n_waiting++] = s;
    if (way->n_waiting == SD_ASYNC_BURST)
        sd_async_flush(w);
    return false;
}

/* Code of this packet is about to run here: the worker is as it was when the packet left. */
SD_INLINE void sd_async_take(struct sd_worker *w, const struct sd_suspended *s, uint32_t keeps)
{
    if (keeps & SD_SAVE_STEPS)
        w->steps_left = s->steps_left;
    if (keeps & SD_SAVE_FAILED)
        w->failed = s->failed;
    if (!(keeps & SD_SAVE_REQUESTS))
        return;
    w->requests.flags = s->flags;
    if (SD_UNLIKELY(s->flags)) {
        uint32_t context_bytes = w->instance->pipeline->asyncs[s->point].context_bytes;
        memcpy(&w->requests, (const uint8_t *)(s + 1) + context_bytes, sizeof w->requests);
    }
}

/* The packet is back: gives its context. */
SD_INLINE void *sd_async_back(struct sd_worker *w, struct sd_packet *p, struct sd_suspended *s, uint32_t keeps)
{
    sd_async_copy(p, &s->packet);
    p->headroom_bytes += s->n_taken;
    sd_async_take(w, s, keeps);
    if (keeps & SD_SAVE_REQUESTS)
        w->digests.length = 0;
    return s + 1;
}

/* `n` packets have waited so long. */
SD_INLINE void sd_async_note(struct sd_offload_policy *way, uint64_t cycles, uint32_t n)
{
    way->waited_cycles += cycles * n;
    way->waited[sd_log2_bucket(cycles)] += n;
}

/* Receives up to `n` packets whose blocks are done; returns their number. */
SD_LOCAL uint32_t sd_async_receive(struct sd_worker *w, void **done, uint32_t n)
{
    uint32_t n_back = 0;
    for (uint32_t point = 0; point < w->instance->pipeline->n_async && n_back < n; point++) {
        struct sd_offload_policy *way = &w->async_ways[point];
        if (way->n_in_flight == 0)
            continue;
        void **first = done + n_back;
        uint32_t n_point = sd_ring_pop(&way->channel->completions, first, n - n_back);
        if (n_point == 0)
            continue;
        /* Their contexts come from another core. */
        for (uint32_t i = 0; i < n_point; i++) {
            __builtin_prefetch(first[i]);
            __builtin_prefetch((uint8_t *)first[i] + SD_LINE_BYTES);
        }
        n_back += n_point;
        way->n_in_flight -= n_point;
        way->n_done += n_point;
        w->burst_since = sd_cycles();
        /* All packets of a burst were sent at one time. */
        uint64_t since = ((const struct sd_suspended *)first[0])->since;
        uint32_t n_same = 0;
        for (uint32_t i = 0; i < n_point; i++, n_same++) {
            uint64_t other = ((const struct sd_suspended *)first[i])->since;
            if (other != since) {
                sd_async_note(way, w->burst_since - since, n_same);
                since = other;
                n_same = 0;
            }
        }
        sd_async_note(way, w->burst_since - since, n_same);
    }
    return n_back;
}

/* --- At the offload worker --- */

/* Runs a block of one packet on its context, of generated code. */
typedef uint32_t (*sd_async_body)(struct sd_worker *, struct sd_packet *, uint32_t point, void *context);

/* Runs the blocks of up to SD_ASYNC_BURST packets and batches their calls of an extern. */
typedef void (*sd_async_bodies)(struct sd_worker *, uint32_t point, void *const *burst, uint32_t n);

/* Publishes the average cost of a block on this offload worker, for workers whose choice is on. */
SD_INLINE void sd_async_tell_cost(struct sd_channel *channel, uint64_t cycles)
{
    uint32_t average = __atomic_load_n(&channel->served_cycles, __ATOMIC_RELAXED);
    __atomic_store_n(&channel->served_cycles, sd_choice_average(average, cycles), __ATOMIC_RELAXED);
}

/* Blocks may ask for clones and the like. */
SD_COLD void sd_async_save_requests(struct sd_worker *w, struct sd_suspended *s)
{
    uint32_t context_bytes = w->instance->pipeline->asyncs[s->point].context_bytes;
    s->flags = w->requests.flags;
    memcpy((uint8_t *)(s + 1) + context_bytes, &w->requests, sizeof w->requests);
}

/* It has run, and the next is another packet's. */
SD_INLINE void sd_async_put(struct sd_worker *w, struct sd_suspended *s, uint32_t end, uint32_t keeps)
{
    s->end = end;
    if (keeps & SD_SAVE_STEPS)
        s->steps_left = w->steps_left;
    if (keeps & SD_SAVE_FAILED)
        s->failed = w->failed;
    if ((keeps & SD_SAVE_REQUESTS) && SD_UNLIKELY(w->requests.flags))
        sd_async_save_requests(w, s);
}

SD_INLINE void sd_async_serve_one(struct sd_worker *w, sd_async_body body, struct sd_suspended *s, uint32_t keeps)
{
    sd_async_take(w, s, keeps);
    sd_async_put(w, s, body(w, &s->packet, s->point, s + 1), keeps);
}

/* Bytes at the beginning of a packet that are asked for ahead: behind them processors see where it goes on. */
#define SD_ASYNC_FETCH_BYTES (4 * SD_LINE_BYTES)
/* Packets between the one that is asked for and the one that runs. */
#define SD_ASYNC_AHEAD 4u

/* Prefetches the bytes of a packet, which are about to be written; its context is in the cache. */
SD_INLINE void sd_async_fetch(const struct sd_suspended *s)
{
    const uint8_t *data = s->packet.data;
    uint32_t n = s->packet.length_bytes < SD_ASYNC_FETCH_BYTES ? s->packet.length_bytes : SD_ASYNC_FETCH_BYTES;
    for (uint32_t at = 0; at < n; at += SD_LINE_BYTES)
        __builtin_prefetch(data + at, 1);
}

/* The packets of one point. */
SD_INLINE void sd_async_serve_burst(struct sd_worker *w, sd_async_body body, sd_async_bodies bodies, uint32_t batch,
                                    void *const *burst, uint32_t n, uint32_t keeps)
{
    const uint32_t point = ((const struct sd_suspended *)burst[0])->point;
    const bool fetches = w->async_ways[point].fetches_packets, is_batched = bodies && batch > 1;
    /* All packets of a batch are prefetched before the first one runs. */
    uint32_t n_ahead = fetches ? SD_ASYNC_AHEAD + (is_batched ? batch : 0) : n;
    for (uint32_t i = 0; fetches && i < n_ahead && i < n; i++)
        sd_async_fetch(burst[i]);
    if (!is_batched) {
        for (uint32_t i = 0; i < n; i++) {
            if (SD_UNLIKELY(i + n_ahead < n))
                sd_async_fetch(burst[i + n_ahead]);
            sd_async_serve_one(w, body, burst[i], keeps);
        }
        return;
    }
    for (uint32_t i = 0; i < n; i += batch) {
        for (uint32_t at = i + n_ahead; at < n && at < i + n_ahead + batch; at++)
            sd_async_fetch(burst[at]);
        if (n - i > 1)
            bodies(w, point, burst + i, n - i < batch ? n - i : batch);
        else
            sd_async_serve_one(w, body, burst[i], keeps);
    }
}

/* Executes the calls of several packets in one batch. */
SD_INLINE void sd_async_call(struct sd_worker *w, uint32_t point, uint32_t call, struct sd_host_call *calls, uint32_t n)
{
    if (n == 0)
        return;
    struct sd_offload_policy *way = &w->async_ways[point];
    way->n_batches++;
    way->n_batched += n;
    w->host->call_batch(w->host->context, w, call, calls, n);
}

/* `body` is known where this is called, and becomes part of it; so is `bodies`, which is NULL where no block of the program
   has calls that can be made together. */
SD_ALWAYS_INLINE uint32_t sd_async_serve(struct sd_worker *w, sd_async_body body, sd_async_bodies bodies,
                                         struct sd_channel *const *channels, uint32_t n_channels, uint32_t keeps)
{
    uint32_t n_served = 0;
    for (uint32_t c = 0; c < n_channels; c++) {
        void *burst[SD_ASYNC_BURST];
        uint32_t n = sd_ring_pop(&channels[c]->requests, burst, SD_ASYNC_BURST);
        if (n == 0)
            continue;
        for (uint32_t i = 0; i < n; i++) {
            __builtin_prefetch(burst[i]);
            __builtin_prefetch((uint8_t *)burst[i] + SD_LINE_BYTES);
        }
        uint64_t begin = sd_cycles();
        uint32_t point = ((struct sd_suspended *)burst[0])->point;
        struct sd_offload_policy *way = &w->async_ways[point];
        sd_async_serve_burst(w, body, bodies, way->batch, burst, n, keeps);
        uint64_t cycles = sd_cycles() - begin;
        way->n_served += n;
        way->served_cycles += cycles;
        way->served[sd_log2_bucket(cycles / n)] += n;
        sd_async_tell_cost(channels[c], cycles / n);
        uint32_t at = 0;
        while (at < n)
            at += sd_ring_push(&channels[c]->completions, burst + at, n - at);
        n_served += n;
    }
    return n_served;
}

SD_LOCAL void sd_channel_destroy(struct sd_channel *channel)
{
    if (!channel)
        return;
    sd_ring_free(&channel->requests);
    sd_ring_free(&channel->completions);
    free(channel);
}

/* For at most so many packets under way; NULL when memory is short. */
SD_LOCAL struct sd_channel *sd_channel_create(uint32_t capacity)
{
    struct sd_channel *channel = sd_alloc_lines(1, sizeof *channel);
    if (!channel)
        return NULL;
    if (!sd_ring_init(&channel->requests, capacity) || !sd_ring_init(&channel->completions, capacity)) {
        sd_channel_destroy(channel);
        return NULL;
    }
    return channel;
}

#endif
