/*
 * Peer: DPDK's software switch pipeline (SWX) running l2.spec, which is l2.p4 in its own language,
 * wire.spec, which has no table, and learn.spec, whose packets add entries.
 *
 *     peer-dpdk_swx [--quick] [--size N] [--packets N]
 *     peer-dpdk_swx --learn [--quick] [--size N]
 *     peer-dpdk_swx --codegen SPEC OUT.c     writes a program's C, which build.sh compiles to
 * SPEC's .so
 *
 * Programs run compiled, the only way that DPDK 22.11 has: l2.so, wire.so and learn.so, which build.sh
 * makes from SWX's own C, lie in the folder peers/ beside the executable.
 *
 * Ports are memory: the input port hands out 64-byte packets of a fixed array one after another,
 * without copying; the output port counts. So the figure is the pipeline's own work. SWX creates
 * its ports by type names, and the compiled path gives no place to register one: this file defines
 * the operations of the type "ring" itself, in place of the library's. The dynamic linker prefers a
 * program's own symbol.
 *
 * "size" is the entries of each table (0 without tables); packets draw their addresses at random
 * from them, so that every lookup hits. "packets" is the length of the array: 1024 stay in the
 * cache, 65536 do not.
 *
 * With --learn the input port writes a key into each packet, as `siding bench state` does: "learn" has
 * new keys, from an empty table to "size" entries, "hit" keys of the table at random. The output port
 * compares the values. "refused" is the share of keys that found their bucket of four full.
 */
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>

#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>
#include <rte_swx_port.h>

#include "dpdk_start.h"
#include "workload.h"

#define PACKET_BYTES 64
#define HEADROOM 128
/* A packet buffer as DPDK lays it out: 128 bytes of bookkeeping, headroom, 2 KiB; one line more
 * spreads the sets. */
#define BUFFER_BYTES (128 + HEADROOM + 2048 + 64)
#define INSTRUCTIONS_PER_SLICE 20000

/* ---- the memory port ---- */

static struct {
    uint8_t *buffers;
    uint32_t n_packets; /* a power of 2 */
    uint32_t next;
    uint64_t n_received;
    uint64_t n_sent[2]; /* by output port; SWX sends what a program drops to the last */
} memory;
enum { FORWARDED, DROPPED };

#define KEY_AT 14
#define REQUEST_BYTES 84
/* Flows that learn.spec has room for, twice. */
#define FLOWS_MAX (1u << 20)

enum work { NONE, LEARN, HIT };

/* Keys of packets that add entries. */
static struct {
    enum work work;
    uint64_t n_known;
    uint64_t random;
    uint64_t n_wrong;
} flows;

/* Different for each number below 2^32. */
static uint32_t key_of(uint64_t number)
{
    return (uint32_t)number * 2654435761u;
}

static void put_request(uint8_t *packet)
{
    bool is_new = flows.work == LEARN;
    uint64_t number = is_new ? flows.n_known++ : peer_random_below(&flows.random, (uint32_t)flows.n_known);
    uint32_t key = key_of(number), value = is_new ? ~key : 0;
    uint32_t request[2] = {__builtin_bswap32(key), __builtin_bswap32(value)};
    memcpy(packet + KEY_AT, request, sizeof(request));
}

static bool is_answered(const uint8_t *packet)
{
    uint32_t request[2];
    memcpy(request, packet + KEY_AT, sizeof(request));
    return request[1] == ~request[0];
}

static void *port_in_create(void *args)
{
    (void)args;
    return &memory;
}

/* SWX creates the ports in the order of their numbers; a port is its counter. */
static uint32_t n_ports_out;

static void *port_out_create(void *args)
{
    (void)args;
    return n_ports_out < 2 ? &memory.n_sent[n_ports_out++] : NULL;
}

static void port_free(void *port)
{
    (void)port;
}

static int port_receive(void *port, struct rte_swx_pkt *packet)
{
    (void)port;
    uint8_t *buffer = memory.buffers + (size_t)memory.next * BUFFER_BYTES;
    memory.next = (memory.next + 1) & (memory.n_packets - 1);
    memory.n_received++;
    packet->handle = buffer;
    packet->pkt = buffer + 128;
    packet->offset = HEADROOM;
    packet->length = PACKET_BYTES;
    if (flows.work != NONE) {
        packet->length = REQUEST_BYTES;
        put_request(buffer + 128 + HEADROOM);
    }
    return 1;
}

static void port_receive_stats(void *port, struct rte_swx_port_in_stats *stats)
{
    (void)port;
    memset(stats, 0, sizeof(*stats));
    stats->n_pkts = memory.n_received;
}

static void port_send(void *port, struct rte_swx_pkt *packet)
{
    if (flows.work != NONE)
        flows.n_wrong += !is_answered(packet->pkt + packet->offset);
    ++*(uint64_t *)port;
}

static void port_send_clone(void *port, struct rte_swx_pkt *packet, uint32_t truncation_length)
{
    (void)truncation_length;
    port_send(port, packet);
}

static void port_flush(void *port)
{
    (void)port;
}

static void port_send_stats(void *port, struct rte_swx_port_out_stats *stats)
{
    memset(stats, 0, sizeof(*stats));
    stats->n_pkts = *(uint64_t *)port;
}

struct rte_swx_port_in_ops rte_swx_port_ring_reader_ops = {
    .create = port_in_create,
    .free = port_free,
    .pkt_rx = port_receive,
    .stats_read = port_receive_stats,
};

struct rte_swx_port_out_ops rte_swx_port_ring_writer_ops = {
    .create = port_out_create,
    .free = port_free,
    .pkt_tx = port_send,
    .pkt_fast_clone_tx = port_send,
    .pkt_clone_tx = port_send_clone,
    .flush = port_flush,
    .stats_read = port_send_stats,
};

/* ---- the workload ---- */

/* The i-th unicast address of the tables. */
static uint64_t address_at(uint32_t i)
{
    uint64_t state = 0x12 + i;
    return (peer_random(&state) & 0xfeffffffffffu) | 0x020000000000u;
}

static void put_address(uint8_t *at, uint64_t address)
{
    for (int i = 5; i >= 0; i--, address >>= 8)
        at[i] = (uint8_t)address;
}

static int make_packets(uint32_t n_packets, uint32_t n_entries)
{
    uint64_t state = 9;
    free(memory.buffers);
    memset(&memory, 0, sizeof(memory));
    n_ports_out = 0;
    memory.buffers = aligned_alloc(4096, ((size_t)n_packets * BUFFER_BYTES + 4095) / 4096 * 4096);
    if (memory.buffers == NULL)
        return -1;
    memory.n_packets = n_packets;
    for (uint32_t i = 0; i < n_packets; i++) {
        uint8_t *packet = memory.buffers + (size_t)i * BUFFER_BYTES + 128 + HEADROOM;
        memset(packet, 0, PACKET_BYTES);
        put_address(packet, address_at(n_entries ? peer_random_below(&state, n_entries) : 0));
        put_address(packet + 6, address_at(n_entries ? peer_random_below(&state, n_entries) : 0));
        packet[12] = 0x08;
    }
    return 0;
}

static int add_entry(struct rte_swx_ctl_pipeline *control, const char *table, const char *text)
{
    int blank = 0;
    struct rte_swx_table_entry *entry =
        rte_swx_ctl_pipeline_table_entry_read(control, table, text, &blank);
    /* The library copies the entry; this one is left to the end of the process. */
    return entry == NULL ? -1 : rte_swx_ctl_pipeline_table_entry_add(control, table, entry);
}

static int load(struct rte_swx_ctl_pipeline *control, uint32_t n_entries)
{
    char text[128];
    for (uint32_t i = 0; i < n_entries; i++) {
        snprintf(text, sizeof(text), "match 0x%012" PRIx64 " action NoAction", address_at(i));
        if (add_entry(control, "smac", text) != 0)
            return -1;
        snprintf(text, sizeof(text), "match 0x%012" PRIx64 " action forward port 0", address_at(i));
        if (add_entry(control, "dmac", text) != 0)
            return -1;
    }
    return rte_swx_ctl_pipeline_commit(control, 1);
}

/* ---- building and running ---- */

/* NULL, after a sentence, where the program cannot be built. */
static struct rte_swx_pipeline *build(const char *library)
{
    static unsigned serial;
    struct rte_swx_pipeline *pipeline = NULL;
    char name[32];
    char ports[] =
        "port in 0 ring IN bsz 32\nport out 0 ring OUT bsz 32\nport out 1 ring DROP bsz 32\n";
    FILE *file = fmemopen(ports, strlen(ports), "r");
    int status;

    snprintf(name, sizeof(name), "PEER%u", serial++);
    status =
        file == NULL ? -errno : rte_swx_pipeline_build_from_lib(&pipeline, name, library, file, 0);
    if (file != NULL)
        fclose(file);
    if (status == 0)
        return pipeline;
    fprintf(stderr, "peer-dpdk_swx: %s does not build: %s\n", library, strerror(-status));
    return NULL;
}

/* False if a slice sends no packet. */
static bool run_slice(struct rte_swx_pipeline *pipeline, struct peer_slices *slices)
{
    uint64_t n_before = memory.n_sent[FORWARDED];
    uint64_t begin = peer_tsc();
    rte_swx_pipeline_run(pipeline, INSTRUCTIONS_PER_SLICE);
    uint64_t end = peer_tsc();
    if (memory.n_sent[FORWARDED] == n_before)
        return false;
    peer_slice_add(slices, begin, end, memory.n_sent[FORWARDED] - n_before);
    return true;
}

static double run(struct rte_swx_pipeline *pipeline, size_t n_slices)
{
    static struct peer_slices slices;
    slices.n = 0;
    for (size_t slice = 0; slice < n_slices; slice++)
        if (!run_slice(pipeline, &slices))
            return -1;
    return peer_median(slices.values, slices.n);
}

static int measure(const char *library, uint32_t n_entries, uint32_t n_packets, size_t n_runs)
{
    struct rte_swx_ctl_pipeline *control = NULL;
    struct rte_swx_pipeline *pipeline = NULL;
    double runs[PEER_RUNS], load_s;
    char extra[200];
    int status = -1;

    if (make_packets(n_packets, n_entries) != 0 || (pipeline = build(library)) == NULL)
        goto done;
    load_s = peer_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if ((control = rte_swx_ctl_pipeline_create(pipeline)) == NULL || load(control, n_entries) != 0)
        goto done;
    load_s = (peer_clock_ns(CLOCK_THREAD_CPUTIME_ID) - load_s) / 1e9;
    run(pipeline, 50);
    for (size_t i = 0; i < n_runs; i++)
        if ((runs[i] = run(pipeline, 400)) < 0)
            goto done;
    /* All packets hit: all that were received were forwarded, but for those under way (256 threads
     * at most). */
    if (memory.n_sent[DROPPED] != 0 || memory.n_received - memory.n_sent[FORWARDED] > 256)
        goto done;
    snprintf(extra, sizeof(extra),
             "\"unit\":\"packet\",\"program\":\"%s\",\"packet_bytes\":%d,\"packets\":%u,\"load_s\":"
             "%.6f,\"pages\":\"%s\"",
             n_entries ? "l2" : "wire", PACKET_BYTES, n_packets, load_s, peer_pages);
    peer_print("swx", peer_dpdk_version(), n_entries ? "l2" : "wire", n_entries, runs, n_runs,
               extra);
    status = 0;
done:
    if (status != 0)
        fprintf(stderr, "peer-dpdk_swx: %s with %u entries does not run, or loses packets\n",
                library, n_entries);
    rte_swx_ctl_pipeline_free(control);
    rte_swx_pipeline_free(pipeline);
    return status;
}

/* Cycles per packet, the median of slices, until so many packets were sent. */
static double turn(struct rte_swx_pipeline *pipeline, enum work work, uint64_t n_packets)
{
    static struct peer_slices slices;
    uint64_t end_at = memory.n_sent[FORWARDED] + n_packets;
    slices.n = 0;
    flows.work = work;
    while (memory.n_sent[FORWARDED] < end_at)
        if (!run_slice(pipeline, &slices))
            return -1;
    return peer_median(slices.values, slices.n);
}

static int measure_learning(const char *library, uint32_t size, size_t n_runs)
{
    double runs[2][PEER_RUNS];
    struct rte_swx_learner_stats stats;
    uint64_t per_action[16];
    double refused = 0;
    char extra[120];
    for (size_t i = 0; i < n_runs; i++) {
        struct rte_swx_ctl_pipeline *control = NULL;
        struct rte_swx_pipeline *pipeline = NULL;
        int status = -1;
        flows.work = NONE;
        if (make_packets(512, 0) != 0 || (pipeline = build(library)) == NULL)
            return -1;
        flows.n_known = flows.n_wrong = 0;
        flows.random = 7;
        if ((control = rte_swx_ctl_pipeline_create(pipeline)) != NULL &&
            rte_swx_ctl_pipeline_commit(control, 1) == 0) {
            memset(&stats, 0, sizeof(stats));
            stats.n_pkts_action = per_action;
            runs[0][i] = turn(pipeline, LEARN, size);
            status = rte_swx_ctl_pipeline_learner_stats_read(pipeline, "flows", &stats);
            refused = (double)stats.n_pkts_learn_err / (double)(stats.n_pkts_learn_ok + stats.n_pkts_learn_err + 1);
            if (flows.n_wrong != 0 || stats.n_pkts_learn_ok + stats.n_pkts_learn_err < size)
                status = -1;
            runs[1][i] = turn(pipeline, HIT, 1 << 20);
            /* A key that was refused is added without a value when it comes again. */
            if (runs[0][i] < 0 || runs[1][i] < 0 || (double)flows.n_wrong > (refused * 2 + 1e-6) * (1 << 20))
                status = -1;
        }
        rte_swx_ctl_pipeline_free(control);
        rte_swx_pipeline_free(pipeline);
        if (status != 0) {
            fprintf(stderr, "peer-dpdk_swx: %s with %u flows does not run, or gives wrong values\n", library, size);
            return -1;
        }
    }
    snprintf(extra, sizeof(extra), "\"unit\":\"packet\",\"program\":\"learn\",\"refused\":%.4f,\"pages\":\"%s\"",
             refused, peer_pages);
    peer_print("swx", peer_dpdk_version(), "learn", size, runs[0], n_runs, extra);
    peer_print("swx", peer_dpdk_version(), "hit", size, runs[1], n_runs, extra);
    return 0;
}

static int generate(const char *spec, const char *code)
{
    FILE *in = fopen(spec, "r"), *out = fopen(code, "w");
    uint32_t line = 0;
    const char *message = "";
    int status =
        in == NULL || out == NULL ? -errno : rte_swx_pipeline_codegen(in, out, &line, &message);
    if (status != 0)
        fprintf(stderr, "peer-dpdk_swx: %s:%u: %s%s\n", spec, line, message, strerror(-status));
    if (in != NULL)
        fclose(in);
    if (out != NULL && fclose(out) != 0)
        status = -1;
    return status != 0;
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = {0, 10, 1000};
    static const uint32_t packets[] = {1024, 65536};
    int quick = peer_flag(argc, argv, "--quick");
    const char *only_size = peer_option(argc, argv, "--size", NULL);
    uint32_t only_packets = (uint32_t)strtoul(peer_option(argc, argv, "--packets", "0"), NULL, 10);
    size_t n_runs = quick ? 3 : PEER_RUNS;
    char self[4096], folder[4200];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (length < 0 || (only_packets & (only_packets - 1)) != 0 || only_packets > (1u << 20)) {
        fprintf(stderr, "peer-dpdk_swx: --packets wants a power of 2 up to 1048576\n");
        return 2;
    }
    self[length] = '\0';
    snprintf(folder, sizeof(folder), "%s/peers", dirname(self));
    if (peer_dpdk_start(argv[0], peer_flag(argc, argv, "--learn") ? 1024 : 256) != 0)
        return 1;
    if (argc == 4 && strcmp(argv[1], "--codegen") == 0)
        return generate(argv[2], argv[3]);
    if (peer_flag(argc, argv, "--learn")) {
        static const uint32_t flow_sizes[] = {1000, 100000, 1000000};
        char library[4300];
        snprintf(library, sizeof(library), "%s/learn.so", folder);
        if (access(library, R_OK) != 0) {
            fprintf(stderr, "peer-dpdk_swx: no %s: build.sh --dpdk-source DIR makes it\n", library);
            return 1;
        }
        for (size_t i = 0; i < (only_size || quick ? 1 : 3); i++) {
            uint32_t size = only_size ? (uint32_t)strtoul(only_size, NULL, 10) : flow_sizes[i];
            if (size < 1 || size > FLOWS_MAX) {
                fprintf(stderr, "peer-dpdk_swx: --learn wants 1 to %u flows\n", FLOWS_MAX);
                return 2;
            }
            if (measure_learning(library, size, n_runs) != 0)
                return 1;
        }
        return 0;
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t j = 0; j < sizeof(packets) / sizeof(packets[0]); j++) {
            uint32_t size = only_size ? (uint32_t)strtoul(only_size, NULL, 10) : sizes[i];
            uint32_t n_packets = only_packets ? only_packets : packets[j];
            char library[4300];
            if ((only_size && i > 0) || ((only_packets || quick) && j > 0))
                continue;
            snprintf(library, sizeof(library), "%s/%s.so", folder, size ? "l2" : "wire");
            if (access(library, R_OK) != 0) {
                fprintf(stderr, "peer-dpdk_swx: no %s: build.sh --dpdk-source DIR makes it\n",
                        library);
                return 1;
            }
            if (measure(library, size, n_packets, n_runs) != 0)
                return 1;
        }
    return 0;
}
