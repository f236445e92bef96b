/*
 * Peers that learn: DPDK's learner table of SWX (rte_swx_table_learner), and rte_hash with a lookup and, after a miss, an add.
 * 4-byte keys with 4 bytes of data, bursts of 32, one thread.
 *
 *     peer-learn [--quick] [--size N]
 *
 * Timed for "learn": all keys are new, from an empty table to N entries. Timed for "hit": keys of the table at random. The
 * learner's steps are interleaved over the packets of a burst, as SWX interleaves its packets. A bucket of the learner has four
 * keys; a key that finds its bucket full is refused: "refused" is their share. rte_hash has no timeouts. Nothing but the table
 * is timed: no packet is parsed.
 */
#include <rte_cycles.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_swx_table_learner.h>

#include "dpdk_start.h"

#define BURSTS_PER_SLICE 64
#define N_SLICE ((size_t)BURSTS_PER_SLICE * PEER_BURST)

/* Different for each number below 2^32. */
static uint32_t key_of(uint64_t number)
{
    return (uint32_t)number * 2654435761u;
}

enum work { LEARN, HIT };

struct subject {
    const char *name;
    void *(*create)(size_t n_entries);
    void (*destroy)(void *table);
    /* Runs one burst; returns how many keys were refused. */
    uint32_t (*burst)(void *table, const uint32_t *keys, enum work work);
};

/* --- rte_hash --- */

static void *hash_create(size_t n_entries)
{
    static unsigned serial;
    char name[32];
    snprintf(name, sizeof(name), "learn%u", serial++);
    struct rte_hash_parameters parameters = {
        .name = name,
        .entries = (uint32_t)(n_entries + n_entries / 4 + 16),
        .key_len = sizeof(uint32_t),
        .hash_func = rte_hash_crc,
        .socket_id = 0,
    };
    return rte_hash_create(&parameters);
}

static void hash_destroy(void *table)
{
    rte_hash_free(table);
}

static uint32_t hash_burst(void *table, const uint32_t *keys, enum work work)
{
    const void *pointers[PEER_BURST];
    void *data[PEER_BURST];
    uint64_t hits = 0;
    uint32_t n_refused = 0;
    for (size_t i = 0; i < PEER_BURST; i++)
        pointers[i] = &keys[i];
    rte_hash_lookup_bulk_data(table, pointers, PEER_BURST, &hits, data);
    for (size_t i = 0; i < PEER_BURST; i++)
        if (!(hits >> i & 1))
            n_refused += work == HIT || rte_hash_add_key_data(table, &keys[i], (void *)(uintptr_t)(~keys[i])) != 0;
    return n_refused;
}

/* --- The learner of SWX --- */

static uint8_t *mailboxes;

static void *learner_create(size_t n_entries)
{
    static uint32_t timeouts[] = {120};
    struct rte_swx_table_learner_params params = {
        .key_size = sizeof(uint32_t),
        .action_data_size = sizeof(uint64_t),
        .n_keys_max = (uint32_t)(n_entries * 2),
        .key_timeout = timeouts,
        .n_key_timeouts = 1,
    };
    free(mailboxes);
    mailboxes = calloc(PEER_BURST, rte_swx_table_learner_mailbox_size_get());
    return mailboxes ? rte_swx_table_learner_create(&params, 0) : NULL;
}

static void learner_destroy(void *table)
{
    rte_swx_table_learner_free(table);
}

static uint32_t learner_burst(void *table, const uint32_t *keys, enum work work)
{
    const uint64_t mailbox_bytes = rte_swx_table_learner_mailbox_size_get();
    uint32_t n_refused = 0, left = UINT32_MAX;
    uint64_t now = rte_get_tsc_cycles();
    while (left) {
        for (uint32_t i = 0; i < PEER_BURST; i++) {
            uint8_t *key = (uint8_t *)(uintptr_t)&keys[i], *data;
            void *mailbox = mailboxes + i * mailbox_bytes;
            uint64_t action, value = ~keys[i];
            size_t entry;
            int hit;
            if (!(left >> i & 1) ||
                !rte_swx_table_learner_lookup(table, mailbox, now, &key, &action, &data, &entry, &hit))
                continue;
            left &= ~(1u << i);
            if (hit)
                rte_swx_table_learner_rearm(table, mailbox, now);
            else
                n_refused += work == HIT ||
                             rte_swx_table_learner_add(table, mailbox, now, 1, (uint8_t *)&value, 0) != 0;
        }
    }
    return n_refused;
}

static const struct subject subjects[] = {
    {"rte_hash", hash_create, hash_destroy, hash_burst},
    {"swx_learner", learner_create, learner_destroy, learner_burst},
};

/* Cycles per key, the median of slices. */
static double turn(const struct subject *s, void *table, enum work work, size_t n_keys, size_t n, uint64_t *n_refused)
{
    static struct peer_slices slices;
    uint64_t state = 7, number = 0;
    slices.n = 0;
    *n_refused = 0;
    for (size_t at = 0; at < n; at += N_SLICE) {
        static uint32_t keys[BURSTS_PER_SLICE * PEER_BURST];
        for (size_t i = 0; i < N_SLICE; i++)
            keys[i] = key_of(work == LEARN ? number++ : peer_random_below(&state, (uint32_t)n_keys));
        uint64_t begin = peer_tsc();
        for (size_t burst = 0; burst < BURSTS_PER_SLICE; burst++)
            *n_refused += s->burst(table, keys + burst * PEER_BURST, work);
        peer_slice_add(&slices, begin, peer_tsc(), N_SLICE);
    }
    return peer_median(slices.values, slices.n);
}

static int measure(size_t n_entries, size_t n_runs)
{
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
        const struct subject *s = &subjects[i];
        double learns[PEER_RUNS], hits[PEER_RUNS];
        size_t n_learned = (n_entries + N_SLICE - 1) / N_SLICE * N_SLICE;
        uint64_t n_refused = 0, n_missed = 0;
        char extra[160];
        for (size_t run = 0; run < n_runs; run++) {
            void *table = s->create(n_learned);
            if (table == NULL) {
                fprintf(stderr, "peer-learn: %s: %zu entries do not fit\n", s->name, n_entries);
                return -1;
            }
            learns[run] = turn(s, table, LEARN, n_learned, n_learned, &n_refused);
            hits[run] = turn(s, table, HIT, n_learned, n_entries < 1 << 20 ? 1 << 20 : 4 << 20, &n_missed);
            s->destroy(table);
        }
        snprintf(extra, sizeof(extra), "\"unit\":\"key\",\"burst\":%d,\"refused\":%.4f", PEER_BURST,
                 (double)n_refused / (double)n_learned);
        peer_dpdk_print(s->name, "learn", n_entries, learns, n_runs, extra);
        peer_dpdk_print(s->name, "hit", n_entries, hits, n_runs, extra);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct peer_program program = {
        .name = "learn",
        .what = "entries",
        .sizes = {1000, 100000, 1000000, 10000000},
        .quick_max = 100000,
        .size_max = 20000000,
        .memory_mb = 128,
        .n_per_mb = 2500,
        .measure = measure,
    };
    return peer_main(argc, argv, &program);
}
