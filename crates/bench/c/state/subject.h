/*
 * The generated program as the subject of open_loop.h: crates/bench/programs/latency_address.p4 or latency_udp.p4, in program.c.
 */
#ifndef STATE_SUBJECT_H
#define STATE_SUBJECT_H

#include "program.c"

#include "open_loop.h"

static uint32_t (*volatile program_process)(struct sd_worker *, struct sd_packet *, uint32_t);

static void *program_create(void)
{
    const struct sd_config config = {1, SD_PATH_AUTO, 1};
    return sd_pipeline.create(&config);
}

static void program_destroy(void *instance)
{
    sd_pipeline.destroy(instance);
}

/* A burst with the boundary that a switch has before it, for entries that are taken out. */
static uint32_t program_burst(void *instance, uint8_t *const *data, uint32_t n, uint32_t n_bytes, uint64_t now_ns)
{
    struct sd_packet packets[LOOP_BURST_MAX];
    struct sd_worker *worker = sd_pipeline.worker(instance, 0);
    uint32_t n_failed = 0;
    for (uint32_t i = 0; i < n; i++) {
        packets[i].data = data[i];
        packets[i].length_bytes = n_bytes;
        packets[i].headroom_bytes = LOOP_HEADROOM;
        packets[i].tailroom_bytes = LOOP_SLOT_BYTES - LOOP_HEADROOM - n_bytes;
        packets[i].ingress_port = 1;
        packets[i].cursor_bits = 0;
        packets[i].arrived_ns = now_ns;
    }
    worker->now_ns = now_ns;
    worker->steps_left = 10000;
    __atomic_exchange_n(worker->seen, __atomic_load_n(worker->epoch, __ATOMIC_SEQ_CST), __ATOMIC_SEQ_CST);
    uint32_t n_done = program_process(worker, packets, n);
    __atomic_store_n(worker->seen, UINT64_MAX, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < n_done; i++)
        n_failed += packets[i].verdict != SD_VERDICT_SEND;
    return n_failed + (n - n_done);
}

static uint64_t program_n_entries(void *instance)
{
    return sd_pipeline.control->table_n_entries(instance, 0);
}

/* A switch looks for entries that have ended, which tells workers how large the table is. */
static void program_tend(void *instance)
{
    (void)sd_pipeline.control->table_n_entries(instance, 0);
}

/* An address is 02:00 and the key or the value. */
static const struct loop_layout subject_address = {
    .bytes = {0x02, 0, 0, 0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0x08, 0},
    .key_at = 8,
    .value_at = 2,
    .kind_at = 12,
    .kind_table = 0x0800,
    .kind_plain = 0x88b5,
};
static const struct loop_layout subject_udp = {
    .bytes = {0x02, 0, 0, 0, 0, 1, 0x02, 0,    0,    0,    0, 2, 0x08, 0, 0x45, 0, 0, 70, 0, 0, 0,
              0,    64, 17, 0, 0, 10, 0, 0,    1,    10,   0, 0, 2,    0x20, 0, 0x1b, 0x58, 0, 50, 0, 0},
    .key_at = 42,
    .value_at = 46,
    .kind_at = 36,
    .kind_table = 7000,
    .kind_plain = 7001,
};

/* The program whose key is `name`: address or udp. */
static struct loop_subject program_subject(const char *name)
{
    struct loop_subject subject = {
        .name = "siding",
        .version = "0",
        .create = program_create,
        .destroy = program_destroy,
        .process = program_burst,
        .tend = program_tend,
        .n_entries = program_n_entries,
    };
    subject.layout = strcmp(name, "udp") == 0 ? subject_udp : subject_address;
    program_process = sd_pipeline.process;
    return subject;
}

#endif
