/*
 * Peer: DPDK's rte_hash, the cuckoo hash table. 16-byte keys; bulk lookups in bursts of 32 that all
 * hit, one writer.
 *
 *     peer-rte_hash [--quick] [--size N]
 *
 * Timed for "lookup": the 32 pointers to the keys and rte_hash_lookup_bulk. The keys lie one after
 * another, as they would in extracted headers, in random order of entries. Timed for "insert":
 * rte_hash_add_key_data, one key at a time, from an empty table to N entries. The table is created
 * for a quarter more entries than it is given: without the extendable buckets a cuckoo table may
 * refuse its last few per cent.
 */
#include <rte_hash.h>
#include <rte_hash_crc.h>

#include "dpdk_start.h"

#define BURSTS_PER_SLICE 64

_Static_assert(sizeof(struct peer_key) == 16, "the workload is a 16-byte key");

static struct rte_hash *create(uint64_t n_entries)
{
    static unsigned serial;
    char name[32];
    snprintf(name, sizeof(name), "peer%u", serial++);
    struct rte_hash_parameters parameters = {
        .name = name,
        .entries = (uint32_t)(n_entries + n_entries / 4 + 16),
        .key_len = sizeof(struct peer_key),
        .hash_func = rte_hash_crc,
        .socket_id = 0,
    };
    return rte_hash_create(&parameters);
}

/* Fills `table` with all keys; returns cycles per insert, or a negative number. */
static double fill(struct rte_hash *table, const struct peer_key *keys, uint64_t n_entries)
{
    double begin = peer_thread_cycles();
    for (uint64_t i = 0; i < n_entries; i++)
        if (rte_hash_add_key_data(table, &keys[i], (void *)(uintptr_t)(i + 1)) != 0)
            return -1;
    return (peer_thread_cycles() - begin) / (double)n_entries;
}

/* One pass over `order`, whose length is a multiple of a slice; returns cycles per lookup, or a
 * negative number. */
static double look_up(const struct rte_hash *table, const struct peer_key *order, size_t n_order)
{
    static struct peer_slices slices;
    slices.n = 0;
    for (size_t at = 0; at < n_order; at += (size_t)BURSTS_PER_SLICE * PEER_BURST) {
        int32_t all = 0;
        uint64_t begin = peer_tsc();
        for (size_t burst = 0; burst < BURSTS_PER_SLICE; burst++) {
            const void *keys[PEER_BURST];
            int32_t positions[PEER_BURST];
            for (size_t i = 0; i < PEER_BURST; i++)
                keys[i] = &order[at + burst * PEER_BURST + i];
            rte_hash_lookup_bulk(table, keys, PEER_BURST, positions);
            for (size_t i = 0; i < PEER_BURST; i++)
                all |= positions[i];
        }
        peer_slice_add(&slices, begin, peer_tsc(), (size_t)BURSTS_PER_SLICE * PEER_BURST);
        if (all < 0)
            return -1;
    }
    return peer_median(slices.values, slices.n);
}

static int measure(size_t n_entries, size_t n_runs)
{
    /* Twice the entries, so that a large table's lookups do not stay in the cache; at most 4 Mi
     * lookups a run. */
    size_t n_order = (size_t)BURSTS_PER_SLICE * PEER_BURST * 64;
    while (n_order < 2 * n_entries && n_order < ((size_t)4 << 20))
        n_order *= 2;
    struct peer_key *keys = malloc(n_entries * sizeof(*keys));
    struct peer_key *order = malloc(n_order * sizeof(*order));
    double inserts[PEER_RUNS], lookups[PEER_RUNS];
    struct rte_hash *table = NULL;
    uint64_t state = 7;
    int status = -1;
    char extra[160];

    if (keys == NULL || order == NULL)
        goto done;
    for (uint64_t i = 0; i < n_entries; i++)
        keys[i] = peer_key_at(i);
    for (size_t i = 0; i < n_order; i++)
        order[i] = keys[peer_random_below(&state, (uint32_t)n_entries)];

    /* Filling 10 million entries takes seconds: fewer fills of those. */
    size_t n_fills = n_entries > 2000000 && n_runs > 3 ? 3 : n_runs;
    /* The first fill also loads the code: it is not counted where it would show. */
    size_t n_warm = n_entries > 100000 ? 0 : 1;
    for (size_t fills = 0; fills < n_warm + n_fills; fills++) {
        rte_hash_free(table);
        table = create(n_entries);
        double cycles = table == NULL ? -1 : fill(table, keys, n_entries);
        if (cycles < 0)
            goto done;
        if (fills >= n_warm)
            inserts[fills - n_warm] = cycles;
    }
    look_up(table, order, n_order);
    for (size_t run = 0; run < n_runs; run++)
        if ((lookups[run] = look_up(table, order, n_order)) < 0)
            goto done;

    snprintf(extra, sizeof(extra), "\"unit\":\"lookup\",\"key_bytes\":16,\"burst\":%d", PEER_BURST);
    peer_dpdk_print("rte_hash", "lookup", n_entries, lookups, n_runs, extra);
    peer_dpdk_print("rte_hash", "insert", n_entries, inserts, n_fills,
                    "\"unit\":\"insert\",\"key_bytes\":16");
    status = 0;
done:
    if (status != 0)
        fprintf(stderr, "peer-rte_hash: %zu entries do not fit or are not found\n", n_entries);
    rte_hash_free(table);
    free(order);
    free(keys);
    return status;
}

int main(int argc, char **argv)
{
    static const struct peer_program program = {
        .name = "rte_hash",
        .what = "entries",
        .sizes = {10, 1000, 100000, 1000000, 10000000},
        .quick_max = 100000,
        .size_max = 100000000,
        .memory_mb = 64,
        .n_per_mb = 7000,
        .measure = measure,
    };
    return peer_main(argc, argv, &program);
}
