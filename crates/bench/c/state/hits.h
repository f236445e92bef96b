/*
 * Bursts of packets with a key for the tables of a generated program: crates/bench/programs/state_update.p4 or state_sync.p4, in
 * program.c. The type of a packet chooses the table, and the first packet of a key adds the entry.
 */
#ifndef STATE_HITS_H
#define STATE_HITS_H

#include "program.c"

#include "workload.h"

#define BURST_MAX 64
#define HEADROOM 64
#define PACKET_BYTES 84
#define STRIDE 256
#define TYPE_AT 12
#define KEY_AT 14
#define FIRST_TYPE 0x88b5

static uint32_t (*volatile program_process)(struct sd_worker *, struct sd_packet *, uint32_t);

/* Buffers for the packets of a burst. */
struct hits {
    struct sd_packet packets[BURST_MAX];
    uint8_t memory[BURST_MAX * STRIDE] __attribute__((aligned(64)));
};

/* Different for each number below 2^32. */
static uint32_t key_of(uint64_t number)
{
    return (uint32_t)number * 2654435761u;
}

/* Runs one burst of these keys through a table. Returns the sum of the values that came back; UINT64_MAX if a packet was not sent. */
static uint64_t burst(struct sd_worker *worker, struct hits *hits, uint32_t table, const uint32_t *keys, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *data = hits->memory + (size_t)i * STRIDE + HEADROOM;
        struct sd_packet *packet = &hits->packets[i];
        sd_store_be(data + TYPE_AT, 2, FIRST_TYPE + table);
        sd_store_be(data + KEY_AT, 4, keys[i]);
        sd_store_be(data + KEY_AT + 4, 4, 0);
        packet->data = data;
        packet->length_bytes = PACKET_BYTES;
        packet->headroom_bytes = HEADROOM;
        packet->tailroom_bytes = STRIDE - HEADROOM - PACKET_BYTES;
        packet->ingress_port = 1;
    }
    worker->now_ns += 1000;
    worker->steps_left = 10000;
    if (program_process(worker, hits->packets, n) != n)
        return UINT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (hits->packets[i].verdict != SD_VERDICT_SEND)
            return UINT64_MAX;
        sum += sd_load_be(hits->packets[i].data + KEY_AT + 4, 4);
    }
    return sum;
}

/* The first tables learn all keys. */
static bool learn(struct sd_instance *instance, struct hits *hits, uint32_t n_tables, uint64_t size, uint32_t n_burst)
{
    uint32_t keys[BURST_MAX];
    for (uint32_t table = 0; table < n_tables; table++) {
        for (uint64_t number = 0; number < size;) {
            uint32_t n = 0;
            while (n < n_burst && number < size)
                keys[n++] = key_of(number++);
            if (burst(sd_pipeline.worker(instance, 0), hits, table, keys, n) != 0)
                return false;
        }
        if (sd_pipeline.control->table_n_entries(instance, table) != size)
            return false;
    }
    return true;
}

#endif
