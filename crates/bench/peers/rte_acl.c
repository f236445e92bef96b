/*
 * Peer: DPDK's rte_acl, packet classification over IPv4 5-tuples: protocol, addresses, ports, each
 * ternary.
 *
 *     peer-rte_acl [--quick] [--size N] [--print N]
 *
 * Rules are random; every mask is a prefix or an exact value or "any" (see `generate`), which is
 * what rte_acl's trie is made for. Every packet matches at least one rule; the rule of the highest
 * priority wins. Timed for "lookup": rte_acl_classify on bursts of 32 pointers to 13-byte 5-tuples,
 * in the best vector code of this processor ("alg"). Timed for "build": rte_acl_add_rules of all
 * rules and rte_acl_build; its line is per rule, with the whole in "build_s". rte_acl has no
 * insert: each change is such a build. `--print N` prints the rules instead.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stddef.h>

#include <rte_acl.h>

#include "dpdk_start.h"

#define BURSTS_PER_SLICE 32

/* The classifier's input, in network byte order. */
struct __attribute__((packed)) tuple {
    uint8_t protocol;
    uint32_t source, destination;
    uint16_t source_port, destination_port;
};
_Static_assert(sizeof(struct tuple) == 13, "a 5-tuple has no padding");

/* A rule in host byte order; masks are prefixes. */
struct ternary {
    uint32_t source, source_mask, destination, destination_mask;
    uint16_t source_port, source_port_mask, destination_port, destination_port_mask;
    uint8_t protocol, protocol_mask;
};

enum { PROTOCOL, SOURCE, DESTINATION, SOURCE_PORT, DESTINATION_PORT, N_FIELDS };

RTE_ACL_RULE_DEF(rule, N_FIELDS);

/* The first field must be one byte; the others come in groups of four bytes (input_index). */
static const struct rte_acl_field_def fields[N_FIELDS] = {
    {RTE_ACL_FIELD_TYPE_BITMASK, 1, PROTOCOL, 0, offsetof(struct tuple, protocol)},
    {RTE_ACL_FIELD_TYPE_MASK, 4, SOURCE, 1, offsetof(struct tuple, source)},
    {RTE_ACL_FIELD_TYPE_MASK, 4, DESTINATION, 2, offsetof(struct tuple, destination)},
    {RTE_ACL_FIELD_TYPE_RANGE, 2, SOURCE_PORT, 3, offsetof(struct tuple, source_port)},
    {RTE_ACL_FIELD_TYPE_RANGE, 2, DESTINATION_PORT, 3, offsetof(struct tuple, destination_port)},
};

static uint32_t prefix(unsigned length)
{
    return length == 0 ? 0 : ~(uint32_t)0 << (32 - length);
}

/* One of `n` values, all as likely. */
static unsigned pick(uint64_t *state, const uint8_t *values, uint32_t n)
{
    return values[peer_random_below(state, n)];
}

static void generate(struct ternary *rules, size_t n)
{
    static const uint8_t source_lengths[] = {0, 8, 16, 16, 24, 24, 24, 32, 32, 32};
    static const uint8_t destination_lengths[] = {16, 16, 24, 24, 24, 24, 28, 32, 32, 32};
    static const uint8_t source_port_lengths[] = {0, 0, 0, 0, 0, 0, 0, 0, 16, 16};
    static const uint8_t destination_port_lengths[] = {0, 0, 6, 10, 16, 16, 16, 16, 16, 16};
    static const uint8_t protocols[] = {6, 6, 6, 6, 6, 6, 17, 17, 17, 1};
    uint64_t state = 0xac1;
    for (size_t i = 0; i < n; i++) {
        struct ternary *r = &rules[i];
        r->source_mask = prefix(pick(&state, source_lengths, 10));
        r->destination_mask = prefix(pick(&state, destination_lengths, 10));
        r->source_port_mask = (uint16_t)(prefix(pick(&state, source_port_lengths, 10)) >> 16);
        r->destination_port_mask =
            (uint16_t)(prefix(pick(&state, destination_port_lengths, 10)) >> 16);
        r->protocol_mask = peer_random_below(&state, 10) == 0 ? 0 : 0xff;
        r->source = (uint32_t)peer_random(&state) & r->source_mask;
        r->destination = (uint32_t)peer_random(&state) & r->destination_mask;
        r->source_port = (uint16_t)peer_random(&state) & r->source_port_mask;
        r->destination_port = (uint16_t)peer_random(&state) & r->destination_port_mask;
        r->protocol = (uint8_t)pick(&state, protocols, 10) & r->protocol_mask;
    }
}

/* The i-th rule outranks those after it. */
static void to_acl(const struct ternary *t, size_t i, struct rule *r)
{
    memset(r, 0, sizeof(*r));
    r->data = (struct rte_acl_rule_data){.category_mask = 1,
                                         .priority = RTE_ACL_MAX_PRIORITY - (int32_t)i,
                                         .userdata = (uint32_t)i + 1};
    r->field[PROTOCOL].value.u8 = t->protocol;
    r->field[PROTOCOL].mask_range.u8 = t->protocol_mask;
    r->field[SOURCE].value.u32 = t->source;
    r->field[SOURCE].mask_range.u32 = (uint32_t)__builtin_popcount(t->source_mask);
    r->field[DESTINATION].value.u32 = t->destination;
    r->field[DESTINATION].mask_range.u32 = (uint32_t)__builtin_popcount(t->destination_mask);
    r->field[SOURCE_PORT].value.u16 = t->source_port;
    r->field[SOURCE_PORT].mask_range.u16 = t->source_port | (uint16_t)~t->source_port_mask;
    r->field[DESTINATION_PORT].value.u16 = t->destination_port;
    r->field[DESTINATION_PORT].mask_range.u16 =
        t->destination_port | (uint16_t)~t->destination_port_mask;
}

static int matches(const struct ternary *r, const struct tuple *p)
{
    return ((ntohl(p->source) ^ r->source) & r->source_mask) == 0
           && ((ntohl(p->destination) ^ r->destination) & r->destination_mask) == 0
           && ((ntohs(p->source_port) ^ r->source_port) & r->source_port_mask) == 0
           && ((ntohs(p->destination_port) ^ r->destination_port) & r->destination_port_mask) == 0
           && ((p->protocol ^ r->protocol) & r->protocol_mask) == 0;
}

/* A packet that `r` matches, with random bits where `r` does not look. */
static struct tuple packet(const struct ternary *r, uint64_t *state)
{
    struct tuple p;
    p.source = htonl(r->source | ((uint32_t)peer_random(state) & ~r->source_mask));
    p.destination = htonl(r->destination | ((uint32_t)peer_random(state) & ~r->destination_mask));
    p.source_port =
        htons(r->source_port | ((uint16_t)peer_random(state) & (uint16_t)~r->source_port_mask));
    p.destination_port = htons(
        r->destination_port | ((uint16_t)peer_random(state) & (uint16_t)~r->destination_port_mask));
    p.protocol = r->protocol | ((uint8_t)peer_random(state) & (uint8_t)~r->protocol_mask);
    return p;
}

/* The best vector code that the library accepts on this processor. */
static const char *choose_algorithm(struct rte_acl_ctx *context)
{
    static const struct {
        enum rte_acl_classify_alg algorithm;
        const char *name;
    } best_first[] = {
        {RTE_ACL_CLASSIFY_AVX512X32, "avx512x32"},
        {RTE_ACL_CLASSIFY_AVX512X16, "avx512x16"},
        {RTE_ACL_CLASSIFY_AVX2, "avx2"},
        {RTE_ACL_CLASSIFY_SSE, "sse"},
    };
    for (size_t i = 0; i < sizeof(best_first) / sizeof(best_first[0]); i++)
        if (rte_acl_set_ctx_classify(context, best_first[i].algorithm) == 0)
            return best_first[i].name;
    return "scalar";
}

static struct rte_acl_ctx *create(size_t n_rules)
{
    static unsigned serial;
    char name[32];
    snprintf(name, sizeof(name), "peer%u", serial++);
    struct rte_acl_param parameters = {
        .name = name,
        .socket_id = 0,
        .rule_size = RTE_ACL_RULE_SZ(N_FIELDS),
        .max_rule_num = (uint32_t)n_rules,
    };
    return rte_acl_create(&parameters);
}

/* Returns the cycles of adding and building all rules, or a negative number. */
static double build(struct rte_acl_ctx *context, const struct rule *rules, size_t n)
{
    struct rte_acl_config config = {.num_categories = 1, .num_fields = N_FIELDS};
    memcpy(config.defs, fields, sizeof(fields));
    double begin = peer_thread_cycles();
    if (rte_acl_add_rules(context, (const struct rte_acl_rule *)rules, (uint32_t)n) != 0
        || rte_acl_build(context, &config) != 0)
        return -1;
    return peer_thread_cycles() - begin;
}

static double classify(const struct rte_acl_ctx *context, const struct tuple *order, size_t n_order)
{
    static struct peer_slices slices;
    slices.n = 0;
    for (size_t at = 0; at < n_order; at += (size_t)BURSTS_PER_SLICE * PEER_BURST) {
        uint32_t n_missed = 0;
        uint64_t begin = peer_tsc();
        for (size_t burst = 0; burst < BURSTS_PER_SLICE; burst++) {
            const uint8_t *data[PEER_BURST];
            uint32_t results[PEER_BURST];
            for (size_t i = 0; i < PEER_BURST; i++)
                data[i] = (const uint8_t *)&order[at + burst * PEER_BURST + i];
            rte_acl_classify(context, data, results, PEER_BURST, 1);
            for (size_t i = 0; i < PEER_BURST; i++)
                n_missed += results[i] == 0;
        }
        peer_slice_add(&slices, begin, peer_tsc(), (size_t)BURSTS_PER_SLICE * PEER_BURST);
        if (n_missed != 0)
            return -1;
    }
    return peer_median(slices.values, slices.n);
}

/* Compares some packets with the first rule that matches them: rules of these sets hardly overlap,
 * so that few packets tell a wrong priority. */
static int check(const struct rte_acl_ctx *context, const struct ternary *rules,
                 const struct tuple *order)
{
    for (size_t p = 0; p < 128 * PEER_BURST; p++) {
        const uint8_t *data = (const uint8_t *)&order[p];
        uint32_t found = 0;
        size_t first = 0;
        rte_acl_classify(context, &data, &found, 1, 1);
        while (!matches(&rules[first], &order[p]))
            first++; /* ends: every packet was made from a rule */
        if (found != first + 1)
            return -1;
    }
    return 0;
}

static int print(size_t n_rules)
{
    struct ternary *rules = calloc(n_rules, sizeof(*rules));
    if (rules == NULL)
        return -1;
    generate(rules, n_rules);
    for (size_t i = 0; i < n_rules; i++)
        printf("%08x/%08x %08x/%08x %04x/%04x %04x/%04x %02x/%02x\n", rules[i].source,
               rules[i].source_mask, rules[i].destination, rules[i].destination_mask,
               rules[i].source_port, rules[i].source_port_mask, rules[i].destination_port,
               rules[i].destination_port_mask, rules[i].protocol, rules[i].protocol_mask);
    free(rules);
    return 0;
}

static int measure(size_t n_rules, size_t n_runs)
{
    size_t n_order = (size_t)BURSTS_PER_SLICE * PEER_BURST * 128;
    struct ternary *rules = calloc(n_rules, sizeof(*rules));
    struct rule *acl_rules = calloc(n_rules, sizeof(*acl_rules));
    struct tuple *order =
        calloc(n_order + 1, sizeof(*order)); /* one more: the library reads whole words */
    double builds[PEER_RUNS], lookups[PEER_RUNS];
    struct rte_acl_ctx *context = NULL;
    const char *algorithm = "";
    uint64_t state = 5;
    char extra[160];
    int status = -1;

    if (rules == NULL || acl_rules == NULL || order == NULL)
        goto done;
    generate(rules, n_rules);
    for (size_t i = 0; i < n_rules; i++)
        to_acl(&rules[i], i, &acl_rules[i]);
    for (size_t i = 0; i < n_order; i++)
        order[i] = packet(&rules[peer_random_below(&state, (uint32_t)n_rules)], &state);

    for (size_t run = 0; run < n_runs; run++) {
        rte_acl_free(context);
        context = create(n_rules);
        if (context == NULL || (builds[run] = build(context, acl_rules, n_rules)) < 0)
            goto done;
        builds[run] /= (double)n_rules;
    }
    algorithm = choose_algorithm(context);
    if (check(context, rules, order) != 0)
        goto done;
    classify(context, order, n_order);
    for (size_t run = 0; run < n_runs; run++)
        if ((lookups[run] = classify(context, order, n_order)) < 0)
            goto done;

    snprintf(extra, sizeof(extra), "\"unit\":\"lookup\",\"burst\":%d,\"alg\":\"%s\"", PEER_BURST,
             algorithm);
    peer_dpdk_print("rte_acl", "lookup", n_rules, lookups, n_runs, extra);
    snprintf(extra, sizeof(extra), "\"unit\":\"rule\",\"build_s\":%.6f",
             peer_median(builds, n_runs) * (double)n_rules / peer_tsc_ghz() / 1e9);
    peer_dpdk_print("rte_acl", "build", n_rules, builds, n_runs, extra);
    status = 0;
done:
    if (status != 0)
        fprintf(stderr, "peer-rte_acl: %zu rules do not fit or classify wrongly\n", n_rules);
    rte_acl_free(context);
    free(order);
    free(acl_rules);
    free(rules);
    return status;
}

int main(int argc, char **argv)
{
    static const struct peer_program program = {
        .name = "rte_acl",
        .what = "rules",
        .sizes = {100, 1000, 10000},
        .quick_max = 1000,
        .size_max = 1000000,
        .memory_mb = 1024,
        .n_per_mb = 1000000,
        .measure = measure,
        .print = print,
    };
    return peer_main(argc, argv, &program);
}
