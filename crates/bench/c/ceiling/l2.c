/*
 * The ceiling of crates/bench/peers/l2.p4: two exact tables of 48-bit addresses, the second gives a port.
 *
 * A table is an array of cache lines of eight slots; a slot is an address and 16 bits beside it, so that one vector
 * comparison tells which of them has the address. An address that finds its line full lies in the next one; lines are at
 * most five eighths full on average. Nothing can be removed, nothing grows, one thread: less than a switch needs.
 */
#include "ceiling.h"
#include "sd_runtime.h"

#if defined __AVX2__ || defined __AVX512F__
#include <immintrin.h>
#endif

/* Of a slot that is used; 15 bits are left for the port. */
#define CEILING_USED UINT64_C(0x8000)
#define CEILING_ADDRESS (~UINT64_C(0xffff))
#define CEILING_BURST 64

struct ceiling_line {
    uint64_t slots[8];
} __attribute__((aligned(64)));

struct ceiling_table {
    struct ceiling_line *lines;
    uint64_t mask;
    uint32_t shift;
};

struct ceiling_l2 {
    struct ceiling_table smac, dmac;
};

/* The address in the upper 48 bits; its byte order does not matter. */
static inline uint64_t ceiling_destination(const uint8_t *data)
{
    uint64_t word;
    memcpy(&word, data, 8);
    return word << 16;
}

static inline uint64_t ceiling_source(const uint8_t *data)
{
    uint64_t word;
    memcpy(&word, data + 4, 8);
    return word & CEILING_ADDRESS;
}

static inline const struct ceiling_line *ceiling_line_of(const struct ceiling_table *t, uint64_t address)
{
    return &t->lines[(address >> 16) * UINT64_C(0x9e3779b97f4a7c15) >> t->shift];
}

/* The slot of the line with this address, or 0. */
static inline uint64_t ceiling_slot(const struct ceiling_line *line, uint64_t address)
{
#if defined __AVX512F__
    __m512i slots = _mm512_load_si512(line);
    __m512i differ = _mm512_xor_si512(slots, _mm512_set1_epi64((long long)address));
    uint32_t same = _mm512_testn_epi64_mask(differ, _mm512_set1_epi64((long long)CEILING_ADDRESS));
    if (SD_LIKELY(same))
        return line->slots[__builtin_ctz(same)];
#elif defined __AVX2__
    __m256i wanted = _mm256_set1_epi64x((long long)address);
    __m256i low = _mm256_load_si256((const __m256i *)line), high = _mm256_load_si256((const __m256i *)line + 1);
    __m256i a = _mm256_cmpeq_epi64(_mm256_blend_epi16(low, _mm256_setzero_si256(), 0x11), wanted);
    __m256i b = _mm256_cmpeq_epi64(_mm256_blend_epi16(high, _mm256_setzero_si256(), 0x11), wanted);
    uint32_t same = (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(a)) |
                    (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(b)) << 4;
    if (SD_LIKELY(same))
        return line->slots[__builtin_ctz(same)];
#else
    for (uint32_t i = 0; i < 8; i++)
        if ((line->slots[i] & CEILING_ADDRESS) == address)
            return line->slots[i];
#endif
    return 0;
}

static inline uint64_t ceiling_find(const struct ceiling_table *t, const struct ceiling_line *line,
                                    uint64_t address)
{
    for (;;) {
        uint64_t slot = ceiling_slot(line, address);
        if (SD_LIKELY(slot) || !line->slots[7])
            return slot;
        line = &t->lines[((uint64_t)(line - t->lines) + 1) & t->mask];
    }
}

static inline void ceiling_l2_end(struct sd_packet *p, uint64_t source, uint64_t destination)
{
    /* Whether the source is to be learnt: the program keeps it in metadata that nobody reads. */
    bool learn = !source;
    __asm__ volatile("" : : "r"(learn));
    p->egress_port = (uint32_t)(destination & ~CEILING_USED & 0xffff);
    p->verdict = destination ? SD_VERDICT_SEND : SD_VERDICT_DROP;
}

static void ceiling_l2_straight(const void *tables, struct sd_packet *packets, uint32_t n)
{
    const struct ceiling_l2 *l2 = tables;
    for (uint32_t i = 0; i < n; i++) {
        struct sd_packet *p = &packets[i];
        if (SD_UNLIKELY(p->length_bytes < 14)) {
            p->verdict = SD_VERDICT_DROP;
            continue;
        }
        uint64_t source = ceiling_source(p->data), destination = ceiling_destination(p->data);
        source = ceiling_find(&l2->smac, ceiling_line_of(&l2->smac, source), source);
        destination = ceiling_find(&l2->dmac, ceiling_line_of(&l2->dmac, destination), destination);
        ceiling_l2_end(p, source, destination);
    }
}

static void ceiling_l2_burst(const void *tables, struct sd_packet *packets, uint32_t n)
{
    const struct ceiling_l2 *l2 = tables;
    const struct ceiling_line *sources[CEILING_BURST], *destinations[CEILING_BURST];
    for (; n > 0; packets += CEILING_BURST) {
        uint32_t n_burst = n < CEILING_BURST ? n : CEILING_BURST;
        n -= n_burst;
        for (uint32_t i = 0; i < n_burst; i++)
            __builtin_prefetch(packets[i].data);
        for (uint32_t i = 0; i < n_burst; i++) {
            const uint8_t *data = packets[i].data;
            sources[i] = l2->smac.lines;
            destinations[i] = l2->dmac.lines;
            if (SD_LIKELY(packets[i].length_bytes >= 14)) {
                sources[i] = ceiling_line_of(&l2->smac, ceiling_source(data));
                destinations[i] = ceiling_line_of(&l2->dmac, ceiling_destination(data));
                __builtin_prefetch(sources[i]);
                __builtin_prefetch(destinations[i]);
            }
        }
        for (uint32_t i = 0; i < n_burst; i++) {
            struct sd_packet *p = &packets[i];
            if (SD_UNLIKELY(p->length_bytes < 14)) {
                p->verdict = SD_VERDICT_DROP;
                continue;
            }
            ceiling_l2_end(p, ceiling_find(&l2->smac, sources[i], ceiling_source(p->data)),
                           ceiling_find(&l2->dmac, destinations[i], ceiling_destination(p->data)));
        }
    }
}

static const struct ceiling_way ceiling_ways[] = {
    {"straight", ceiling_l2_straight},
    {"burst", ceiling_l2_burst},
};

static bool ceiling_table_init(struct ceiling_table *t, uint64_t n_entries)
{
    uint64_t n_lines = 2;
    while (n_lines * 5 < n_entries)
        n_lines *= 2;
    t->lines = sd_map_large(n_lines * sizeof *t->lines);
    t->mask = n_lines - 1;
    t->shift = 64 - (uint32_t)__builtin_ctzll(n_lines);
    return t->lines != NULL;
}

static void *ceiling_new(uint64_t n_entries)
{
    static struct ceiling_l2 l2;
    return ceiling_table_init(&l2.smac, n_entries) && ceiling_table_init(&l2.dmac, n_entries) ? &l2 : NULL;
}

static void ceiling_put(struct ceiling_table *t, uint64_t address, uint64_t low)
{
    uint64_t at = (uint64_t)(ceiling_line_of(t, address) - t->lines);
    for (;; at = (at + 1) & t->mask)
        for (uint32_t i = 0; i < 8; i++)
            if (!t->lines[at].slots[i]) {
                t->lines[at].slots[i] = address | CEILING_USED | low;
                return;
            }
}

/* `address` is in the order of the packet, in a buffer of 16 bytes. Of the same address the first counts. */
static bool ceiling_add(void *tables, const uint8_t *address, uint16_t port)
{
    struct ceiling_l2 *l2 = tables;
    uint64_t key = ceiling_destination(address);
    if (ceiling_find(&l2->smac, ceiling_line_of(&l2->smac, key), key))
        return true;
    ceiling_put(&l2->smac, key, 0);
    ceiling_put(&l2->dmac, key, port);
    return true;
}
