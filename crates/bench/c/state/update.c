/*
 * Times hits that read a parameter of their entry, and hits that change it (crates/bench/programs/state_update.p4).
 *
 *     run [--size N] [--runs N] [--burst N]
 *
 * `siding bench state` puts program.c (generated) and workload.h (crates/bench/peers) beside this file. Two tables of one program
 * have the same N keys; packets of them at random take turns: a slice reads, the next one counts. Works, each in TSC cycles per
 * packet: "hit, read" and "hit, count". After each run the counters are added up: each packet was counted once.
 */
#include "program.c"

#include "workload.h"

#define BURST_MAX 64
#define HEADROOM 64
#define PACKET_BYTES 84
#define STRIDE 256
#define TYPE_AT 12
#define KEY_AT 14
#define READ_TYPE 0x88b5
#define COUNT_TYPE 0x88b6
#define SLICE_BURSTS 64
#define N_SLICES 512
#define RUNS_MAX 101

enum work { READ, COUNT };

static uint32_t (*volatile program_process)(struct sd_worker *, struct sd_packet *, uint32_t);
static uint8_t memory[BURST_MAX * STRIDE] __attribute__((aligned(64)));

/* Different for each number below 2^32. */
static uint32_t key_of(uint64_t number)
{
    return (uint32_t)number * 2654435761u;
}

/* Runs one burst of these keys. Returns the sum of the values that came back; UINT64_MAX if a packet was not sent. */
static uint64_t burst(struct sd_worker *worker, struct sd_packet *packets, enum work work, const uint32_t *keys, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *data = memory + (size_t)i * STRIDE + HEADROOM;
        sd_store_be(data + TYPE_AT, 2, work == READ ? READ_TYPE : COUNT_TYPE);
        sd_store_be(data + KEY_AT, 4, keys[i]);
        sd_store_be(data + KEY_AT + 4, 4, 0);
        packets[i].data = data;
        packets[i].length_bytes = PACKET_BYTES;
        packets[i].headroom_bytes = HEADROOM;
        packets[i].tailroom_bytes = STRIDE - HEADROOM - PACKET_BYTES;
        packets[i].ingress_port = 1;
    }
    worker->now_ns += 1000;
    worker->steps_left = 10000;
    if (program_process(worker, packets, n) != n)
        return UINT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (packets[i].verdict != SD_VERDICT_SEND)
            return UINT64_MAX;
        sum += sd_load_be(packets[i].data + KEY_AT + 4, 4);
    }
    return sum;
}

/* Both tables learn all keys. */
static bool learn(struct sd_worker *worker, uint64_t size, uint32_t n_burst)
{
    struct sd_packet packets[BURST_MAX];
    uint32_t keys[BURST_MAX];
    memset(packets, 0, sizeof packets);
    for (enum work work = READ; work <= COUNT; work++)
        for (uint64_t number = 0; number < size;) {
            uint32_t n = 0;
            while (n < n_burst && number < size)
                keys[n++] = key_of(number++);
            if (burst(worker, packets, work, keys, n) != 0)
                return false;
        }
    return true;
}

/* The sum of the counters, each told by a packet that counts once more. */
static uint64_t counted(struct sd_worker *worker, uint64_t size)
{
    struct sd_packet packet = {0};
    uint64_t sum = 0;
    for (uint64_t number = 0; number < size; number++) {
        uint32_t key = key_of(number);
        uint64_t value = burst(worker, &packet, COUNT, &key, 1);
        if (value == UINT64_MAX)
            return value;
        sum += value - 1;
    }
    return sum;
}

/* One run of slices by turns; the figures are medians. */
static bool turns(struct sd_instance *instance, uint64_t size, uint32_t n_burst, double figures[2])
{
    static struct peer_slices slices[2];
    static uint32_t keys[SLICE_BURSTS * BURST_MAX];
    struct sd_worker *worker = sd_pipeline.worker(instance, 0);
    struct sd_packet packets[BURST_MAX];
    uint64_t random = 11, n_counted = 0, n_slice = (uint64_t)SLICE_BURSTS * n_burst;
    memset(packets, 0, sizeof packets);
    slices[READ].n = slices[COUNT].n = 0;
    if (!learn(worker, size, n_burst) || sd_pipeline.control->table_n_entries(instance, 0) != size ||
        sd_pipeline.control->table_n_entries(instance, 1) != size)
        return false;
    for (uint32_t slice = 0; slice < 2 * N_SLICES; slice++) {
        enum work work = slice % 2 ? COUNT : READ;
        for (uint64_t i = 0; i < n_slice; i++)
            keys[i] = key_of(peer_random_below(&random, (uint32_t)size));
        uint64_t begin = peer_tsc();
        for (uint32_t b = 0; b < SLICE_BURSTS; b++)
            if (burst(worker, packets, work, keys + (size_t)b * n_burst, n_burst) == UINT64_MAX)
                return false;
        peer_slice_add(&slices[work], begin, peer_tsc(), n_slice);
        n_counted += work == COUNT ? n_slice : 0;
    }
    for (enum work work = READ; work <= COUNT; work++)
        figures[work] = peer_median(slices[work].values, slices[work].n);
    return counted(worker, size) == n_counted;
}

int main(int argc, char **argv)
{
    static double runs[2][RUNS_MAX], extra_cycles[RUNS_MAX];
    uint64_t size = strtoull(peer_option(argc, argv, "--size", "1000000"), NULL, 10);
    uint64_t n_runs = strtoull(peer_option(argc, argv, "--runs", "5"), NULL, 10);
    uint64_t n_burst = strtoull(peer_option(argc, argv, "--burst", "32"), NULL, 10);
    char extra[120];
    if (size < 1 || size > 2000000 || n_runs < 1 || n_runs > RUNS_MAX || n_burst < 1 || n_burst > BURST_MAX) {
        fprintf(stderr, "run: a number is out of range\n");
        return 2;
    }
    program_process = sd_pipeline.process;
    for (size_t run = 0; run < n_runs; run++) {
        struct sd_config config = {1, SD_PATH_AUTO, 1};
        struct sd_instance *instance = sd_pipeline.create(&config);
        double figures[2];
        if (!instance || !turns(instance, size, (uint32_t)n_burst, figures)) {
            fprintf(stderr, "run: a packet was not counted, or an entry is missing\n");
            return 1;
        }
        sd_pipeline.destroy(instance);
        runs[READ][run] = figures[READ];
        runs[COUNT][run] = figures[COUNT];
        extra_cycles[run] = figures[COUNT] - figures[READ];
    }
    /* One figure for each run, as machines change their pace from run to run. */
    snprintf(extra, sizeof extra, "\"unit\":\"packet\",\"burst\":%llu,\"extra_cycles\":%.1f", (unsigned long long)n_burst,
             peer_median(extra_cycles, n_runs));
    peer_print("siding", "0", "hit, read", size, runs[READ], n_runs, extra);
    peer_print("siding", "0", "hit, count", size, runs[COUNT], n_runs, extra);
    return 0;
}
