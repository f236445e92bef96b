/*
 * The ternary table beside peer-rte_acl: lookups, insertions and removals of 5-tuple rules.
 *
 *     ternary [--quick] [--set acl|fw|ipc|any] [--size N]
 *
 * Sets are those of acl_rules.h; `any` is like the peer's. Packets match a random rule each. Lines:
 *
 *   lookup   bursts of 32 keys, as the peer has them, when all rules were inserted one after the other
 *   planned  the same right after a new plan
 *   gathered keys that lie anywhere are given one after the other, and then looked up together, as packets do that come
 *            to a table one by one
 *   one      one key at a time, as generated code without bursts does
 *   insert   of a table that is full to the size, one rule goes and comes back: "cycles" is the median over stretches
 *            of 64 such inserts of their mean; "mean_us" has new plans in it, "worst_us" is the longest
 *   remove   likewise
 *   load     all rules one after the other, per rule, all new plans in it; "load_s" is the whole
 *
 *     cc -std=gnu11 -O3 -march=native -I rt crates/bench/c/tables/ternary.c -o ternary
 */
#include "workload.h"
#include "acl_rules.h"
#include "table/ternary/sd_ternary_write.h"

enum { N_PACKETS = 1 << 14, BURSTS_PER_SLICE = 16, STRETCH = 64 };

struct __attribute__((packed)) tuple {
    uint32_t src, dst;
    uint8_t proto;
    uint16_t sport, dport;
};

static const struct sd_key_type keys[] = {
    {"src", {0, 4, 32, 0}, SD_MATCH_TERNARY, 0},  {"dst", {4, 4, 32, 0}, SD_MATCH_TERNARY, 0},
    {"proto", {8, 1, 8, 0}, SD_MATCH_TERNARY, 0}, {"sport", {9, 2, 16, 0}, SD_MATCH_RANGE, 0},
    {"dport", {11, 2, 16, 0}, SD_MATCH_RANGE, 0},
};

static struct tuple packets[N_PACKETS];
static uint32_t slots[N_PACKETS];
static struct peer_slices slices;

static void insert(struct sd_ternary *t, const struct acl_rule *r, uint32_t slot)
{
    struct tuple value = {r->src, r->dst, r->proto, r->sport_low, r->dport_low};
    struct tuple mask = {acl_prefix_mask(r->src_len), acl_prefix_mask(r->dst_len), r->proto_mask, r->sport_high,
                         r->dport_high};
    if (sd_ternary_insert(t, (const uint8_t *)&value, (const uint8_t *)&mask, (uint32_t)r->priority, slot) != SD_OK)
        exit(1);
}

static double lookups(const struct sd_ternary *t)
{
    slices.n = 0;
    for (uint32_t at = 0; at < N_PACKETS;) {
        uint64_t begin = peer_tsc();
        for (uint32_t i = 0; i < BURSTS_PER_SLICE; i++, at += PEER_BURST)
            sd_ternary_lookup_burst(t, packets + at, sizeof *packets, sizeof *packets, PEER_BURST, slots + at);
        peer_slice_add(&slices, begin, peer_tsc(), (size_t)BURSTS_PER_SLICE * PEER_BURST);
    }
    return peer_median(slices.values, slices.n);
}

static double gathered_lookups(const struct sd_ternary *t)
{
    static struct sd_ternary_burst burst;
    const struct tuple *scattered[PEER_BURST];
    slices.n = 0;
    for (uint32_t at = 0; at < N_PACKETS;) {
        uint64_t begin = peer_tsc();
        for (uint32_t i = 0; i < BURSTS_PER_SLICE; i++, at += PEER_BURST) {
            for (uint32_t j = 0; j < PEER_BURST; j++)
                scattered[j] = &packets[at + j * 7 % PEER_BURST];
            __asm__ volatile("" : : "r"(scattered) : "memory");
            for (uint32_t j = 0; j < PEER_BURST; j++)
                sd_ternary_gather(t, &burst, j, scattered[j], sizeof *packets);
            sd_ternary_find_gathered(t, &burst, PEER_BURST);
            for (uint32_t j = 0; j < PEER_BURST; j++)
                slots[at + j * 7 % PEER_BURST] = burst.slots[j];
        }
        peer_slice_add(&slices, begin, peer_tsc(), (size_t)BURSTS_PER_SLICE * PEER_BURST);
    }
    return peer_median(slices.values, slices.n);
}

static void check_slots(const struct sd_ternary *t)
{
    for (uint32_t i = 0; i < N_PACKETS; i++)
        if (slots[i] == SD_NO_SLOT || slots[i] != sd_ternary_lookup(t, &packets[i], sizeof *packets))
            exit(1);
}

static double single_lookups(const struct sd_ternary *t)
{
    slices.n = 0;
    for (uint32_t at = 0; at < N_PACKETS;) {
        uint64_t begin = peer_tsc();
        for (uint32_t i = 0; i < BURSTS_PER_SLICE * PEER_BURST; i++, at++)
            slots[at] = sd_ternary_lookup(t, packets + at, sizeof *packets);
        peer_slice_add(&slices, begin, peer_tsc(), (size_t)BURSTS_PER_SLICE * PEER_BURST);
    }
    return peer_median(slices.values, slices.n);
}

struct changes {
    double inserts, removes, mean_us, worst_us;
};

/* Processor time: the machine may be shared. */
static struct changes change(struct sd_ternary *t, struct sd_epochs *epochs, const struct acl_rule *rules, uint32_t n,
                             uint64_t *state, uint32_t n_changes)
{
    static double inserts[4096], removes[4096];
    struct changes c = {0, 0, 0, 0};
    uint32_t n_stretches = 0, in_stretch[STRETCH];
    for (; n_stretches * STRETCH < n_changes && n_stretches < 4096; n_stretches++) {
        uint32_t n_out = 0;
        double begin = peer_thread_cycles();
        while (n_out < STRETCH && n_out < n / 2) {
            uint32_t slot = acl_below(state, n);
            if (sd_ternary_remove(t, slot) == SD_OK)
                in_stretch[n_out++] = slot;
        }
        sd_epoch_quiesce(epochs, 0);
        double between = peer_thread_cycles();
        removes[n_stretches] = (between - begin) / n_out;
        for (uint32_t i = 0; i < n_out; i++)
            insert(t, &rules[in_stretch[i]], in_stretch[i]);
        double took = peer_thread_cycles() - between;
        inserts[n_stretches] = took / n_out;
        c.mean_us += took / n_out / peer_tsc_ghz() / 1e3;
        if (took / peer_tsc_ghz() / 1e3 > c.worst_us)
            c.worst_us = took / peer_tsc_ghz() / 1e3;
    }
    c.mean_us /= n_stretches;
    c.inserts = peer_median(inserts, n_stretches);
    c.removes = peer_median(removes, n_stretches);
    return c;
}

static void print(const char *work, const char *set, uint32_t n, double *runs, size_t n_runs, const char *more)
{
    char extra[200];
    double least = runs[0], most = runs[0];
    for (size_t i = 1; i < n_runs; i++) {
        least = runs[i] < least ? runs[i] : least;
        most = runs[i] > most ? runs[i] : most;
    }
    snprintf(extra, sizeof extra, "\"set\":\"%s\",\"spread\":%.2f,%s", set, (most - least) / least, more);
    peer_print("siding", "1", work, n, runs, n_runs, extra);
}

static void measure(enum acl_kind kind, uint32_t n, size_t n_runs)
{
    struct acl_rule *rules = acl_rules(kind, n, 1);
    double looked_up[PEER_RUNS], planned[PEER_RUNS], gathered[PEER_RUNS], single[PEER_RUNS];
    double inserted[PEER_RUNS], removed[PEER_RUNS], loaded[PEER_RUNS];
    double bytes = 0, load_s = 0;
    struct changes last = {0, 0, 0, 0};
    uint64_t state = 99;
    if (!rules)
        exit(1);
    for (uint32_t i = 0; i < N_PACKETS; i++) {
        struct acl_packet p = acl_packet(&state, &rules[acl_below(&state, n)]);
        packets[i] = (struct tuple){p.src, p.dst, p.proto, p.sport, p.dport};
    }
    for (size_t run = 0; run < n_runs; run++) {
        struct sd_epochs epochs;
        struct sd_ternary t;
        if (!sd_epochs_init(&epochs, 1) || !sd_ternary_init(&t, keys, 5, sizeof(struct tuple), &epochs, run))
            exit(1);
        sd_epoch_quiesce(&epochs, 0);
        double begin = peer_thread_cycles();
        for (uint32_t i = 0; i < n; i++) {
            insert(&t, &rules[i], i);
            sd_epoch_quiesce(&epochs, 0);
        }
        loaded[run] = (peer_thread_cycles() - begin) / n;
        load_s = loaded[run] * n / peer_tsc_ghz() / 1e9;
        lookups(&t);
        looked_up[run] = lookups(&t);
        check_slots(&t);
        memset(slots, 0xff, sizeof slots);
        gathered[run] = gathered_lookups(&t);
        check_slots(&t);
        single[run] = single_lookups(&t);
        bytes = (double)t.plan->n_bytes / n;
        if (!sd_ternary_replan(&t))
            exit(1);
        lookups(&t);
        planned[run] = lookups(&t);
        last = change(&t, &epochs, rules, n, &state, n_runs < PEER_RUNS ? 2000 : 20000);
        inserted[run] = last.inserts;
        removed[run] = last.removes;
        sd_ternary_free(&t);
        sd_epochs_free(&epochs);
    }
    char more[120];
    const char *set = acl_kind_names[kind];
    snprintf(more, sizeof more, "\"unit\":\"lookup\",\"burst\":32,\"bytes_per_entry\":%.0f", bytes);
    print("lookup", set, n, looked_up, n_runs, more);
    print("planned", set, n, planned, n_runs, "\"unit\":\"lookup\",\"burst\":32");
    print("gathered", set, n, gathered, n_runs, "\"unit\":\"lookup\",\"burst\":32");
    print("one", set, n, single, n_runs, "\"unit\":\"lookup\",\"burst\":1");
    snprintf(more, sizeof more, "\"unit\":\"rule\",\"mean_us\":%.2f,\"worst_us\":%.0f", last.mean_us, last.worst_us);
    print("insert", set, n, inserted, n_runs, more);
    print("remove", set, n, removed, n_runs, "\"unit\":\"rule\"");
    snprintf(more, sizeof more, "\"unit\":\"rule\",\"load_s\":%.4f", load_s);
    print("load", set, n, loaded, n_runs, more);
    free(rules);
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = {100, 1000, 10000};
    size_t n_runs = peer_flag(argc, argv, "--quick") ? 3 : PEER_RUNS;
    const char *set = NULL;
    uint32_t size = 0;
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--set") == 0)
            set = argv[i + 1];
        if (strcmp(argv[i], "--size") == 0)
            size = (uint32_t)strtoul(argv[i + 1], NULL, 10);
    }
    if (size > 100000)
        return fprintf(stderr, "ternary: at most 100000 rules\n"), 2;
    for (enum acl_kind kind = 0; kind < ACL_N_KINDS; kind++) {
        if (set && strcmp(set, acl_kind_names[kind]) != 0)
            continue;
        for (size_t i = 0; i < 3 && size == 0; i++)
            measure(kind, sizes[i], n_runs);
        if (size > 0)
            measure(kind, size, n_runs);
    }
    return 0;
}
