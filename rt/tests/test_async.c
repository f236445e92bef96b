/*
 * Asynchronous blocks: rings between two threads, and packets that go to offload workers and come back, as generated code
 * sends and serves them. On threads of their own, for ThreadSanitizer and AddressSanitizer to watch.
 */
#include <pthread.h>
#include <unistd.h>

#include "check.h"
#include "worker/sd_async.h"

/* Nothing to do: the other thread may want this core. Who yields on a busy machine may wait for long, who sleeps not. */
static void rest(uint32_t *n_idle)
{
    if (++*n_idle % 256 == 0)
        usleep(20);
    else
        sd_relax();
}

/* Packets take along whatever they can. */
enum { KEEPS = SD_SAVE_STEPS | SD_SAVE_REQUESTS | SD_SAVE_FAILED };

/* --- Rings --- */

enum { N_ITEMS = 50000, BURST_MAX = 100 };

struct ring_test {
    struct sd_ring ring;
    uint64_t state;
};

static void *produce(void *context)
{
    struct ring_test *t = context;
    uint64_t next = 1;
    uint32_t n_idle = 0;
    while (next <= N_ITEMS) {
        void *burst[BURST_MAX];
        uint32_t n = (uint32_t)(check_random(&t->state) % (BURST_MAX + 1));
        if (n > N_ITEMS + 1 - next)
            n = (uint32_t)(N_ITEMS + 1 - next);
        for (uint32_t i = 0; i < n; i++)
            burst[i] = (void *)(uintptr_t)(next + i);
        uint32_t n_in = sd_ring_push(&t->ring, burst, n);
        CHECK(n_in <= n);
        next += n_in;
        if (n_in == 0)
            rest(&n_idle);
    }
    return NULL;
}

/* All items arrive, in order, whatever the sizes of bursts and of the ring. */
static void test_ring(uint32_t capacity)
{
    struct ring_test t = {.state = capacity};
    CHECK(sd_ring_init(&t.ring, capacity) && t.ring.capacity >= capacity);
    CHECK(sd_ring_length(&t.ring) == 0);
    pthread_t producer;
    CHECK(pthread_create(&producer, NULL, produce, &t) == 0);
    uint64_t next = 1, state = capacity + 1;
    uint32_t n_idle = 0;
    while (next <= N_ITEMS) {
        void *burst[BURST_MAX];
        uint32_t n = (uint32_t)(check_random(&state) % (BURST_MAX + 1));
        uint32_t n_out = sd_ring_pop(&t.ring, burst, n);
        CHECK(n_out <= n && sd_ring_length(&t.ring) <= t.ring.capacity);
        for (uint32_t i = 0; i < n_out; i++)
            CHECK((uintptr_t)burst[i] == next + i);
        next += n_out;
        if (n_out == 0)
            rest(&n_idle);
    }
    pthread_join(producer, NULL);
    CHECK(sd_ring_length(&t.ring) == 0);
    sd_ring_free(&t.ring);
}

/* Never more than fit, and positions that overflow their 32 bits. */
static void test_ring_bounds(void)
{
    struct sd_ring ring;
    CHECK(sd_ring_init(&ring, 3) && ring.capacity == 4);
    ring.producer.produced = ring.producer.consumed_seen = UINT32_MAX - 5;
    ring.consumer.consumed = ring.consumer.produced_seen = UINT32_MAX - 5;
    uintptr_t put = 0, got = 0;
    for (int round = 0; round < 10; round++) {
        void *six[6];
        for (uintptr_t i = 0; i < 6; i++)
            six[i] = (void *)(put + i);
        CHECK(sd_ring_push(&ring, six, 6) == (round == 0 ? 4 : 3));
        put += round == 0 ? 4 : 3;
        CHECK(sd_ring_push(&ring, six, 6) == 0 && sd_ring_length(&ring) == 4);
        CHECK(sd_ring_pop(&ring, six, 3) == 3);
        for (uintptr_t i = 0; i < 3; i++)
            CHECK(six[i] == (void *)(got + i));
        got += 3;
    }
    sd_ring_free(&ring);
}

/* --- Packets --- */

enum {
    N_POINTS = 2,
    N_WORKERS_MAX = 2,
    N_OFFLOAD_WORKERS_MAX = 2,
    N_CHANNELS_MAX = N_POINTS * N_WORKERS_MAX,
    N_BUFFERS = 300,
    N_PACKETS = 6000,
    HEADROOM = 256,
    BYTES_MAX = 100,
    BUFFER_BYTES = HEADROOM + BYTES_MAX
};

/* What a packet keeps: of generated code, the variables that are read again. */
struct context {
    uint64_t value;
    uint64_t kept;
};

struct buffer {
    uint8_t bytes[BUFFER_BYTES] __attribute__((aligned(SD_LINE_BYTES)));
};

/* What a packet has to be like when it is back. */
struct model {
    struct sd_packet packet;
    uint64_t seed;
    uint32_t point;
    uint32_t flags;
    bool is_away;
};

struct worker {
    struct sd_worker w;
    struct sd_offload_policy ways[N_POINTS];
    struct buffer *buffers;
    struct model models[N_BUFFERS];
    uint32_t free[N_BUFFERS];
    uint32_t n_free;
    pthread_t thread;
    uint64_t random;
    uint64_t n_packets;
    uint64_t n_ended;
    uint64_t n_here;
    uint64_t n_dropped;
    uint32_t n_idle;
    bool changes_modes;
    bool is_left_alone;
};

struct offload_worker {
    struct sd_worker w;
    struct sd_offload_policy ways[N_POINTS];
    struct sd_channel *channels[N_CHANNELS_MAX];
    uint32_t n_channels;
    pthread_t thread;
    /* Ends when it has served so many. */
    uint64_t n_wanted;
    uint64_t n_served;
    struct sd_host host;
    uint64_t n_called;
    bool stop;
};

struct lab {
    struct sd_pipeline pipeline;
    struct sd_instance instance;
    struct worker workers[N_WORKERS_MAX];
    struct offload_worker offload_workers[N_OFFLOAD_WORKERS_MAX];
    uint32_t n_workers;
    uint32_t n_offload_workers;
};

static uint64_t mix(uint64_t value, uint32_t point)
{
    return (value ^ point) * UINT64_C(0x9e3779b97f4a7c15) + (value >> 7);
}

/* The block of a point: changes all bytes, reads and writes the context, may shorten the packet. */
static uint32_t block(struct sd_worker *w, struct sd_packet *p, uint32_t point, void *context)
{
    struct context *c = context;
    for (uint32_t i = 0; i < p->length_bytes; i++)
        p->data[i] ^= (uint8_t)(c->value >> i % 8);
    if (c->value % 3 == 0 && p->length_bytes > 1) {
        p->length_bytes--;
        p->tailroom_bytes++;
    }
    c->value = mix(c->value, point);
    w->steps_left -= 5;
    if (c->value % 16 == 0)
        w->failed |= SD_FAILED_EMIT;
    return c->value % 7 == 0 ? SD_END_STEP_BUDGET : SD_END_DONE;
}

/* The host's part of the same: the calls of several packets. */
static void mix_all(void *context, struct sd_worker *w, uint32_t call, struct sd_host_call *calls, uint32_t n)
{
    CHECK(n > 0 && n <= w->async_ways[call].batch);
    *(uint64_t *)context += n;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t value;
        memcpy(&value, calls[i].args, sizeof value);
        value = mix(value, call);
        memcpy(calls[i].args, &value, sizeof value);
        calls[i].end = value % 7 == 0 ? SD_END_STEP_BUDGET : SD_END_DONE;
    }
}

/* The same block, of several packets: its value is mixed by a call that all of them make together. */
static void blocks(struct sd_worker *w, uint32_t point, void *const *burst, uint32_t n)
{
    struct sd_host_call calls[SD_ASYNC_BURST];
    CHECK(n > 1 && n <= w->async_ways[point].batch);
    for (uint32_t i = 0; i < n; i++) {
        struct sd_suspended *s = burst[i];
        struct sd_packet *p = &s->packet;
        struct context *c = (struct context *)(s + 1);
        CHECK(s->point == point);
        sd_async_take(w, s, KEEPS);
        for (uint32_t k = 0; k < p->length_bytes; k++)
            p->data[k] ^= (uint8_t)(c->value >> k % 8);
        if (c->value % 3 == 0 && p->length_bytes > 1) {
            p->length_bytes--;
            p->tailroom_bytes++;
        }
        w->steps_left -= 2;
        sd_async_put(w, s, SD_END_DONE, KEEPS);
        calls[i].packet = p;
        calls[i].args = (uint8_t *)&c->value;
    }
    sd_async_call(w, point, point, calls, n);
    for (uint32_t i = 0; i < n; i++) {
        struct sd_suspended *s = burst[i];
        const struct context *c = (const struct context *)(s + 1);
        sd_async_take(w, s, KEEPS);
        w->steps_left -= 3;
        if (c->value % 16 == 0)
            w->failed |= SD_FAILED_EMIT;
        sd_async_put(w, s, calls[i].end, KEEPS);
    }
}

static void *execute(void *context)
{
    struct offload_worker *e = context;
    uint32_t n_idle = 0;
    while (!__atomic_load_n(&e->stop, __ATOMIC_ACQUIRE) && e->n_served < e->n_wanted) {
        uint32_t n = sd_async_serve(&e->w, block, blocks, e->channels, e->n_channels, KEEPS);
        e->n_served += n;
        if (n == 0)
            rest(&n_idle);
    }
    return NULL;
}

static uint8_t byte_at(uint64_t seed, uint32_t i)
{
    return (uint8_t)(seed >> i % 57) ^ (uint8_t)(i * 31);
}

/* Everything is as it was before, but for what the block has done. */
static void check_ended(struct worker *k, const struct sd_packet *p, const struct context *c, uint32_t end)
{
    struct model *m = &k->models[p->token];
    bool is_shorter = m->seed % 3 == 0 && m->packet.length_bytes > 1;
    uint64_t value = mix(m->seed, m->point);
    CHECK(c->value == value && c->kept == ~m->seed);
    CHECK(end == (value % 7 == 0 ? SD_END_STEP_BUDGET : SD_END_DONE));
    CHECK(p->data == m->packet.data && p->headroom_bytes == m->packet.headroom_bytes);
    CHECK(p->length_bytes == m->packet.length_bytes - is_shorter);
    CHECK(p->tailroom_bytes == m->packet.tailroom_bytes + is_shorter);
    CHECK(p->ingress_port == m->packet.ingress_port && p->arrived_ns == m->packet.arrived_ns);
    CHECK(k->w.requests.flags == m->flags);
    CHECK(k->w.failed == (value % 16 == 0 ? SD_FAILED_EMIT : 0));
    CHECK(k->w.steps_left == m->packet.arrived_ns % 100 + 5);
    for (uint32_t i = 0; i < p->length_bytes; i++)
        CHECK(p->data[i] == (byte_at(m->seed, i) ^ (uint8_t)(m->seed >> i % 8)));
    m->is_away = false;
    k->free[k->n_free++] = (uint32_t)p->token;
    k->n_ended++;
}

static void receive(struct worker *k)
{
    void *back[SD_ASYNC_BURST];
    uint32_t n_max = (uint32_t)(check_random(&k->random) % SD_ASYNC_BURST) + 1;
    uint32_t n = sd_async_receive(&k->w, back, n_max);
    CHECK(n <= n_max);
    for (uint32_t i = 0; i < n; i++) {
        struct sd_suspended *s = back[i];
        struct sd_packet p;
        const struct context *c = sd_async_back(&k->w, &p, s, KEEPS);
        CHECK(p.token < N_BUFFERS && k->models[p.token].is_away && k->models[p.token].point == s->point);
        check_ended(k, &p, c, s->end);
    }
    if (n == 0)
        rest(&k->n_idle);
}

static void send(struct worker *k)
{
    uint32_t slot = k->free[--k->n_free];
    struct model *m = &k->models[slot];
    uint64_t seed = check_random(&k->random);
    uint32_t point = (uint32_t)(seed >> 40) % N_POINTS, length = (uint32_t)(seed >> 32) % BYTES_MAX + 1;
    /* Some have no room for a context. */
    uint32_t headroom = seed >> 50 & 15 ? HEADROOM : 40;
    struct sd_packet p = {
        .data = k->buffers[slot].bytes + headroom,
        .length_bytes = length,
        .headroom_bytes = headroom,
        .tailroom_bytes = BUFFER_BYTES - headroom - length,
        .ingress_port = (uint32_t)seed & 7,
        .arrived_ns = seed >> 3,
        .token = slot,
    };
    for (uint32_t i = 0; i < length; i++)
        p.data[i] = byte_at(seed, i);
    k->w.requests.flags = seed >> 20 & 1 ? SD_REQUEST_TRUNCATE : 0;
    k->w.failed = 0;
    k->w.steps_left = (uint32_t)(p.arrived_ns % 100) + 10;
    *m = (struct model){.packet = p, .seed = seed, .point = point, .flags = k->w.requests.flags};
    k->n_packets++;
    struct context here = {.value = seed, .kept = ~seed};
    switch (sd_async_where(&k->w, &p, point, sizeof here, KEEPS)) {
    case SD_OFFLOAD_INLINE:
        k->n_here++;
        check_ended(k, &p, &here, block(&k->w, &p, point, &here));
        return;
    case SD_OFFLOAD_DROP:
        k->n_dropped++;
        k->n_ended++;
        k->free[k->n_free++] = slot;
        return;
    default:
        *(struct context *)sd_async_suspend(&k->w, &p, point, KEEPS) = here;
        CHECK(sd_async_suspended(&k->w, &p, sizeof here, KEEPS) == SD_END_SUSPENDED + point);
        CHECK(p.verdict == SD_VERDICT_SUSPENDED);
        m->is_away = true;
    }
    struct sd_suspended *s = k->w.suspended;
    if (sd_async_send(&k->w)) {
        const struct context *c = sd_async_back(&k->w, &p, s, KEEPS);
        check_ended(k, &p, c, s->end);
    }
}

static uint64_t n_in_flight(const struct worker *k)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < N_POINTS; i++)
        n += k->ways[i].n_in_flight;
    return n;
}

static void *work(void *context)
{
    struct worker *k = context;
    while (k->n_packets < N_PACKETS) {
        k->w.may_suspend = 1;
        /* Mostly hold back the sender, so that few packets exceed the capacity. */
        bool is_full = false;
        for (uint32_t i = 0; i < N_POINTS; i++)
            is_full |= k->ways[i].n_in_flight >= k->ways[i].capacity;
        uint64_t n = is_full && check_random(&k->random) % 1024 ? 0 : check_random(&k->random) % 64;
        for (uint64_t i = 0; i < n && k->n_free > 0; i++)
            send(k);
        sd_async_flush(&k->w);
        k->w.may_suspend = 0;
        for (uint32_t i = 0; k->changes_modes && i < N_POINTS; i++)
            if (check_random(&k->random) % 16 == 0) {
                k->ways[i].mode = (uint32_t)(check_random(&k->random) % 3);
                k->ways[i].full = (uint32_t)(check_random(&k->random) % 2);
            }
        receive(k);
        CHECK(k->n_packets == k->n_ended + n_in_flight(k));
        if (k->is_left_alone && n_in_flight(k) > 20)
            return NULL;
    }
    while (n_in_flight(k) > 0)
        receive(k);
    return NULL;
}

/* Worker i's block j goes to offload worker i + j. */
static struct lab *lab_new(uint32_t n_workers, uint32_t n_offload_workers, uint32_t capacity)
{
    struct lab *lab = sd_alloc_lines(1, sizeof *lab);
    CHECK(lab);
    lab->n_workers = n_workers;
    lab->n_offload_workers = n_offload_workers;
    static const struct sd_async_type types[N_POINTS] = {
        {"first", "", sizeof(struct context), SD_ASYNC_HEAD_BYTES, UINT32_MAX, 0},
        {"second", "", sizeof(struct context), SD_ASYNC_HEAD_BYTES, 1, 0},
    };
    lab->pipeline.n_async = N_POINTS;
    lab->pipeline.asyncs = types;
    lab->instance.pipeline = &lab->pipeline;
    for (uint32_t i = 0; i < n_offload_workers; i++) {
        struct offload_worker *e = &lab->offload_workers[i];
        e->w.instance = &lab->instance;
        e->w.async_ways = e->ways;
        e->ways[1].batch = 7;
        e->host = (struct sd_host){.context = &e->n_called, .call_batch = mix_all};
        e->w.host = &e->host;
        e->n_wanted = UINT64_MAX;
    }
    for (uint32_t i = 0; i < n_workers; i++) {
        struct worker *k = &lab->workers[i];
        k->w.instance = &lab->instance;
        k->w.async_ways = k->ways;
        k->random = i + 1000 * capacity;
        k->buffers = sd_alloc_lines(N_BUFFERS, sizeof *k->buffers);
        CHECK(k->buffers);
        for (k->n_free = 0; k->n_free < N_BUFFERS; k->n_free++)
            k->free[k->n_free] = k->n_free;
        for (uint32_t j = 0; j < N_POINTS; j++) {
            struct offload_worker *e = &lab->offload_workers[(i + j) % n_offload_workers];
            struct sd_channel *channel = sd_channel_create(capacity);
            CHECK(channel);
            e->channels[e->n_channels++] = channel;
            k->ways[j] = (struct sd_offload_policy){
                .channel = channel,
                .mode = SD_ASYNC_SUSPEND,
                .full = SD_ASYNC_FULL_INLINE,
                .capacity = capacity,
            };
        }
    }
    return lab;
}

static void start_offload_worker(struct offload_worker *e)
{
    __atomic_store_n(&e->stop, false, __ATOMIC_RELAXED);
    CHECK(pthread_create(&e->thread, NULL, execute, e) == 0);
}

static void stop_offload_worker(struct offload_worker *e)
{
    __atomic_store_n(&e->stop, true, __ATOMIC_RELEASE);
    pthread_join(e->thread, NULL);
}

static void start_workers(struct lab *lab)
{
    for (uint32_t i = 0; i < lab->n_workers; i++)
        CHECK(pthread_create(&lab->workers[i].thread, NULL, work, &lab->workers[i]) == 0);
}

static void join_workers(struct lab *lab)
{
    for (uint32_t i = 0; i < lab->n_workers; i++)
        pthread_join(lab->workers[i].thread, NULL);
}

static uint64_t n_batched_of_all;

/* What both sides have counted adds up; all threads have ended. */
static void check_counts(const struct lab *lab)
{
    uint64_t n_served = 0, n_back = 0, n_served_cycles = 0;
    for (uint32_t i = 0; i < lab->n_workers; i++) {
        const struct worker *k = &lab->workers[i];
        uint64_t n_here = 0, n_sent = 0, n_dropped = 0, n_waited = 0;
        for (uint32_t j = 0; j < N_POINTS; j++) {
            const struct sd_offload_policy *way = &k->ways[j];
            uint64_t n_timed = 0;
            for (uint32_t b = 0; b < SD_ASYNC_BUCKETS; b++)
                n_timed += way->waited[b];
            CHECK(n_timed == way->n_done && way->n_waiting == 0);
            CHECK(way->n_sent == way->n_done + way->n_waited + way->n_in_flight);
            n_here += way->n_here + way->n_no_room + way->n_full;
            n_sent += way->n_sent;
            n_dropped += way->n_dropped;
            n_waited += way->n_waited;
            n_back += way->n_done + way->n_waited;
        }
        CHECK(n_here == k->n_here && n_dropped == k->n_dropped);
        CHECK(k->n_packets == n_here + n_sent + n_dropped);
        CHECK(k->changes_modes || n_waited == 0);
    }
    for (uint32_t i = 0; i < lab->n_offload_workers; i++) {
        const struct offload_worker *e = &lab->offload_workers[i];
        uint64_t n = 0, n_timed = 0;
        for (uint32_t j = 0; j < N_POINTS; j++) {
            n += e->ways[j].n_served;
            n_served_cycles += e->ways[j].served_cycles;
            for (uint32_t b = 0; b < SD_ASYNC_BUCKETS; b++)
                n_timed += e->ways[j].served[b];
        }
        CHECK(n == e->n_served && n_timed == n);
        CHECK(e->ways[0].n_batched == 0 && e->ways[1].n_batched == e->n_called);
        CHECK(e->ways[1].n_batched >= 2 * e->ways[1].n_batches && e->n_called <= e->ways[1].n_served);
        n_batched_of_all += e->n_called;
        n_served += n;
    }
    CHECK(n_served >= n_back && (n_back == 0 || n_served_cycles > 0));
}

static void lab_free(struct lab *lab)
{
    for (uint32_t i = 0; i < lab->n_offload_workers; i++)
        for (uint32_t j = 0; j < lab->offload_workers[i].n_channels; j++)
            sd_channel_destroy(lab->offload_workers[i].channels[j]);
    for (uint32_t i = 0; i < lab->n_workers; i++)
        free(lab->workers[i].buffers);
    free(lab);
}

/* All packets come back as they should, to whom they belong. */
static void test_packets(uint32_t n_workers, uint32_t n_offload_workers, uint32_t capacity, bool changes_modes)
{
    struct lab *lab = lab_new(n_workers, n_offload_workers, capacity);
    for (uint32_t i = 0; i < n_workers; i++)
        lab->workers[i].changes_modes = changes_modes;
    for (uint32_t i = 0; i < n_offload_workers; i++)
        start_offload_worker(&lab->offload_workers[i]);
    start_workers(lab);
    join_workers(lab);
    for (uint32_t i = 0; i < n_offload_workers; i++)
        stop_offload_worker(&lab->offload_workers[i]);
    check_counts(lab);
    for (uint32_t i = 0; i < n_workers; i++)
        CHECK(lab->workers[i].n_ended == lab->workers[i].n_packets && n_in_flight(&lab->workers[i]) == 0);
    lab_free(lab);
}

/* An offload worker ends with packets in its rings, and another thread serves them. */
static void test_successor(void)
{
    struct lab *lab = lab_new(2, 1, 100);
    struct offload_worker *e = &lab->offload_workers[0];
    start_workers(lab);
    for (int i = 0; i < 20; i++) {
        start_offload_worker(e);
        usleep(100);
        stop_offload_worker(e);
    }
    start_offload_worker(e);
    join_workers(lab);
    stop_offload_worker(e);
    check_counts(lab);
    lab_free(lab);
}

/* Everybody ends with packets under way: each of them is in one ring, as it was. */
static void test_end(void)
{
    struct lab *lab = lab_new(2, 2, 64);
    for (uint32_t i = 0; i < 2; i++) {
        lab->workers[i].is_left_alone = true;
        lab->offload_workers[i].n_wanted = 300;
        start_offload_worker(&lab->offload_workers[i]);
    }
    start_workers(lab);
    join_workers(lab);
    for (uint32_t i = 0; i < 2; i++)
        stop_offload_worker(&lab->offload_workers[i]);
    check_counts(lab);
    for (uint32_t i = 0; i < 2; i++) {
        struct worker *k = &lab->workers[i];
        uint64_t n_found = 0;
        for (uint32_t j = 0; j < N_POINTS; j++) {
            struct sd_channel *channel = k->ways[j].channel;
            uint32_t n_requests = sd_ring_length(&channel->requests);
            uint32_t n_done = sd_ring_length(&channel->completions);
            CHECK(n_requests + n_done == k->ways[j].n_in_flight);
            void *item;
            while (sd_ring_pop(&channel->requests, &item, 1)) {
                const struct sd_suspended *s = item;
                const struct model *m = &k->models[s->packet.token];
                CHECK(m->is_away && m->point == j && ((const struct context *)(s + 1))->value == m->seed);
                for (uint32_t b = 0; b < m->packet.length_bytes; b++)
                    CHECK(s->packet.data[b] == byte_at(m->seed, b));
                n_found++;
            }
            n_found += n_done;
        }
        CHECK(n_found == n_in_flight(k) && n_found > 0);
        for (uint32_t j = 0; j < N_POINTS; j++)
            while (sd_ring_length(&k->ways[j].channel->completions) > 0)
                receive(k);
    }
    lab_free(lab);
}

int main(void)
{
    test_ring_bounds();
    test_ring(1);
    test_ring(64);
    test_ring(1000);
    test_packets(1, 1, 128, false);
    test_packets(2, 1, 50, true);
    test_packets(1, 2, 1000, true);
    test_packets(2, 2, 7, true);
    test_successor();
    test_end();
    CHECK(n_batched_of_all > 0);
    return 0;
}
