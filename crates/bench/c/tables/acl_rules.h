/*
 * Sets of 5-tuple rules with the character of real ones, and packets that match them.
 *
 * What ClassBench (Taylor, Turner, "ClassBench: a packet classification benchmark", 2005) found in filter sets of
 * providers and vendors is imitated: prefixes nest in few networks, whose popularity is skewed; lengths come from a
 * distribution for each kind of set; source ports are mostly left out, destination ports mostly single ones; of the
 * ranges 1024-65535 and 0-1023 are frequent. Kinds of set:
 *
 *   acl  access lists: nearly all rules say both addresses, many to the last bit
 *   fw   firewalls: one address is often left out, ports are ranges more often
 *   ipc  between the two
 *   any  random prefixes that hardly nest, as crates/bench/peers/rte_acl.c has them: what tries are made for
 *
 * The same seed gives the same rules everywhere. No two rules agree in all fields. Longer prefixes get larger
 * priorities, so that most rules can be hit; priorities differ.
 */
#ifndef ACL_RULES_H
#define ACL_RULES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum acl_kind { ACL_KIND_ACL, ACL_KIND_FW, ACL_KIND_IPC, ACL_KIND_ANY, ACL_N_KINDS };

static const char *const acl_kind_names[] = {"acl", "fw", "ipc", "any"};

/* Host byte order. */
struct acl_rule {
    uint32_t src, dst;
    uint8_t src_len, dst_len;
    uint8_t proto, proto_mask;
    uint16_t sport_low, sport_high, dport_low, dport_high;
    /* Larger wins. */
    int32_t priority;
};

struct acl_packet {
    uint32_t src, dst;
    uint16_t sport, dport;
    uint8_t proto;
};

/* SplitMix64. */
static inline uint64_t acl_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint32_t acl_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)((acl_random(state) >> 32) * n >> 32);
}

static inline uint32_t acl_prefix_mask(uint32_t len)
{
    return len ? UINT32_MAX << (32 - len) : 0;
}

/* Weights of prefix lengths, pairs of (length, weight) until weight 0. */
struct acl_weight {
    uint8_t value;
    uint8_t weight;
};

static const struct acl_weight acl_lengths[ACL_KIND_ANY][2][12] = {
    /* acl */
    {{{0, 4}, {8, 2}, {12, 1}, {16, 8}, {20, 4}, {22, 5}, {24, 22}, {27, 6}, {28, 8}, {30, 8}, {32, 32}, {0, 0}},
     {{0, 2}, {8, 1}, {14, 2}, {16, 5}, {20, 4}, {22, 6}, {24, 22}, {26, 6}, {28, 8}, {30, 6}, {32, 38}, {0, 0}}},
    /* fw */
    {{{0, 44}, {8, 4}, {16, 8}, {20, 2}, {24, 12}, {28, 4}, {30, 2}, {32, 24}, {0, 0}},
     {{0, 30}, {8, 3}, {16, 9}, {22, 3}, {24, 16}, {26, 3}, {28, 5}, {32, 31}, {0, 0}}},
    /* ipc */
    {{{0, 14}, {8, 3}, {16, 9}, {19, 3}, {21, 4}, {24, 18}, {27, 5}, {28, 6}, {30, 6}, {32, 32}, {0, 0}},
     {{0, 12}, {8, 4}, {15, 3}, {16, 10}, {20, 4}, {23, 5}, {24, 18}, {28, 7}, {29, 5}, {32, 32}, {0, 0}}},
};

/* Of any, 1024-65535, 0-1023, an arbitrary range, a single port: in hundredths. */
static const uint8_t acl_ports[ACL_KIND_ANY][2][5] = {
    {{94, 2, 0, 1, 3}, {32, 6, 1, 8, 53}},
    {{70, 14, 1, 3, 12}, {24, 10, 2, 14, 50}},
    {{76, 6, 1, 4, 13}, {52, 6, 1, 7, 34}},
};

/* Of tcp, udp, icmp, gre, any. */
static const uint8_t acl_protocols[ACL_KIND_ANY][5] = {
    {76, 12, 3, 1, 8}, {58, 24, 4, 2, 12}, {56, 26, 4, 2, 12},
};

static inline uint32_t acl_weighted(uint64_t *state, const struct acl_weight *weights)
{
    uint32_t sum = 0;
    for (const struct acl_weight *w = weights; w->weight; w++)
        sum += w->weight;
    uint32_t at = acl_below(state, sum);
    while (at >= weights->weight)
        at -= (weights++)->weight;
    return weights->value;
}

static inline uint32_t acl_hundredths(uint64_t *state, const uint8_t *weights)
{
    uint32_t at = acl_below(state, 100), i = 0;
    while (i < 4 && at >= weights[i])
        at -= weights[i++];
    return i;
}

/* A prefix that nests in others: at each level of the tree the branch taken is mostly one of few. */
static inline uint32_t acl_address(uint64_t *state, uint64_t seed, uint32_t n_rules)
{
    static const uint8_t levels[] = {8, 8, 4, 4, 4, 4};
    /* More rules are of more networks. */
    uint32_t wide = 1;
    while (wide * wide * 4 < n_rules && wide < 64)
        wide *= 2;
    const uint32_t branches[] = {4, 4 + wide / 4, 3 + wide / 16, 3, 5, 9};
    uint32_t address = 0;
    uint64_t at = seed;
    for (uint32_t i = 0; i < sizeof levels; i++) {
        /* The smaller of two: branches are not equally popular. */
        uint32_t a = acl_below(state, branches[i]), b = acl_below(state, branches[i]);
        at = at * 31 + (a < b ? a : b) + 1;
        uint64_t mixed = at;
        address = address << levels[i] | (uint32_t)(acl_random(&mixed) >> (64 - levels[i]));
    }
    return address;
}

static inline void acl_port(uint64_t *state, const uint8_t *weights, uint16_t *low, uint16_t *high)
{
    static const uint16_t known[] = {80, 443, 53, 22, 25, 123, 161, 110, 1521, 3306, 8080, 5060, 1812, 21, 23, 389};
    *low = 0;
    *high = UINT16_MAX;
    uint32_t a, b;
    switch (acl_hundredths(state, weights)) {
    case 0:
        break;
    case 1:
        *low = 1024;
        break;
    case 2:
        *high = 1023;
        break;
    case 3:
        a = acl_below(state, 40) * 250 + acl_below(state, 250);
        b = acl_below(state, 3) ? 1 + acl_below(state, 60) : 1 + acl_below(state, 5000);
        *low = (uint16_t)a;
        *high = (uint16_t)(a + b);
        break;
    default:
        a = acl_below(state, 4) ? known[acl_below(state, 16)] : 1024 + acl_below(state, 3000);
        *low = *high = (uint16_t)a;
    }
}

/* Ignores the priority. */
static inline int acl_same(const struct acl_rule *a, const struct acl_rule *b)
{
    return a->src == b->src && a->dst == b->dst && a->src_len == b->src_len && a->dst_len == b->dst_len &&
           a->proto == b->proto && a->proto_mask == b->proto_mask && a->sport_low == b->sport_low &&
           a->sport_high == b->sport_high && a->dport_low == b->dport_low && a->dport_high == b->dport_high;
}

static inline uint64_t acl_rule_hash(const struct acl_rule *r)
{
    uint64_t state = (uint64_t)r->src << 32 | r->dst;
    uint64_t h = acl_random(&state);
    state = h ^ ((uint64_t)r->src_len << 40 | (uint64_t)r->dst_len << 32 | (uint64_t)r->proto << 16 | r->proto_mask);
    h = acl_random(&state);
    state = h ^ ((uint64_t)r->sport_low << 48 | (uint64_t)r->sport_high << 32 | (uint64_t)r->dport_low << 16 |
                 r->dport_high);
    return acl_random(&state);
}

/* One of ten. */
static inline uint32_t acl_pick(uint64_t *state, const uint8_t *values)
{
    return values[acl_below(state, 10)];
}

static inline void acl_any_ports(uint64_t *state, uint32_t len, uint16_t *low, uint16_t *high)
{
    uint16_t mask = (uint16_t)(acl_prefix_mask(len) >> 16);
    *low = (uint16_t)acl_random(state) & mask;
    *high = *low | (uint16_t)~mask;
}

/* Each outranks those after it, and has the probabilities of the peer's rules. */
static inline void acl_any_rule(uint64_t *state, struct acl_rule *r)
{
    static const uint8_t src[] = {0, 8, 16, 16, 24, 24, 24, 32, 32, 32};
    static const uint8_t dst[] = {16, 16, 24, 24, 24, 24, 28, 32, 32, 32};
    static const uint8_t sport[] = {0, 0, 0, 0, 0, 0, 0, 0, 16, 16};
    static const uint8_t dport[] = {0, 0, 6, 10, 16, 16, 16, 16, 16, 16};
    static const uint8_t protocols[] = {6, 6, 6, 6, 6, 6, 17, 17, 17, 1};
    r->src_len = (uint8_t)acl_pick(state, src);
    r->dst_len = (uint8_t)acl_pick(state, dst);
    uint32_t sport_len = acl_pick(state, sport), dport_len = acl_pick(state, dport);
    r->proto_mask = acl_below(state, 10) == 0 ? 0 : 0xff;
    r->src = (uint32_t)acl_random(state) & acl_prefix_mask(r->src_len);
    r->dst = (uint32_t)acl_random(state) & acl_prefix_mask(r->dst_len);
    acl_any_ports(state, sport_len, &r->sport_low, &r->sport_high);
    acl_any_ports(state, dport_len, &r->dport_low, &r->dport_high);
    r->proto = (uint8_t)acl_pick(state, protocols) & r->proto_mask;
}

/* `n` rules in an order that says nothing. Gives NULL where memory is short. */
static inline struct acl_rule *acl_rules(enum acl_kind kind, uint32_t n, uint64_t seed)
{
    uint32_t n_cells = 16;
    while (n_cells < n * 2)
        n_cells *= 2;
    struct acl_rule *rules = calloc(n, sizeof *rules);
    uint32_t *cells = calloc(n_cells, sizeof *cells);
    uint64_t state = seed;
    for (uint32_t i = 0; rules && cells && i < n;) {
        struct acl_rule r;
        memset(&r, 0, sizeof r);
        if (kind == ACL_KIND_ANY) {
            acl_any_rule(&state, &r);
            r.priority = (int32_t)(n - i);
            rules[i++] = r;
            continue;
        }
        r.src_len = (uint8_t)acl_weighted(&state, acl_lengths[kind][0]);
        r.dst_len = (uint8_t)acl_weighted(&state, acl_lengths[kind][1]);
        r.src = acl_address(&state, seed * 2 + 1, n) & acl_prefix_mask(r.src_len);
        r.dst = acl_address(&state, seed * 2 + 2, n) & acl_prefix_mask(r.dst_len);
        static const uint8_t protocols[] = {6, 17, 1, 47, 0};
        uint32_t p = acl_hundredths(&state, acl_protocols[kind]);
        r.proto = protocols[p];
        r.proto_mask = p < 4 ? 0xff : 0;
        r.sport_high = r.dport_high = UINT16_MAX;
        /* Only these have ports. */
        if (p < 2) {
            acl_port(&state, acl_ports[kind][0], &r.sport_low, &r.sport_high);
            acl_port(&state, acl_ports[kind][1], &r.dport_low, &r.dport_high);
        }
        uint32_t at = (uint32_t)acl_rule_hash(&r) & (n_cells - 1);
        while (cells[at] && !acl_same(&rules[cells[at] - 1], &r))
            at = (at + 1) & (n_cells - 1);
        if (cells[at])
            continue;
        uint32_t specific = (uint32_t)r.src_len + r.dst_len;
        r.priority = (int32_t)(1 + specific * n + acl_below(&state, n));
        rules[i++] = r;
        cells[at] = i;
    }
    free(cells);
    return rules;
}

static inline struct acl_packet acl_packet(uint64_t *state, const struct acl_rule *r)
{
    uint32_t src = (uint32_t)acl_random(state), dst = (uint32_t)acl_random(state);
    static const uint8_t protocols[] = {6, 17, 1, 47};
    struct acl_packet p = {
        .src = r->src | (src & ~acl_prefix_mask(r->src_len)),
        .dst = r->dst | (dst & ~acl_prefix_mask(r->dst_len)),
        .sport = (uint16_t)(r->sport_low + acl_below(state, r->sport_high - r->sport_low + 1u)),
        .dport = (uint16_t)(r->dport_low + acl_below(state, r->dport_high - r->dport_low + 1u)),
        .proto = r->proto_mask ? r->proto : protocols[acl_below(state, 4)],
    };
    return p;
}

#endif
