/*
 * Peer: DPDK's rte_fib, longest-prefix match over IPv4 by DIR24-8, with 4-byte next hops.
 *
 *     peer-rte_fib [--quick] [--size N] [--print N]
 *
 * Routes are distinct and random, their lengths drawn in about the proportions of an Internet table
 * (see `lengths`). Timed for "lookup": rte_fib_lookup_bulk on bursts of 32 addresses, each inside a
 * random route. Timed for "lookup-any": the same on addresses drawn from all of IPv4. Timed for
 * "insert": rte_fib_add, one route at a time, from an empty FIB. `--print N` prints the N routes
 * instead, as `address/length next-hop`.
 */
#include <inttypes.h>

#include <rte_fib.h>

#include "dpdk_start.h"

#define BURSTS_PER_SLICE 128

struct route {
    uint32_t address;
    uint32_t next_hop;
    uint8_t length;
};

/* Per mille of the routes by length: about an Internet table's, with a few beyond /24. */
static const uint16_t lengths[33] = {
    [8] = 1,    [10] = 1,  [12] = 2,  [13] = 2,  [14] = 3,  [15] = 3,   [16] = 15,
    [17] = 10,  [18] = 15, [19] = 30, [20] = 50, [21] = 55, [22] = 110, [23] = 100,
    [24] = 593, [26] = 2,  [28] = 2,  [30] = 2,  [32] = 4,
};

static uint32_t mask(unsigned length)
{
    return length == 0 ? 0 : ~(uint32_t)0 << (32 - length);
}

static uint8_t random_length(uint64_t *state)
{
    uint32_t at = peer_random_below(state, 1000);
    uint8_t length = 0;
    while (length < 32 && at >= lengths[length])
        at -= lengths[length++];
    return length;
}

/* Fills `routes` with `n` distinct routes. `table` is an open hash of indexes + 1, all 0, with
 * `slots` a power of 2. */
static void generate(struct route *routes, size_t n, uint32_t *table, size_t slots)
{
    uint64_t state = 0xf1b;
    for (size_t i = 0; i < n;) {
        struct route r;
        r.length = random_length(&state);
        /* 1.0.0.0 to 223.255.255.255: unicast. */
        uint32_t network = 1 + peer_random_below(&state, 223);
        r.address = (network << 24 | (uint32_t)(peer_random(&state) & 0xffffff)) & mask(r.length);
        r.next_hop = 1 + peer_random_below(&state, 0xffff);
        size_t slot =
            (r.address * 0x9e3779b97f4a7c15u ^ r.length * 0xff51afd7ed558ccdu) >> 20 & (slots - 1);
        while (table[slot] != 0
               && (routes[table[slot] - 1].address != r.address
                   || routes[table[slot] - 1].length != r.length))
            slot = (slot + 1) & (slots - 1);
        /* Short lengths run out (there are few /8): such a draw is drawn again. */
        if (table[slot] == 0) {
            routes[i] = r;
            table[slot] = (uint32_t)++i;
        }
    }
}

static struct rte_fib *create(size_t n_routes)
{
    static unsigned serial;
    char name[32];
    snprintf(name, sizeof(name), "peer%u", serial++);
    struct rte_fib_conf conf = {
        .type = RTE_FIB_DIR24_8,
        .default_nh = 0,
        .max_routes = (int)n_routes + 16,
        .dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = 32768},
    };
    return rte_fib_create(name, 0, &conf);
}

static double fill(struct rte_fib *fib, const struct route *routes, size_t n)
{
    double begin = peer_thread_cycles();
    for (size_t i = 0; i < n; i++)
        if (rte_fib_add(fib, routes[i].address, routes[i].length, routes[i].next_hop) != 0)
            return -1;
    return (peer_thread_cycles() - begin) / (double)n;
}

static double look_up(struct rte_fib *fib, uint32_t *order, size_t n_order)
{
    static struct peer_slices slices;
    slices.n = 0;
    for (size_t at = 0; at < n_order; at += (size_t)BURSTS_PER_SLICE * PEER_BURST) {
        uint64_t sum = 0;
        uint64_t begin = peer_tsc();
        for (size_t burst = 0; burst < BURSTS_PER_SLICE; burst++) {
            uint64_t next_hops[PEER_BURST];
            rte_fib_lookup_bulk(fib, &order[at + burst * PEER_BURST], next_hops, PEER_BURST);
            for (size_t i = 0; i < PEER_BURST; i++)
                sum += next_hops[i];
        }
        peer_slice_add(&slices, begin, peer_tsc(), (size_t)BURSTS_PER_SLICE * PEER_BURST);
        __asm__ volatile("" : : "r"(sum));
    }
    return peer_median(slices.values, slices.n);
}

/* Compares the first addresses of `order` with the longest of all routes that contain them. */
static int check(struct rte_fib *fib, const struct route *routes, size_t n, uint32_t *order)
{
    uint64_t found[PEER_BURST];
    rte_fib_lookup_bulk(fib, order, found, PEER_BURST);
    for (size_t a = 0; a < PEER_BURST; a++) {
        const struct route *best = NULL;
        for (size_t i = 0; i < n; i++)
            if ((order[a] & mask(routes[i].length)) == routes[i].address
                && (best == NULL || routes[i].length > best->length))
                best = &routes[i];
        if (found[a] != (best == NULL ? 0 : best->next_hop))
            return -1;
    }
    return 0;
}

/* All routes, or NULL when memory is short. */
static struct route *make_routes(size_t n)
{
    size_t slots = 1024;
    while (slots < 2 * n)
        slots *= 2;
    struct route *routes = calloc(n, sizeof(*routes));
    uint32_t *table = calloc(slots, sizeof(*table));
    if (routes != NULL && table != NULL) {
        generate(routes, n, table, slots);
    } else {
        free(routes);
        routes = NULL;
    }
    free(table);
    return routes;
}

static int print(size_t n)
{
    struct route *routes = make_routes(n);
    for (size_t i = 0; routes != NULL && i < n; i++)
        printf("%u.%u.%u.%u/%u %u\n", routes[i].address >> 24, routes[i].address >> 16 & 255,
               routes[i].address >> 8 & 255, routes[i].address & 255, routes[i].length,
               routes[i].next_hop);
    free(routes);
    return routes == NULL ? -1 : 0;
}

static int measure(size_t n_routes, size_t n_runs)
{
    size_t n_order = (size_t)BURSTS_PER_SLICE * PEER_BURST * 256;
    struct route *routes = make_routes(n_routes);
    uint32_t *hits = malloc(n_order * sizeof(*hits));
    uint32_t *any = malloc(n_order * sizeof(*any));
    double inserts[PEER_RUNS], lookups[PEER_RUNS];
    struct rte_fib *fib = NULL;
    uint64_t state = 3;
    char extra[160];
    int status = -1;

    if (routes == NULL || hits == NULL || any == NULL)
        goto done;
    for (size_t i = 0; i < n_order; i++) {
        const struct route *r = &routes[peer_random_below(&state, (uint32_t)n_routes)];
        any[i] = (uint32_t)peer_random(&state);
        hits[i] = r->address | (any[i] & ~mask(r->length));
    }
    for (size_t run = 0; run < n_runs; run++) {
        rte_fib_free(fib);
        fib = create(n_routes);
        if (fib == NULL || (inserts[run] = fill(fib, routes, n_routes)) < 0)
            goto done;
    }
    if (check(fib, routes, n_routes, hits) != 0 || check(fib, routes, n_routes, any) != 0)
        goto done;

    snprintf(extra, sizeof(extra), "\"unit\":\"lookup\",\"burst\":%d", PEER_BURST);
    look_up(fib, hits, n_order);
    for (size_t run = 0; run < n_runs; run++)
        lookups[run] = look_up(fib, hits, n_order);
    peer_dpdk_print("rte_fib", "lookup", n_routes, lookups, n_runs, extra);
    for (size_t run = 0; run < n_runs; run++)
        lookups[run] = look_up(fib, any, n_order);
    peer_dpdk_print("rte_fib", "lookup-any", n_routes, lookups, n_runs, extra);
    peer_dpdk_print("rte_fib", "insert", n_routes, inserts, n_runs, "\"unit\":\"insert\"");
    status = 0;
done:
    if (status != 0)
        fprintf(stderr, "peer-rte_fib: %zu routes do not fit or give wrong next hops\n", n_routes);
    rte_fib_free(fib);
    free(any);
    free(hits);
    free(routes);
    return status;
}

int main(int argc, char **argv)
{
    static const struct peer_program program = {
        .name = "rte_fib",
        .what = "routes",
        .sizes = {1000, 100000, 1000000},
        .quick_max = 100000,
        .size_max = 4000000,
        .memory_mb = 300,
        .n_per_mb = 4000,
        .measure = measure,
        .print = print,
    };
    return peer_main(argc, argv, &program);
}
