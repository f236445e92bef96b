/*
 * How fast exact tables are: lookups in bursts, inserts, replacing and removing, the longest pause, memory.
 *
 *     cc -std=gnu11 -O3 -march=native -I rt -I crates/bench/peers crates/bench/c/tables/exact.c -o exact
 *     ./exact [--quick] [--size N [--tables]]
 *
 * One JSON object per line, with the keys of crates/bench/peers; keys are those of crates/bench/peers/rte_hash.c, 16 bytes, with 8
 * bytes of data. Works: "lookup" (32 keys lying one after another, all hit, sd_exact_find_bulk), "lookup-steps" (the
 * same through start, approach and finish with an array of pointers to keys, as generated code does), "lookup-miss",
 * "lookup-one" (the next key depends on what was found), "insert" (batches of 1,000 into an empty table that grows),
 * "insert-reserved" (with room made before), "insert-one" (one at a time; `pause_us` and `pause_us_p90`:
 * median and ninth decile of those that had to replace a segment, that is of those that took over 3 us),
 * "insert-miss" (a bulk of 32 that are looked up, then inserted), "replace", "remove". Memory: `bytes_per_entry` as the
 * table counts, `resident_per_entry` as the system does, `huge_share` how much of it is in huge pages. "insert" includes
 * getting the memory from the system, "insert-reserved" does not: `reserve` are the cycles of that for each entry.
 *
 * The rest goes the way of the control plane, through sd_control_ops into a table with one action: "table-insert"
 * (batches of 1,000 into a table that grows), "table-insert-reserved" (with room made before by table_reserve; `reserve`
 * as above), "table-insert-one", and batches into a table whose entries also count packets, so that they are kept apart
 * from what the engine keeps ("counted-insert"). rte_hash has all its memory before its clock starts, so that the two
 * with "reserved" do as it does; those that grow do more. What a batch is told with is in the near caches, as
 * from somebody who has just decoded it. Their bytes are all that such a table takes.
 */
#include <inttypes.h>
#include <unistd.h>

#include "sd_runtime.h"

#include "workload.h"

#define BURSTS_PER_SLICE 64
#define BATCH 1000

static const struct sd_exact_shape shape = {16, 8, true};

static uint64_t resident_bytes(void)
{
    unsigned long all = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%lu %lu", &all, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* How much of all anonymous memory is in huge pages. */
static double huge_share(void)
{
    char line[200];
    double anonymous = 0, huge = 0, n;
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "Anonymous: %lf", &n) == 1)
            anonymous = n;
        if (sscanf(line, "AnonHugePages: %lf", &n) == 1)
            huge = n;
    }
    if (f)
        fclose(f);
    return anonymous > 0 ? huge / anonymous : 0;
}

static bool make(struct sd_exact *t, struct sd_epochs *epochs)
{
    return sd_exact_init(t, shape, 7, UINT64_MAX, epochs);
}

/* --- Lookups --- */

enum how { BULK, STEPS, ONE };

/* One pass over `order`; cycles per lookup, or a negative number where the number of hits is not as it should be. */
static __attribute__((noinline)) double look_up(const struct sd_exact *t, enum how how, const struct peer_key *order,
                                                size_t n_order, bool is_hit)
{
    static struct peer_slices slices;
    slices.n = 0;
    for (size_t at = 0; at < n_order; at += (size_t)BURSTS_PER_SLICE * PEER_BURST) {
        uint64_t n_found = 0, last = 0, begin = peer_tsc();
        for (size_t burst = 0; burst < BURSTS_PER_SLICE; burst++) {
            const struct peer_key *keys = &order[at + burst * PEER_BURST];
            uint8_t *values[PEER_BURST];
            switch (how) {
            case BULK:
                n_found += sd_exact_find_bulk(t, shape, keys, sizeof *keys, PEER_BURST, values);
                __asm__ volatile("" : : "r"(values) : "memory");
                break;
            case STEPS: {
                const struct peer_key *pointers[PEER_BURST];
                struct sd_exact_probe probes[PEER_BURST];
                for (size_t i = 0; i < PEER_BURST; i++)
                    pointers[i] = &keys[i];
                __asm__ volatile("" : : "r"(pointers) : "memory");
                for (size_t i = 0; i < PEER_BURST; i++)
                    probes[i] = sd_exact_start(t, shape, pointers[i]);
                for (size_t i = 0; i < PEER_BURST; i++)
                    sd_exact_prefetch_entry(shape, &probes[i]);
                for (size_t i = 0; i < PEER_BURST; i++)
                    n_found += sd_exact_finish(t, shape, pointers[i], &probes[i]) != NULL;
                break;
            }
            case ONE:
                for (size_t i = 0; i < PEER_BURST; i++) {
                    struct peer_key k = keys[i];
                    /* Zero, which the processor does not know. */
                    k.words[0] += last >> 63;
                    const uint8_t *value = sd_exact_find(t, shape, &k);
                    if (value) {
                        memcpy(&last, value, 8);
                        n_found++;
                    }
                }
                break;
            }
        }
        peer_slice_add(&slices, begin, peer_tsc(), (size_t)BURSTS_PER_SLICE * PEER_BURST);
        if (n_found != (is_hit ? (uint64_t)BURSTS_PER_SLICE * PEER_BURST : 0))
            return -1;
    }
    return peer_median(slices.values, slices.n);
}

/* --- Writes --- */

enum write { INSERT, INSERT_RESERVED, INSERT_ONE, INSERT_MISS, REPLACE, REMOVE };

#define PIECE 64000

/* Inserts that took long. */
static struct peer_slices pauses;
static double reserve_cycles;

/* All keys from 0 to `n`; cycles each, or a negative number. */
static double write_all(struct sd_exact *t, enum write write, uint64_t n)
{
    static struct peer_key keys[PIECE];
    static uint64_t values[PIECE];
    double cycles = 0;
    if (write == INSERT_RESERVED) {
        double begin = peer_thread_cycles();
        if (sd_exact_reserve(t, n) != SD_OK)
            return -1;
        reserve_cycles = (peer_thread_cycles() - begin) / (double)n;
    }
    for (uint64_t from = 0; from < n; from += PIECE) {
        uint32_t n_piece = n - from < PIECE ? (uint32_t)(n - from) : PIECE, n_done = 0;
        for (uint32_t i = 0; i < n_piece; i++) {
            keys[i] = peer_key_at(from + i);
            values[i] = from + i;
        }
        double begin = peer_thread_cycles();
        for (uint32_t at = 0; at < n_piece; at += BATCH) {
            uint32_t n_batch = n_piece - at < BATCH ? n_piece - at : BATCH;
            switch (write) {
            case INSERT:
            case INSERT_RESERVED: {
                uint8_t statuses[BATCH];
                n_done += sd_exact_insert_batch(t, shape, &keys[at], 16, &values[at], 8, n_batch, statuses);
                break;
            }
            case INSERT_ONE:
                for (uint32_t i = at; i < at + n_batch; i++) {
                    uint64_t tsc = peer_tsc();
                    n_done += sd_exact_insert(t, shape, &keys[i], &values[i]) == SD_OK;
                    tsc = peer_tsc() - tsc;
                    if ((double)tsc > 3e3 * peer_tsc_ghz())
                        peer_slice_add(&pauses, 0, tsc, 1);
                }
                break;
            case INSERT_MISS:
                for (uint32_t i = at; i < at + n_batch; i += PEER_BURST) {
                    uint32_t n_burst = at + n_batch - i < PEER_BURST ? at + n_batch - i : PEER_BURST;
                    uint8_t *found[PEER_BURST];
                    if (sd_exact_find_bulk(t, shape, &keys[i], 16, n_burst, found) != 0)
                        return -1;
                    n_done += sd_exact_insert_batch(t, shape, &keys[i], 16, &values[i], 8, n_burst, NULL);
                }
                break;
            case REPLACE:
                for (uint32_t i = at; i < at + n_batch; i++)
                    n_done += sd_exact_replace(t, shape, &keys[i], &values[i]) == SD_OK;
                break;
            case REMOVE:
                for (uint32_t i = at; i < at + n_batch; i++)
                    n_done += sd_exact_remove(t, shape, &keys[i]) == SD_OK;
                break;
            }
        }
        cycles += peer_thread_cycles() - begin;
        if (n_done != n_piece)
            return -1;
    }
    return cycles / (double)n;
}

/* --- Through the control plane --- */

enum table_write { TABLE_BATCHES, TABLE_RESERVED, TABLE_ONE };

static const struct sd_value_type data_leaf = {0, 8, 64, 0};
static const struct sd_action_type set_action = {"set", 1, &data_leaf, 8};
static const struct sd_key_type table_key = {"key", {0, 16, 128, 0}, SD_MATCH_EXACT, 0};

static struct sd_instance *make_instance(struct sd_pipeline *pipeline, struct sd_table_type *type, bool is_counted)
{
    *type = (struct sd_table_type){
        .name = "table",
        .n_keys = 1,
        .keys = &table_key,
        .key_bytes = 16,
        .n_actions = 1,
        .actions = &set_action,
        .data_bytes = 8,
        .size = UINT64_MAX,
        .profile = UINT32_MAX,
        .has_direct_counter = is_counted,
        .structure = SD_STRUCTURE_EXACT,
        .entries_are_inline = !is_counted,
        .concurrent_ops = SD_CONCURRENT_INSERT | SD_CONCURRENT_REMOVE,
    };
    *pipeline = (struct sd_pipeline){.state_bytes = 8, .state_align = 8, .n_tables = 1, .tables = type};
    struct sd_config config = {.n_workers = 1, .seed = 7};
    return sd_instance_create(pipeline, &config);
}

/* All keys from 0 to `n`; cycles each, or a negative number. */
static double write_table(struct sd_instance *instance, enum table_write write, uint64_t n)
{
    static struct peer_key keys[PIECE];
    static uint64_t values[PIECE], handles[BATCH];
    static struct sd_entry_view views[BATCH];
    static const uint64_t ones[2] = {UINT64_MAX, UINT64_MAX};
    double cycles = 0;
    if (write == TABLE_RESERVED) {
        double begin = peer_thread_cycles();
        if (sd_control_ops.table_reserve(instance, 0, n) != SD_OK)
            return -1;
        reserve_cycles = (peer_thread_cycles() - begin) / (double)n;
    }
    for (uint64_t from = 0; from < n; from += PIECE) {
        uint32_t n_piece = n - from < PIECE ? (uint32_t)(n - from) : PIECE, n_done = 0;
        for (uint32_t i = 0; i < n_piece; i++) {
            keys[i] = peer_key_at(from + i);
            values[i] = from + i;
        }
        for (uint32_t at = 0; at < n_piece; at += BATCH) {
            uint32_t n_batch = n_piece - at < BATCH ? n_piece - at : BATCH;
            uint8_t statuses[BATCH];
            for (uint32_t i = 0; i < n_batch; i++)
                views[i] = (struct sd_entry_view){
                    .value = (const uint8_t *)&keys[at + i],
                    .mask = (const uint8_t *)ones,
                    .kind = SD_ENTRY_ACTION,
                    .data = (const uint8_t *)&values[at + i],
                };
            double begin = peer_thread_cycles();
            if (write != TABLE_ONE)
                n_done += sd_control_ops.table_insert_batch(instance, 0, views, n_batch, 1, handles, statuses);
            for (uint32_t i = 0; write == TABLE_ONE && i < n_batch; i++)
                n_done += sd_control_ops.table_insert(instance, 0, &views[i], 1, handles) == SD_OK;
            cycles += peer_thread_cycles() - begin;
        }
        if (n_done != n_piece)
            return -1;
    }
    return cycles / (double)n;
}

static int measure_tables(uint64_t n_entries, size_t n_runs)
{
    static const struct {
        const char *name;
        enum table_write write;
        bool is_counted;
    } works[] = {{"table-insert-reserved", TABLE_RESERVED, false},
                 {"table-insert", TABLE_BATCHES, false},
                 {"table-insert-one", TABLE_ONE, false},
                 {"counted-insert", TABLE_BATCHES, true}};
    /* The last two of the largest tables would take minutes. */
    size_t n_works = n_entries > 20000000 ? 2 : SD_ARRAY_LEN(works);
    for (size_t w = 0; w < n_works; w++) {
        double runs[PEER_RUNS];
        char extra[200];
        for (size_t run = 0; run < n_runs; run++) {
            struct sd_pipeline pipeline;
            struct sd_table_type type;
            uint64_t resident = resident_bytes();
            struct sd_instance *instance = make_instance(&pipeline, &type, works[w].is_counted);
            if (!instance || (runs[run] = write_table(instance, works[w].write, n_entries)) < 0) {
                fprintf(stderr, "exact: no table of %" PRIu64 " entries\n", n_entries);
                sd_instance_destroy(instance);
                return 1;
            }
            double n = (double)n_entries, n_bytes = (double)sd_exact_table_bytes(&instance->tables[0]);
            double n_resident = (double)(resident_bytes() - resident);
            int at = snprintf(extra, sizeof extra,
                              "\"unit\":\"insert\",\"key_bytes\":16,\"bytes_per_entry\":%.1f,\"resident_per_entry\":%.1f",
                              n_bytes / n, n_resident / n);
            if (works[w].write == TABLE_RESERVED)
                snprintf(extra + at, sizeof extra - (size_t)at, ",\"reserve\":%.1f", reserve_cycles);
            sd_instance_destroy(instance);
        }
        peer_print("siding", "0", works[w].name, n_entries, runs, n_runs, extra);
    }
    return 0;
}

static int measure(uint64_t n_entries, size_t n_runs)
{
    size_t n_order = (size_t)BURSTS_PER_SLICE * PEER_BURST * 64;
    while (n_order < 2 * n_entries && n_order < ((size_t)4 << 20))
        n_order *= 2;
    struct peer_key *order = malloc(n_order * sizeof *order), *absent = malloc(n_order * sizeof *absent);
    struct sd_epochs epochs;
    struct sd_exact t;
    uint64_t state = 7;
    double runs[PEER_RUNS];
    char extra[200];
    if (!order || !absent || !sd_epochs_init(&epochs, 1))
        return 1;
    for (size_t i = 0; i < n_order; i++) {
        order[i] = peer_key_at(peer_random_below(&state, (uint32_t)n_entries));
        absent[i] = peer_key_at(n_entries + peer_random_below(&state, (uint32_t)n_entries));
    }
    static const struct {
        enum write write;
        const char *name;
    } fills[] = {{INSERT_RESERVED, "insert-reserved"}, {INSERT_ONE, "insert-one"}, {INSERT_MISS, "insert-miss"},
                 {INSERT, "insert"}};
    size_t n_fills = n_entries > 20000000 ? 1 : n_entries > 2000000 && n_runs > 3 ? 3 : n_runs;
    memset(&t, 0, sizeof t);
    for (size_t f = 0; f < SD_ARRAY_LEN(fills); f++) {
        /* Minutes. */
        if (n_entries > 20000000 && (fills[f].write == INSERT_ONE || fills[f].write == INSERT_MISS))
            continue;
        uint64_t resident = 0;
        for (size_t run = 0; run < n_fills; run++) {
            sd_exact_free(&t);
            resident = resident_bytes();
            pauses.n = 0;
            if (!make(&t, &epochs) || (runs[run] = write_all(&t, fills[f].write, n_entries)) < 0)
                goto failed;
            resident = resident_bytes() - resident;
        }
        int n = snprintf(extra, sizeof extra, "\"unit\":\"insert\",\"key_bytes\":16,\"bytes_per_entry\":%.1f",
                         (double)sd_exact_bytes(&t) / (double)n_entries);
        if (fills[f].write == INSERT_ONE && pauses.n > 0) {
            double us = 1 / peer_tsc_ghz() / 1e3, median = peer_median(pauses.values, pauses.n) * us;
            snprintf(extra + n, sizeof extra - (size_t)n, ",\"pause_us\":%.1f,\"pause_us_p90\":%.1f", median,
                     pauses.values[pauses.n * 9 / 10] * us);
        } else if (fills[f].write == INSERT_RESERVED) {
            snprintf(extra + n, sizeof extra - (size_t)n, ",\"reserve\":%.1f", reserve_cycles);
        } else if (n_entries >= 100000) {
            snprintf(extra + n, sizeof extra - (size_t)n, ",\"resident_per_entry\":%.1f,\"huge_share\":%.2f",
                     (double)resident / (double)n_entries, huge_share());
        }
        peer_print("siding", "0", fills[f].name, n_entries, runs, n_fills, extra);
    }
    static const struct {
        enum how how;
        bool is_hit;
        const char *name;
    } lookups[] = {{BULK, true, "lookup"}, {STEPS, true, "lookup-steps"}, {BULK, false, "lookup-miss"},
                   {ONE, true, "lookup-one"}};
    for (size_t l = 0; l < SD_ARRAY_LEN(lookups); l++) {
        const struct peer_key *keys = lookups[l].is_hit ? order : absent;
        look_up(&t, lookups[l].how, keys, n_order, lookups[l].is_hit);
        for (size_t run = 0; run < n_runs; run++)
            if ((runs[run] = look_up(&t, lookups[l].how, keys, n_order, lookups[l].is_hit)) < 0)
                goto failed;
        snprintf(extra, sizeof extra, "\"unit\":\"lookup\",\"key_bytes\":16,\"burst\":%d,\"bytes_per_entry\":%.1f",
                 PEER_BURST, (double)sd_exact_bytes(&t) / (double)n_entries);
        peer_print("siding", "0", lookups[l].name, n_entries, runs, n_runs, extra);
    }
    /* Once, for afterwards nothing is left. */
    static const char *const changes[] = {"replace", "remove"};
    for (size_t c = 0; c < SD_ARRAY_LEN(changes); c++) {
        if ((runs[0] = write_all(&t, c ? REMOVE : REPLACE, n_entries)) < 0)
            goto failed;
        peer_print("siding", "0", changes[c], n_entries, runs, 1, "\"unit\":\"entry\",\"key_bytes\":16");
    }
    sd_exact_free(&t);
    sd_epochs_free(&epochs);
    free(order);
    free(absent);
    return measure_tables(n_entries, n_fills);
failed:
    fprintf(stderr, "exact: %" PRIu64 " entries do not fit or are not found\n", n_entries);
    return 1;
}

int main(int argc, char **argv)
{
    static const uint64_t sizes[] = {10, 1000, 100000, 1000000, 10000000, 50000000};
    int quick = peer_flag(argc, argv, "--quick");
    uint64_t only = strtoull(peer_option(argc, argv, "--size", "0"), NULL, 10);
    size_t n_runs = quick ? 5 : PEER_RUNS;
    if (only > 1000000000)
        return 1;
    if (only != 0 && peer_flag(argc, argv, "--tables"))
        return measure_tables(only, n_runs);
    if (only != 0)
        return measure(only, n_runs);
    for (size_t i = 0; i < SD_ARRAY_LEN(sizes) && sizes[i] <= (quick ? 1000000 : 50000000); i++)
        if (measure(sizes[i], n_runs) != 0)
            return 1;
    return 0;
}
