/*
 * Times a generated program over packets in memory, run by run beside the ceiling for the same work.
 *
 *     run [--size N] [--packets N,N] [--runs N] [--flows random|zipf] [--lengths 64|imix] [--addresses random|counted]
 *         [--burst N] [--count straight|segments]
 *
 * `siding bench` puts program.c (generated), ceiling.c (one of crates/bench/c/ceiling) and workload.h (crates/bench/peers) beside this
 * file. A source fills a burst of `struct sd_packet` with packets that lie in memory, each in a buffer of its own; the
 * program runs; a sink adds up verdicts and ports. Program and ceiling get the same packets and have to give the same
 * sums. Turns go round: ceiling, program, ceiling, program and so on, each of some milliseconds, for the machine may change
 * its pace at any time; a run is several rounds. One JSON object per line, keys as in crates/bench/peers, and `ratio_to_ceiling`:
 * cycles by those of the ceiling in the same round, the median over all rounds.
 *
 * With --count nothing is timed: packets go this way through the program by `counted_process`, for who counts its
 * instructions.
 */
#include "program.c"

#include "ceiling.c"
#include "workload.h"

#define BURST_MAX 64
#define HEADROOM 64
#define SLICE_BURSTS 64
#define RUNS_MAX 101
#define ROUNDS 8
#define TURN_PACKETS (1 << 16)
#define LINES_MAX 8

struct load {
    uint8_t *memory;
    size_t stride;
    uint32_t *lengths;
    uint32_t n_packets, at;
};

struct sums {
    uint64_t n_sent, ports;
};

/* A program or a ceiling, one way through it. */
struct subject {
    const char *peer, *path;
    const struct ceiling_way *way;
    uint32_t sd_path;
    double runs[RUNS_MAX];
    double turns[RUNS_MAX * ROUNDS];
    double cycles;
    struct sums sums;
};

/* Where a burst goes: to the ceiling, or to the program's worker. */
struct target {
    const void *tables;
    struct sd_instance *instance;
    struct sd_worker *worker;
};

/* Of random stations, or of those that one maker has counted. */
static bool are_counted;

/* Unicast, locally administered. */
static uint64_t address_of(uint64_t i)
{
    const uint64_t local = UINT64_C(0x02) << 40, ones = UINT64_C(0xfcffffffffff);
    return are_counted ? local + i : (peer_random(&i) & ones) | local;
}

static uint16_t port_of(uint64_t i)
{
    return (uint16_t)(i % 8);
}

static bool add_entry(struct sd_instance *instance, uint32_t table, uint64_t address, const char *action, uint16_t port)
{
    const struct sd_table_type *type = &sd_pipeline.tables[table];
    struct sd_entry_view view = {.kind = SD_ENTRY_ACTION};
    uint64_t ones = (UINT64_C(1) << 48) - 1, handle;
    uint8_t data[64] = {0};
    if (type->key_bytes != sizeof address || type->data_bytes > sizeof data)
        return false;
    while (view.what < type->n_actions && strcmp(type->actions[view.what].name, action) != 0)
        view.what++;
    if (view.what == type->n_actions)
        return false;
    if (type->actions[view.what].n_params > 0)
        memcpy(data + type->actions[view.what].params[0].offset, &port, sizeof port);
    view.value = (const uint8_t *)&address;
    view.mask = (const uint8_t *)&ones;
    view.data = data;
    uint32_t status = sd_pipeline.control->table_insert(instance, table, &view, 0, &handle);
    /* Of millions of random addresses two may be the same: the first counts. */
    return status == SD_OK || status == SD_EXISTS;
}

/* The program and the ceiling know the same stations. */
static bool fill(const struct target *t, void *tables, uint64_t n_entries)
{
    for (uint64_t i = 0; i < n_entries; i++) {
        uint8_t bytes[16] = {0};
        sd_store_be(bytes, 6, address_of(i));
        if (!ceiling_add(tables, bytes, port_of(i)))
            return false;
        if (sd_pipeline.n_tables == 2 && (!add_entry(t->instance, 0, address_of(i), "NoAction", 0) ||
                                          !add_entry(t->instance, 1, address_of(i), "L2Ingress.forward", port_of(i))))
            return false;
    }
    return true;
}

static uint64_t pick(uint64_t *state, uint64_t n, bool is_zipf)
{
    if (!is_zipf)
        return peer_random_below(state, (uint32_t)n);
    /* Ranks with a probability of about 1 / rank: as many below each power of two as below the next. */
    uint32_t n_powers = 64 - (uint32_t)__builtin_clzll(n);
    uint64_t rank = UINT64_C(1) << peer_random_below(state, n_powers);
    rank += peer_random_below(state, (uint32_t)rank) - 1;
    return rank < n ? rank : peer_random_below(state, (uint32_t)n);
}

static bool load_make(struct load *l, uint32_t n_packets, uint64_t n_entries, bool is_zipf, bool is_imix)
{
    static const uint32_t imix[12] = {64, 594, 64, 64, 594, 64, 1518, 64, 594, 64, 64, 594};
    uint64_t state = 11;
    l->stride = is_imix ? 2048 : 256;
    l->n_packets = n_packets;
    l->memory = sd_map_large(n_packets * l->stride);
    l->lengths = calloc(n_packets, sizeof *l->lengths);
    if (!l->memory || !l->lengths)
        return false;
    for (uint32_t i = 0; i < n_packets; i++) {
        uint8_t *data = l->memory + i * l->stride + HEADROOM;
        l->lengths[i] = is_imix ? imix[i % 12] : 64;
        for (uint32_t b = 0; b < l->lengths[i]; b++)
            data[b] = (uint8_t)b;
        uint64_t n = n_entries ? n_entries : UINT32_MAX;
        sd_store_be(data, 6, address_of(pick(&state, n, is_zipf)));
        sd_store_be(data + 6, 6, address_of(pick(&state, n, is_zipf)));
        data[12] = 8;
        data[13] = 0;
    }
    return true;
}

static void load_free(struct load *l)
{
    sd_unmap_large(l->memory, l->n_packets * l->stride);
    free(l->lengths);
}

/* Not known to the compiler, as when the host calls a shared object. */
static uint32_t (*volatile program_process)(struct sd_worker *, struct sd_packet *, uint32_t);

/* A turn's figure in cycles per packet, the median of its slices, after some that are not timed; negative where a packet
   does not get through. */
static double turn(const struct target *t, struct subject *s, struct load *l, uint32_t n_burst, uint64_t n_before,
                   uint64_t n_target)
{
    static struct peer_slices slices;
    struct sd_packet packets[BURST_MAX];
    void (*volatile const process)(const void *, struct sd_packet *, uint32_t) = s->way ? s->way->process : NULL;
    struct sums sums = {0, 0};
    const uint64_t n_slice = (uint64_t)SLICE_BURSTS * n_burst;
    slices.n = 0;
    memset(packets, 0, sizeof packets);
    l->at = 0;
    if (!s->way)
        t->instance->path = s->sd_path;
    for (uint64_t n = 0; n < n_before + n_target; n += n_slice) {
        uint64_t begin = peer_tsc();
        for (uint32_t b = 0; b < SLICE_BURSTS; b++) {
            for (uint32_t i = 0; i < n_burst; i++) {
                packets[i].data = l->memory + l->at * l->stride + HEADROOM;
                packets[i].length_bytes = l->lengths[l->at];
                packets[i].headroom_bytes = HEADROOM;
                packets[i].tailroom_bytes = (uint32_t)(l->stride - HEADROOM - l->lengths[l->at]);
                packets[i].ingress_port = 1;
                if (++l->at == l->n_packets)
                    l->at = 0;
            }
            if (s->way) {
                process(t->tables, packets, n_burst);
            } else {
                t->worker->now_ns += 1000;
                t->worker->steps_left = 10000;
                if (program_process(t->worker, packets, n_burst) != n_burst)
                    return -1;
            }
            for (uint32_t i = 0; i < n_burst; i++) {
                sums.n_sent += packets[i].verdict == SD_VERDICT_SEND;
                sums.ports += packets[i].egress_port;
            }
        }
        if (n >= n_before)
            peer_slice_add(&slices, begin, peer_tsc(), n_slice);
    }
    s->sums = sums;
    return peer_median(slices.values, slices.n);
}

/* The median over all rounds of cycles by those of `ceiling`. */
static double ratio(const struct subject *s, const struct subject *ceiling, size_t n_runs)
{
    static double ratios[RUNS_MAX * ROUNDS];
    for (size_t i = 0; i < n_runs * ROUNDS; i++)
        ratios[i] = s->turns[i] / ceiling->turns[i];
    return peer_median(ratios, n_runs * ROUNDS);
}

static void report(struct subject *s, const struct subject *ceiling, size_t n_runs, uint64_t size, const struct load *l,
                   uint32_t n_burst, const char *flows, const char *lengths)
{
    char extra[400];
    double middle = peer_median(s->runs, n_runs);
    snprintf(extra, sizeof extra,
             "\"unit\":\"packet\",\"packets\":%u,\"path\":\"%s\",\"burst\":%u,\"spread\":%.3f,\"flows\":\"%s\","
             "\"lengths\":\"%s\",\"addresses\":\"%s\",\"ratio_to_ceiling\":%.3f",
             l->n_packets, s->path, n_burst, (s->runs[n_runs - 1] - s->runs[0]) / middle, flows, lengths,
             are_counted ? "counted" : "random", ratio(s, ceiling, n_runs));
    peer_print(s->peer, "0", sd_pipeline.n_tables ? "l2" : "forward", size, s->runs, n_runs, extra);
}

static bool measure(const struct target *t, uint32_t n_packets, uint64_t size, size_t n_runs, uint32_t n_burst,
                    const char *flows, const char *lengths)
{
    static struct subject subjects[LINES_MAX];
    size_t n = 0;
    struct load l;
    for (size_t w = 0; w < SD_ARRAY_LEN(ceiling_ways); w++)
        subjects[n++] = (struct subject){.peer = "ceiling", .path = ceiling_ways[w].name, .way = &ceiling_ways[w]};
    subjects[n++] = (struct subject){.peer = "siding", .path = "auto", .sd_path = SD_PATH_AUTO};
    if (sd_pipeline.n_tables) {
        subjects[n++] = (struct subject){.peer = "siding", .path = "straight", .sd_path = SD_PATH_STRAIGHT};
        subjects[n++] = (struct subject){.peer = "siding", .path = "segments", .sd_path = SD_PATH_BURSTS};
    }
    if (!load_make(&l, n_packets, size, strcmp(flows, "zipf") == 0, strcmp(lengths, "imix") == 0))
        return false;
    const uint64_t n_before = n_packets > SLICE_BURSTS * n_burst ? n_packets : SLICE_BURSTS * n_burst;
    /* The first round is for caches and branch predictors. */
    for (size_t round = 0; round <= n_runs * ROUNDS; round++) {
        for (size_t i = 0; i < n; i++) {
            /* All packets have come once before they are timed: caches are as the subject itself leaves them, and not the
               one before it, which may use the same tables. */
            double cycles = turn(t, &subjects[i], &l, n_burst, n_before, TURN_PACKETS);
            if (cycles < 0)
                return false;
            if (round)
                subjects[i].turns[round - 1] = cycles;
        }
        for (size_t i = 1; i < n; i++)
            if (subjects[i].sums.n_sent != subjects[0].sums.n_sent ||
                subjects[i].sums.ports != subjects[0].sums.ports || subjects[i].sums.n_sent == 0) {
                fprintf(stderr, "run: %s (%s) does not do what the ceiling does\n", subjects[i].peer,
                        subjects[i].path);
                return false;
            }
    }
    const struct subject *ceiling = &subjects[0];
    for (size_t i = 0; i < n; i++) {
        struct subject *s = &subjects[i];
        for (size_t r = 0; r < n_runs; r++) {
            double turns[ROUNDS];
            memcpy(turns, &s->turns[r * ROUNDS], sizeof turns);
            s->runs[r] = peer_median(turns, ROUNDS);
        }
        double runs[RUNS_MAX];
        memcpy(runs, s->runs, sizeof runs);
        s->cycles = peer_median(runs, n_runs);
        if (s->way && s->cycles < ceiling->cycles)
            ceiling = s;
    }
    for (size_t i = 0; i < n; i++)
        report(&subjects[i], ceiling, n_runs, size, &l, n_burst, flows, lengths);
    load_free(&l);
    return true;
}

#define COUNTED_PACKETS 8192

static uint32_t (*volatile uncounted_process)(struct sd_worker *, struct sd_packet *, uint32_t);

/* A function of its own around compiled code. */
static __attribute__((noinline)) uint32_t counted_process(struct sd_worker *w, struct sd_packet *packets, uint32_t n)
{
    uint32_t n_done = uncounted_process(w, packets, n);
    /* No tail call, so that this function ends after the other one. */
    __asm__ volatile("" ::: "memory");
    return n_done;
}

/* A turn for caches and predictors that nobody counts, then one that is counted. */
static bool count(const struct target *t, uint32_t n_packets, uint64_t size, uint32_t n_burst, const char *way)
{
    struct subject s = {.peer = "siding", .path = way};
    struct load l;
    s.sd_path = strcmp(way, "segments") == 0 ? SD_PATH_BURSTS : SD_PATH_STRAIGHT;
    if (!load_make(&l, n_packets, size, false, false) || turn(t, &s, &l, n_burst, 0, COUNTED_PACKETS) < 0)
        return false;
    uncounted_process = program_process;
    program_process = counted_process;
    bool is_done = turn(t, &s, &l, n_burst, 0, COUNTED_PACKETS) >= 0;
    /* Turns are whole slices. */
    uint32_t n_slice = SLICE_BURSTS * n_burst;
    uint32_t n_processed = (COUNTED_PACKETS + n_slice - 1) / n_slice * n_slice;
    printf("{\"path\": \"%s\", \"processed\": %u}\n", way, n_processed);
    load_free(&l);
    return is_done;
}

int main(int argc, char **argv)
{
    uint64_t size = strtoull(peer_option(argc, argv, "--size", "0"), NULL, 10);
    uint64_t n_runs = strtoull(peer_option(argc, argv, "--runs", "7"), NULL, 10);
    uint64_t n_burst = strtoull(peer_option(argc, argv, "--burst", "64"), NULL, 10);
    const char *flows = peer_option(argc, argv, "--flows", "random");
    const char *lengths = peer_option(argc, argv, "--lengths", "64");
    are_counted = strcmp(peer_option(argc, argv, "--addresses", "random"), "counted") == 0;
    const char *packets = peer_option(argc, argv, "--packets", "1024,65536");
    const char *way = peer_option(argc, argv, "--count", "");
    struct sd_config config = {1, SD_PATH_AUTO, 1};
    void *tables = ceiling_new(size);
    struct target t = {.tables = tables, .instance = sd_pipeline.create(&config)};
    if (size > 100000000 || n_runs < 1 || n_runs > RUNS_MAX || n_burst < 1 || n_burst > BURST_MAX) {
        fprintf(stderr, "run: a number is out of range\n");
        return 2;
    }
    if (!tables || !t.instance || !(t.worker = sd_pipeline.worker(t.instance, 0)) || !fill(&t, tables, size)) {
        fprintf(stderr, "run: %llu entries do not fit\n", (unsigned long long)size);
        return 1;
    }
    program_process = sd_pipeline.process;
    while (*packets) {
        char *end;
        unsigned long n_packets = strtoul(packets, &end, 10);
        if (end == packets || n_packets < 1 || n_packets > 1 << 24) {
            fprintf(stderr, "run: no number of packets: %s\n", packets);
            return 2;
        }
        bool is_done = *way ? count(&t, (uint32_t)n_packets, size, (uint32_t)n_burst, way)
                            : measure(&t, (uint32_t)n_packets, size, n_runs, (uint32_t)n_burst, flows, lengths);
        if (!is_done)
            return 1;
        packets = *end == ',' ? end + 1 : end;
    }
    sd_pipeline.destroy(t.instance);
    return 0;
}
