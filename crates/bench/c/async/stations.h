/*
 * What the measurements of asynchronous blocks share: the extern, the stations, where packets come from and go to.
 */
#ifndef STATIONS_H
#define STATIONS_H

#include "workload.h"

#include <pthread.h>
#include <sched.h>

#define BURST 32
#define N_BUFFERS 4096
#define BUFFER_BYTES 512
#define HEADROOM 256
#define LENGTH 64
#define N_FLOWS 10
#define CAPACITY 1000
#define RUNS_MAX 101

static struct sd_instance *instance;
static struct sd_worker *worker, *offload_worker;
static struct sd_channel *channel;
static uint8_t *memory;
static uint32_t cost_now;

/* --- The extern --- */

static uint32_t burn(void *context, struct sd_worker *w, struct sd_packet *p, uint32_t call, uint8_t *args,
                     uint8_t *result)
{
    (void)context;
    (void)w;
    (void)p;
    (void)call;
    (void)result;
    uint32_t cycles;
    memcpy(&cycles, args, sizeof cycles);
    if (cycles == 0)
        return SD_END_DONE;
    uint64_t begin = sd_cycles();
    while (sd_cycles() - begin < cycles)
        ;
    return SD_END_DONE;
}

static const struct sd_host plain_host = {.call = burn};

/* --- Stations --- */

static uint64_t address_of(uint64_t i)
{
    return UINT64_C(0x020000000000) + i;
}

/* Of the flows the first `n_slow` cost something. */
static bool fill(uint32_t n_slow, uint32_t cost)
{
    cost_now = cost;
    for (uint64_t i = 0; i < N_FLOWS; i++) {
        uint64_t key = address_of(i), ones = (UINT64_C(1) << 48) - 1, handle;
        uint8_t data[64] = {0};
        struct sd_entry_view view = {.kind = SD_ENTRY_ACTION, .value = (uint8_t *)&key, .mask = (uint8_t *)&ones};
        view.data = data;
        view.what = 1;
        uint32_t status = sd_pipeline.control->table_insert(instance, 0, &view, 0, &handle);
        if (status != SD_OK && status != SD_EXISTS)
            return false;
        const struct sd_table_type *type = &sd_pipeline.tables[1];
        view.what = 0;
        while (view.what < type->n_actions &&
               strcmp(type->actions[view.what].name, i < n_slow ? "AsyncIngress.work" : "AsyncIngress.forward") != 0)
            view.what++;
        if (view.what == type->n_actions)
            return false;
        const struct sd_action_type *action = &type->actions[view.what];
        uint16_t port = (uint16_t)(i % 8);
        memcpy(data + action->params[0].offset, &port, sizeof port);
        if (action->n_params > 1)
            memcpy(data + action->params[1].offset, &cost, sizeof cost);
        sd_pipeline.control->table_remove(instance, 1, &view);
        if (sd_pipeline.control->table_insert(instance, 1, &view, 0, &handle) != SD_OK)
            return false;
    }
    return true;
}

/* --- Source and sink --- */

struct source {
    uint32_t free[N_BUFFERS];
    uint32_t n_free;
    uint64_t state;
    uint64_t n_sent;
};

static void source_reset(struct source *s)
{
    s->n_free = N_BUFFERS;
    for (uint32_t i = 0; i < N_BUFFERS; i++)
        s->free[i] = N_BUFFERS - 1 - i;
    s->state = 11;
    s->n_sent = 0;
}

static void source_fill(struct source *s, struct sd_packet *packets, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t buffer = s->free[--s->n_free];
        uint64_t flow = peer_random_below(&s->state, N_FLOWS);
        uint8_t *data = memory + (size_t)buffer * BUFFER_BYTES + HEADROOM;
        sd_store_be(data, 6, address_of(flow));
        sd_store_be(data + 6, 6, address_of(flow));
        struct sd_packet packet = {.data = data, .length_bytes = LENGTH, .headroom_bytes = HEADROOM, .token = buffer};
        packet.tailroom_bytes = BUFFER_BYTES - HEADROOM - LENGTH;
        packet.ingress_port = 1;
        packets[i] = packet;
    }
}

static void sink(struct source *s, const struct sd_packet *packets, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (packets[i].verdict == SD_VERDICT_SUSPENDED)
            continue;
        s->n_sent += packets[i].verdict == SD_VERDICT_SEND;
        s->free[s->n_free++] = (uint32_t)packets[i].token;
    }
}

static void set_way(uint32_t mode, uint32_t capacity)
{
    worker->async_ways[0].mode = mode;
    worker->async_ways[0].full = SD_ASYNC_FULL_INLINE;
    worker->async_ways[0].capacity = capacity;
}

#endif
