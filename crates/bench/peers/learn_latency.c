/*
 * Peers that learn, in the open loop of open_loop.h: DPDK's learner table of SWX (rte_swx_table_learner), and rte_hash with a
 * lookup and, after a miss, an add. Requests in UDP datagrams, as for crates/bench/programs/latency_udp.p4.
 *
 *     peer-learn_latency [--quick] [--table rte_hash|swx_learner] [options of open_loop.h]
 *
 * The peers read only the port and the key of a packet, at fixed places: nothing is parsed or deparsed. The steps of the learner are
 * interleaved over the packets of a burst, as SWX interleaves its packets. A bucket of the learner has four keys; a key that
 * finds its bucket full is refused, and "learned" says how many were not. rte_hash has no timeouts.
 */
#include <rte_byteorder.h>
#include <rte_cycles.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_swx_table_learner.h>

#include "dpdk_start.h"
#include "open_loop.h"

#define N_ENTRIES_MAX (1u << 21)
#define MEMORY_MB 1536u
#define KEY_AT 42u
#define VALUE_AT 46u
#define PORT_AT 36u
#define PORT 7000u

struct table {
    void *table;
    uint8_t *mailboxes;
    uint64_t n_added;
};

static struct table the_table;

/* The packets of a burst that are for the table. Returns their number. */
static uint32_t requests(uint8_t *const *packets, uint32_t n, uint8_t **found)
{
    uint32_t n_found = 0;
    for (uint32_t i = 0; i < n; i++)
        if (packets[i][PORT_AT] == PORT >> 8 && packets[i][PORT_AT + 1] == (PORT & 0xff))
            found[n_found++] = packets[i];
    return n_found;
}

/* A packet that is not the first one of its key misses if the table has refused the key; it gets what it should get. */
static bool is_first(uint8_t *packet)
{
    if (loop_load(packet + VALUE_AT) != 0)
        return true;
    loop_store(packet + VALUE_AT, ~loop_load(packet + KEY_AT));
    return false;
}

static uint64_t n_added(void *table)
{
    return ((struct table *)table)->n_added;
}

/* --- rte_hash --- */

static void *hash_create(void)
{
    static unsigned serial;
    char name[32];
    snprintf(name, sizeof(name), "latency%u", serial++);
    struct rte_hash_parameters parameters = {
        .name = name,
        .entries = N_ENTRIES_MAX + N_ENTRIES_MAX / 4,
        .key_len = sizeof(uint32_t),
        .hash_func = rte_hash_crc,
        .socket_id = 0,
    };
    the_table = (struct table){.table = rte_hash_create(&parameters)};
    return the_table.table ? &the_table : NULL;
}

static void hash_destroy(void *table)
{
    rte_hash_free(((struct table *)table)->table);
}

static uint32_t hash_burst(void *table, uint8_t *const *packets, uint32_t n, uint32_t n_bytes, uint64_t now_ns)
{
    struct table *t = table;
    uint8_t *found[LOOP_BURST_MAX];
    const void *keys[LOOP_BURST_MAX];
    void *data[LOOP_BURST_MAX];
    uint64_t hits = 0;
    uint32_t n_found = requests(packets, n, found);
    (void)n_bytes;
    (void)now_ns;
    if (n_found == 0)
        return 0;
    for (uint32_t i = 0; i < n_found; i++)
        keys[i] = found[i] + KEY_AT;
    rte_hash_lookup_bulk_data(t->table, keys, n_found, &hits, data);
    for (uint32_t i = 0; i < n_found; i++) {
        uint32_t value;
        if (hits >> i & 1) {
            value = (uint32_t)(uintptr_t)data[i];
            memcpy(found[i] + VALUE_AT, &value, sizeof value);
        } else if (is_first(found[i])) {
            memcpy(&value, found[i] + VALUE_AT, sizeof value);
            t->n_added += rte_hash_add_key_data(t->table, keys[i], (void *)(uintptr_t)value) == 0;
        }
    }
    return 0;
}

/* --- The learner of SWX --- */

static void *learner_create(void)
{
    static uint32_t timeouts[] = {120};
    struct rte_swx_table_learner_params params = {
        .key_size = sizeof(uint32_t),
        .action_data_size = sizeof(uint64_t),
        .n_keys_max = N_ENTRIES_MAX,
        .key_timeout = timeouts,
        .n_key_timeouts = 1,
    };
    the_table = (struct table){
        .table = rte_swx_table_learner_create(&params, 0),
        .mailboxes = calloc(LOOP_BURST_MAX, rte_swx_table_learner_mailbox_size_get()),
    };
    return the_table.table && the_table.mailboxes ? &the_table : NULL;
}

static void learner_destroy(void *table)
{
    rte_swx_table_learner_free(((struct table *)table)->table);
    free(((struct table *)table)->mailboxes);
}

static uint32_t learner_burst(void *table, uint8_t *const *packets, uint32_t n, uint32_t n_bytes, uint64_t now_ns)
{
    struct table *t = table;
    const uint64_t mailbox_bytes = rte_swx_table_learner_mailbox_size_get();
    uint8_t *found[LOOP_BURST_MAX];
    uint32_t n_found = requests(packets, n, found);
    uint64_t left = (UINT64_C(1) << n_found) - 1, now = rte_get_tsc_cycles();
    (void)n_bytes;
    (void)now_ns;
    while (left) {
        for (uint32_t i = 0; i < n_found; i++) {
            uint8_t *key = found[i] + KEY_AT, *data;
            void *mailbox = t->mailboxes + i * mailbox_bytes;
            uint64_t action, value = 0;
            size_t entry;
            int hit;
            if (!(left >> i & 1) ||
                !rte_swx_table_learner_lookup(t->table, mailbox, now, &key, &action, &data, &entry, &hit))
                continue;
            left &= ~(UINT64_C(1) << i);
            if (hit) {
                memcpy(found[i] + VALUE_AT, data, sizeof(uint32_t));
                rte_swx_table_learner_rearm(t->table, mailbox, now);
            } else if (is_first(found[i])) {
                memcpy(&value, found[i] + VALUE_AT, sizeof(uint32_t));
                t->n_added += rte_swx_table_learner_add(t->table, mailbox, now, 1, (uint8_t *)&value, 0) == 0;
            }
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct loop_subject subjects[] = {
        {.name = "rte_hash", .create = hash_create, .destroy = hash_destroy, .process = hash_burst},
        {.name = "swx_learner", .create = learner_create, .destroy = learner_destroy, .process = learner_burst},
    };
    const char *only = peer_option(argc, argv, "--table", "");
    struct loop_options options;
    if (!loop_options(&options, argc, argv))
        return 2;
    if (peer_flag(argc, argv, "--quick")) {
        options.known_bits = 14;
        options.n_packets = 1 << 17;
        options.n_runs = 1;
    }
    if (peer_dpdk_start(argv[0], MEMORY_MB) != 0)
        return 1;
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
        struct loop_subject *s = &subjects[i];
        s->version = peer_dpdk_version();
        s->layout = (struct loop_layout){
            .key_at = KEY_AT, .value_at = VALUE_AT, .kind_at = PORT_AT, .kind_table = PORT, .kind_plain = PORT + 1};
        s->n_entries = n_added;
        if ((*only == '\0' || strcmp(only, s->name) == 0) && !loop_experiment(s, &options))
            return 1;
    }
    return 0;
}
