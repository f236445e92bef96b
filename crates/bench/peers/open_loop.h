/*
 * An open loop: a generator on one core sends packets at a constant rate through a ring in memory, a worker on another core
 * processes them, and the latency of a packet is the time from when it should have been sent to when its burst is done.
 * The loop runs a struct loop_subject: a compiled program, or a table of a peer.
 *
 * A slot of the ring has one packet: the generator fills it, the worker processes it in place, then the slot is free. While no
 * slot is free the generator's clock stands still: packets that a port would drop are sent later, and all are counted. It
 * stands still, too, while the generator itself does not run.
 *
 * Packets carry a key of 4 bytes and a value of 4 bytes. The first packet of a key brings the value that later ones are to
 * get; they bring 0. One of LOOP_PLAIN_OF packets is of another kind, which no table sees.
 *
 * The hiccup meter: a gap of more than LOOP_HICCUP_NS in a thread's loop is a hiccup if it lies outside of the processing, or
 * if the thread's processor time stood still meanwhile, or, of more than LOOP_STEAL_NS, if the host of a virtual machine has
 * taken the core away. Packets are marked from a hiccup of the worker, or from a packet that
 * the generator sent late, until the ring is empty. A gap within the processing with processor time used may be the subject's,
 * or an interrupt: its packets are not marked.
 *
 * Runs tell these two apart. All runs of a phase send equal packets into an equal table, so that what the subject takes long for
 * comes back at the same packets, and an interrupt does not: struct loop_windows.
 */
#ifndef PEERS_OPEN_LOOP_H
#define PEERS_OPEN_LOOP_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "workload.h"

#define LOOP_SLOTS 4096u
#define LOOP_SLOT_BYTES 256u
#define LOOP_HEADROOM 64u
#define LOOP_BURST_MAX 32u
#define LOOP_PLAIN_OF 64u
#define LOOP_LINE __attribute__((aligned(64)))
#ifndef LOOP_HICCUP_NS
#define LOOP_HICCUP_NS 10000.0
#endif
/* A gap within the processing that is judged. */
#ifndef LOOP_SLOW_NS
#define LOOP_SLOW_NS LOOP_HICCUP_NS
#endif
/* Processor time that a thread lacks when it was not running; the clock and the time stamp counter differ by less. */
#define LOOP_STOLEN_NS 3000.0
/* Only for gaps so long is the host's share looked up: it is counted in units of 10 ms, and reading it takes 50 us. */
#define LOOP_STEAL_NS 1e6
/* A packet for which the worker has waited so long after it was due. */
#ifndef LOOP_LATE_NS
#define LOOP_LATE_NS 2000.0
#endif
/* A packet that the generator sends so long after it was due is marked, too. */
#ifndef LOOP_SENT_LATE_NS
#define LOOP_SENT_LATE_NS LOOP_HICCUP_NS
#endif
/* The time between two readings of processor time is this at least, so that they cost nothing. */
#define LOOP_READ_NS 1e6
/* Bytes behind the first one of a packet with the time when it should have been sent. */
#define LOOP_DUE_AT 52u
/* Packets between two calls of the subject's `tend`, and of a slice by which a capacity is measured. */
#define LOOP_TEND 4096u
#define LOOP_SLICE 512u
/* The worker prefetches the packet that is so far behind, as a driver does. */
#define LOOP_AHEAD 8u
/* So many packets are told of together: by the generator at full speed, and by a worker that has more to do. */
#define LOOP_TOLD_TOGETHER 16u
#define LOOP_SLICES_MAX 16384u

/* Places of the parts of a subject's packets. */
struct loop_layout {
    uint8_t bytes[64];
    uint32_t key_at, value_at;
    /* Two bytes that say whether a packet is for the table, and their values. */
    uint32_t kind_at;
    uint16_t kind_table, kind_plain;
};

struct loop_subject {
    const char *name, *version;
    struct loop_layout layout;
    /* An empty table; NULL: there is no memory. */
    void *(*create)(void);
    void (*destroy)(void *);
    /* Processes a burst in place. Returns how many packets were not processed. */
    uint32_t (*process)(void *, uint8_t *const *packets, uint32_t n, uint32_t n_bytes, uint64_t now_ns);
    /* Work between bursts, every LOOP_TEND packets; NULL: none. */
    void (*tend)(void *);
    /* Entries of the table; NULL: unknown. */
    uint64_t (*n_entries)(void *);
};

/* A stretch of packets. */
struct loop_phase {
    uint64_t n_packets;
    /* Every so many packets one has a new key; 1: all that a table sees. */
    uint32_t one_in;
    /* The new keys have the numbers from here on. Looked up are those below 2 to the power of `known_bits`, in an order that
       looks random, all before any a second time. */
    uint64_t first_new;
    uint32_t known_bits;
    /* TSC cycles between two packets; 0: as fast as the worker takes them. */
    double gap;
    /* For each packet of a cycle of `n_offsets` its time in TSC cycles from the beginning of the cycle, which lasts `n_offsets` times
       the gap; NULL: all gaps are equal. */
    const uint64_t *offsets;
    uint64_t n_offsets;
};

enum loop_class { LOOP_INSERT, LOOP_HIT, LOOP_PLAIN };

/* Hiccups of one thread. */
struct loop_meter {
    uint64_t n_hiccups, hiccup_cycles;
    /* Gaps within the processing that are no hiccups. */
    uint64_t n_slow, slowest_cycles;
    /* The last reading of processor time, in nanoseconds, and of the time stamp counter. */
    double cpu_ns;
    uint64_t at;
    int core;
    uint64_t n_steals;
};

/* One burst. */
struct loop_burst {
    /* TSC cycles until its packets were through, and until the next poll. */
    uint32_t through, whole;
    uint16_t n;
    /* The ring was empty at the poll before. */
    bool is_first;
    /* It took all packets of the ring. */
    bool is_all;
    /* A hiccup since the burst before, or a late packet in it. */
    bool is_stalled;
};

/* Packets of a window, of which half lie in the next one, too: bursts are not the same in all runs. */
#define LOOP_WINDOW 256u
/* So many runs tell a stall of the machine from one of the subject. */
#define LOOP_WINDOW_RUNS 3u

/* The packets of a phase in windows, over all runs. */
struct loop_windows {
    size_t n;
    /* For each window the latency of its slowest packet without a mark, in the run where that is least. */
    uint32_t *slowest;
    /* Runs in which it has such a packet. */
    uint32_t *n_runs;
};

struct loop {
    const struct loop_subject *subject;
    void *table;
    uint32_t n_burst, n_bytes;
    struct loop_phase phase;
    int cores[2];
    uint8_t *memory;
    /* For each packet of a phase cycles, and LOOP_MARKED. */
    uint32_t *latencies;
    uint64_t n_latencies;
    uint64_t base;
    uint64_t n_wrong;
    struct loop_meter worker, generator;
    /* Time for which the generator's clock stood still because no slot was free. */
    uint64_t held_cycles;
    double slices[LOOP_SLICES_MAX];
    size_t n_slices;
    /* Room for as many bursts as packets; NULL: they are not recorded. */
    struct loop_burst *bursts;
    uint64_t n_bursts;
    /* Set by the worker when it begins. */
    uint64_t start LOOP_LINE;
    /* Packets that were sent, and that were processed. */
    uint64_t n_filled LOOP_LINE;
    uint64_t n_done LOOP_LINE;
};

#define LOOP_MARKED UINT32_C(0x80000000)

/* --- Packets of a phase --- */

static inline uint32_t loop_hash(uint64_t x)
{
    x = (x + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 32;
    return (uint32_t)((x * UINT64_C(0xd6e8feb86659fd93)) >> 32);
}

/* Different for each number below 2^32. */
static inline uint32_t loop_key(uint64_t number)
{
    uint32_t x = (uint32_t)number * 2654435761u;
    return (x ^ x >> 15) * 2246822519u;
}

/* Permutes the numbers below 2^bits. */
static inline uint32_t loop_permuted(uint32_t x, uint32_t bits)
{
    uint32_t mask = (uint32_t)((UINT64_C(1) << bits) - 1);
    x = (x * 2654435761u) & mask;
    x ^= x >> (bits / 2);
    return (x * 2246822519u) & mask;
}

/* One packet of each group, at a place that cannot be foreseen. */
static inline bool loop_is_chosen(uint64_t i, uint32_t of, uint64_t seed)
{
    return i % of == ((uint64_t)loop_hash(i / of + seed) * of) >> 32;
}

static inline enum loop_class loop_class_of(const struct loop_phase *p, uint64_t i)
{
    if (p->one_in > 1 && loop_is_chosen(i, p->one_in, 0))
        return LOOP_INSERT;
    if (loop_is_chosen(i, LOOP_PLAIN_OF, UINT64_C(1) << 40))
        return LOOP_PLAIN;
    return p->one_in == 1 ? LOOP_INSERT : LOOP_HIT;
}

static inline uint64_t loop_n_new(const struct loop_phase *p)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < p->n_packets; i++)
        n += loop_class_of(p, i) == LOOP_INSERT;
    return n;
}

static inline void loop_store(uint8_t *to, uint32_t value)
{
    value = __builtin_bswap32(value);
    memcpy(to, &value, sizeof value);
}

static inline uint32_t loop_load(const uint8_t *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return __builtin_bswap32(value);
}

static inline uint8_t *loop_packet(const struct loop *l, uint64_t i)
{
    return l->memory + (size_t)(i % LOOP_SLOTS) * LOOP_SLOT_BYTES + LOOP_HEADROOM;
}

/* --- Hiccups --- */

static inline void loop_meter_read(struct loop_meter *m)
{
    m->cpu_ns = peer_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    m->at = peer_tsc();
}

/* Units of time that the host has taken from a core; 0 where it does not say. */
static inline uint64_t loop_steals(int core)
{
    char line[256], name[16];
    unsigned long long n = 0, is_found = 0;
    FILE *f = fopen("/proc/stat", "r");
    snprintf(name, sizeof name, "cpu%d ", core);
    while (f != NULL && !is_found && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            is_found = sscanf(line, "%*s %*u %*u %*u %*u %*u %*u %*u %llu", &n) == 1;
    if (f != NULL)
        fclose(f);
    return n;
}

static inline void loop_meter_begin(struct loop_meter *m, int core)
{
    *m = (struct loop_meter){.core = core, .n_steals = loop_steals(core)};
    loop_meter_read(m);
}

/* Judges a gap of the calling thread. */
static inline bool loop_is_hiccup(struct loop_meter *m, uint64_t gap, bool within)
{
    struct loop_meter before = *m;
    loop_meter_read(m);
    double passed_ns = (double)(m->at - before.at) / peer_tsc_ghz();
    bool is_stolen = passed_ns - (m->cpu_ns - before.cpu_ns) >= LOOP_STOLEN_NS;
    if (within && !is_stolen && (double)gap > LOOP_STEAL_NS * peer_tsc_ghz()) {
        m->n_steals = loop_steals(m->core);
        is_stolen = m->n_steals > before.n_steals;
    }
    if (within && !is_stolen) {
        m->n_slow++;
        m->slowest_cycles = gap > m->slowest_cycles ? gap : m->slowest_cycles;
        return false;
    }
    m->n_hiccups++;
    m->hiccup_cycles += gap;
    return true;
}

/* --- The two threads --- */

static inline void loop_pin(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void *loop_generate(void *argument)
{
    struct loop *l = argument;
    const struct loop_phase phase = l->phase;
    const struct loop_layout layout = l->subject->layout;
    const uint64_t hiccup = (uint64_t)(LOOP_HICCUP_NS * peer_tsc_ghz());
    uint64_t n_new = phase.first_new, n_known = 0, n_free = LOOP_SLOTS, n_sent = 0, start;
    const uint64_t sent_late = (uint64_t)(LOOP_SENT_LATE_NS * peer_tsc_ghz());
    uint64_t turn = 0, in_turn = 0;
    loop_pin(l->cores[0]);
    loop_meter_begin(&l->generator, l->cores[0]);
    while ((start = __atomic_load_n(&l->start, __ATOMIC_ACQUIRE)) == 0)
        __builtin_ia32_pause();
    uint64_t last = peer_tsc();
    for (uint64_t i = 0; i < phase.n_packets; i++) {
        uint64_t due = start + (uint64_t)((double)i * phase.gap), now;
        if (phase.offsets) {
            due = start + (uint64_t)((double)turn * phase.gap) + phase.offsets[in_turn];
            if (++in_turn == phase.n_offsets) {
                in_turn = 0;
                turn += phase.n_offsets;
            }
        }
        if (i == n_free) {
            __atomic_store_n(&l->n_filled, n_sent = i, __ATOMIC_RELEASE);
            while (n_free = __atomic_load_n(&l->n_done, __ATOMIC_ACQUIRE) + LOOP_SLOTS, i == n_free)
                __builtin_ia32_pause();
            last = __rdtsc();
            if (last > due) {
                l->held_cycles += last - due;
                start += last - due;
                due = last;
            }
        }
        enum loop_class class = loop_class_of(&phase, i);
        uint64_t number = class == LOOP_INSERT ? n_new++ : loop_permuted((uint32_t)n_known++, phase.known_bits);
        uint32_t key = loop_key(number);
        uint16_t kind = class == LOOP_PLAIN ? layout.kind_plain : layout.kind_table;
        uint8_t *packet = loop_packet(l, i);
        loop_store(packet + layout.key_at, key);
        loop_store(packet + layout.value_at, class == LOOP_INSERT ? ~key : 0);
        packet[layout.kind_at] = (uint8_t)(kind >> 8);
        packet[layout.kind_at + 1] = (uint8_t)kind;
        do {
            now = __rdtsc();
            if (now > last + hiccup) {
                (void)loop_is_hiccup(&l->generator, now - last, false);
                now = __rdtsc();
                if (now > due) {
                    start += now - due;
                    due = now;
                }
            }
            last = now;
        } while (now < due);
        /* The lowest bit says that it is late: a cycle more or less does not matter. */
        due = (due & ~UINT64_C(1)) | (phase.gap > 0 && now > due + sent_late);
        memcpy(packet + LOOP_DUE_AT, &due, sizeof due);
        if (phase.gap > 0 || i + 1 - n_sent >= LOOP_TOLD_TOGETHER)
            __atomic_store_n(&l->n_filled, n_sent = i + 1, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&l->n_filled, phase.n_packets, __ATOMIC_RELEASE);
    return NULL;
}

/* Compares what came of a packet with what should have. */
static inline bool loop_is_right(const struct loop_layout *layout, const uint8_t *packet)
{
    bool is_plain = packet[layout->kind_at] == layout->kind_plain >> 8 &&
                    packet[layout->kind_at + 1] == (layout->kind_plain & 0xff);
    uint32_t value = loop_load(packet + layout->value_at);
    return is_plain ? value == 0 : value == ~loop_load(packet + layout->key_at);
}

static inline void loop_work(struct loop *l)
{
    const struct loop_subject *s = l->subject;
    const struct loop_layout layout = s->layout;
    const double ghz = peer_tsc_ghz();
    const uint64_t n_packets = l->phase.n_packets, hiccup = (uint64_t)(LOOP_HICCUP_NS * ghz);
    const uint64_t late = (uint64_t)(LOOP_LATE_NS * ghz), reading = (uint64_t)(LOOP_READ_NS * ghz);
    const uint64_t slow = (uint64_t)(LOOP_SLOW_NS * ghz);
    const bool is_paced = l->phase.gap > 0;
    struct loop_burst *burst = NULL;
    uint64_t n_done = 0, n_tended = 0, n_sliced = 0, slice = 0;
    bool is_marked = false, was_empty = false, is_stalled = false;
    l->n_slices = 0;
    l->n_bursts = 0;
    loop_meter_begin(&l->worker, l->cores[1]);
    uint64_t last = peer_tsc();
    __atomic_store_n(&l->start, last + hiccup, __ATOMIC_RELEASE);
    while (n_done < n_packets) {
        uint64_t n_there = __atomic_load_n(&l->n_filled, __ATOMIC_ACQUIRE) - n_done, before = last;
        uint64_t begin = last = __rdtsc();
        if (burst) {
            burst->whole = burst->through + (uint32_t)(begin - before);
            burst = NULL;
        }
        if (begin > before + hiccup)
            is_stalled |= loop_is_hiccup(&l->worker, begin - before, false);
        is_marked |= is_stalled;
        if (n_there == 0) {
            is_marked = false;
            was_empty = true;
            if (begin > l->worker.at + reading) {
                loop_meter_read(&l->worker);
                /* A longer one shows as a gap. */
                last = l->worker.at < begin + hiccup ? l->worker.at : begin;
            }
            __builtin_ia32_pause();
            continue;
        }
        uint8_t *packets[LOOP_BURST_MAX];
        uint64_t dues[LOOP_BURST_MAX];
        bool is_first = was_empty;
        uint32_t n = n_there < l->n_burst ? (uint32_t)n_there : l->n_burst;
        for (uint32_t i = 0; i < n; i++) {
            packets[i] = loop_packet(l, n_done + i);
            memcpy(&dues[i], packets[i] + LOOP_DUE_AT, sizeof dues[i]);
        }
        for (uint32_t i = LOOP_AHEAD; i < n_there && i < LOOP_AHEAD + n; i++)
            __builtin_prefetch(loop_packet(l, n_done + i), 1);
        /* The ring was empty at the time `before`. */
        is_stalled |= was_empty && before > dues[0] + late;
        was_empty = false;
        for (uint32_t i = 0; i < n; i++)
            is_stalled |= dues[i] & 1;
        is_marked |= is_stalled;
        l->n_wrong += s->process(l->table, packets, n, l->n_bytes, (uint64_t)((double)(begin - l->base) / ghz));
        uint64_t end = last = peer_tsc();
        if (end > begin + slow)
            is_marked |= loop_is_hiccup(&l->worker, end - begin, true);
        if (l->bursts) {
            burst = &l->bursts[l->n_bursts++];
            *burst = (struct loop_burst){(uint32_t)(end - begin), (uint32_t)(end - begin), (uint16_t)n, is_first, n == n_there, is_stalled};
        }
        is_stalled = false;
        for (uint32_t i = 0; i < n; i++) {
            uint64_t latency = end - dues[i];
            latency = latency < LOOP_MARKED ? latency : LOOP_MARKED - 1;
            if (is_paced)
                l->latencies[n_done + i] = (uint32_t)latency | (is_marked ? LOOP_MARKED : 0);
            l->n_wrong += !loop_is_right(&layout, packets[i]);
        }
        n_done += n;
        if (n_done - l->n_done >= LOOP_TOLD_TOGETHER || n == n_there)
            __atomic_store_n(&l->n_done, n_done, __ATOMIC_RELEASE);
        if (n_done - n_sliced >= LOOP_SLICE) {
            if (l->n_slices < LOOP_SLICES_MAX && slice)
                l->slices[l->n_slices++] = (double)(end - slice) / (double)(n_done - n_sliced);
            slice = end;
            n_sliced = n_done;
        }
        if (n_done - n_tended >= LOOP_TEND) {
            if (s->tend)
                s->tend(l->table);
            n_tended = n_done;
        }
    }
}

/* Sends all packets of a phase through the worker, which is the calling thread. */
static inline bool loop_run(struct loop *l, const struct loop_phase *phase)
{
    pthread_t generator;
    l->phase = *phase;
    l->start = l->n_filled = l->n_done = l->held_cycles = 0;
    if (pthread_create(&generator, NULL, loop_generate, l) != 0)
        return false;
    loop_work(l);
    pthread_join(generator, NULL);
    return true;
}

/* TSC cycles of a packet at full speed: the lower quartile of slices, as hiccups of both threads lengthen many. */
static inline double loop_capacity(struct loop *l, const struct loop_phase *phase)
{
    struct loop_phase full = *phase;
    full.gap = 0;
    if (!loop_run(l, &full) || l->n_slices == 0)
        return 0;
    (void)peer_median(l->slices, l->n_slices);
    return l->slices[l->n_slices / 4];
}

/* --- Figures --- */

static inline void loop_sort(uint32_t *values, uint32_t *other, size_t n)
{
    for (unsigned shift = 0; shift < 32; shift += 16) {
        static size_t places[1 << 16];
        memset(places, 0, sizeof places);
        for (size_t i = 0; i < n; i++)
            places[values[i] >> shift & 0xffff]++;
        size_t at = 0;
        for (size_t i = 0; i < 1 << 16; i++) {
            size_t n_here = places[i];
            places[i] = at;
            at += n_here;
        }
        for (size_t i = 0; i < n; i++)
            other[places[values[i] >> shift & 0xffff]++] = values[i];
        uint32_t *swapped = values;
        values = other;
        other = swapped;
    }
}

#define LOOP_N_QUANTILES 13
static const double loop_quantiles[LOOP_N_QUANTILES] = {0,   0.01, 0.1,  0.25,  0.5,    0.75,   0.9,
                                                        0.95, 0.99, 0.999, 0.9999, 0.99999, 1};

static inline double loop_quantile(const uint32_t *sorted, size_t n, double q)
{
    size_t at = (size_t)(q * (double)n);
    return (double)sorted[at < n ? at : n - 1];
}

static inline void loop_print_quantiles(const char *name, const uint32_t *sorted, size_t n)
{
    printf(",\"%s\":[", name);
    for (size_t i = 0; i < LOOP_N_QUANTILES && n > 0; i++)
        printf("%s%.1f", i ? "," : "", loop_quantile(sorted, n, loop_quantiles[i]) / peer_tsc_ghz());
    printf("]");
}

/* Packets of one class, or, as a mix, all that a table sees. */
struct loop_selection {
    const char *name;
    bool takes[3];
};

static const struct loop_selection loop_selections[] = {
    {"insert", {true, false, false}},
    {"hit", {false, true, false}},
    {"plain", {false, false, true}},
    {"mix", {true, true, false}},
};

#define LOOP_N_SELECTIONS (sizeof loop_selections / sizeof loop_selections[0])
#define LOOP_N_BINS 64u

/*
 * Prints a line for each class: `tags` are JSON members without a comma at either end. Quantiles and bins are in nanoseconds; a
 * bin has the middle of its packet numbers, the median and the maximum of its packets that are not marked.
 */
static inline bool loop_print(const struct loop *l, const char *tags, bool has_bins)
{
    const struct loop_phase *p = &l->phase;
    uint32_t *values = malloc(p->n_packets * sizeof *values), *other = malloc(p->n_packets * sizeof *values);
    for (size_t s = 0; s < LOOP_N_SELECTIONS && values && other; s++) {
        const struct loop_selection *selection = &loop_selections[s];
        size_t n = 0, n_all;
        for (uint64_t i = 0; i < p->n_packets; i++)
            if (selection->takes[loop_class_of(p, i)])
                values[n++] = l->latencies[i];
        n_all = n;
        if (n == 0)
            continue;
        loop_sort(values, other, n);
        /* Marked ones are behind the others. */
        while (n > 0 && values[n - 1] & LOOP_MARKED)
            n--;
        double middle = n ? loop_quantile(values, n, 0.5) : 0, least = n ? values[0] : 0;
        printf("{\"peer\":\"%s\",\"version\":\"%s\",\"work\":\"%s\",\"size\":%llu,\"cycles\":%.1f,\"cycles_min\":%.1f,"
               "\"tsc_ghz\":%.3f,%s,\"unmarked\":%zu",
               l->subject->name, l->subject->version, selection->name, (unsigned long long)n_all,
               middle > 0 ? middle : 1, least > 0 ? least : 1, peer_tsc_ghz(), tags, n);
        loop_print_quantiles("ns", values, n);
        for (size_t i = 0; i < n_all; i++)
            values[i] &= ~LOOP_MARKED;
        loop_sort(values, other, n_all);
        loop_print_quantiles("ns_with_marked", values, n_all);
        printf(",\"bins\":[");
        uint64_t n_bin = (p->n_packets + LOOP_N_BINS - 1) / LOOP_N_BINS;
        bool is_first = true;
        for (uint64_t from = 0; has_bins && from < p->n_packets; from += n_bin) {
            n = 0;
            for (uint64_t i = from; i < from + n_bin && i < p->n_packets; i++)
                if (selection->takes[loop_class_of(p, i)] && !(l->latencies[i] & LOOP_MARKED))
                    values[n++] = l->latencies[i];
            if (n == 0)
                continue;
            loop_sort(values, other, n);
            printf("%s[%llu,%.1f,%.1f]", is_first ? "" : ",", (unsigned long long)(from + n_bin / 2),
                   loop_quantile(values, n, 0.5) / peer_tsc_ghz(), loop_quantile(values, n, 1) / peer_tsc_ghz());
            is_first = false;
        }
        printf("]}\n");
    }
    bool is_done = values && other;
    free(values);
    free(other);
    fflush(stdout);
    return is_done;
}

static inline bool loop_windows_init(struct loop_windows *w, uint64_t n_packets)
{
    w->n = (n_packets + LOOP_WINDOW / 2 - 1) / (LOOP_WINDOW / 2);
    w->slowest = malloc(w->n * sizeof *w->slowest);
    w->n_runs = calloc(w->n, sizeof *w->n_runs);
    return w->slowest && w->n_runs;
}

/* Adds a run. */
static inline void loop_windows_add(struct loop_windows *w, const struct loop *l)
{
    for (size_t i = 0; i < w->n; i++) {
        uint64_t from = i * (LOOP_WINDOW / 2), to = from + LOOP_WINDOW;
        bool is_seen = false;
        uint32_t slowest = 0;
        for (uint64_t packet = from; packet < to && packet < l->phase.n_packets; packet++) {
            if (l->latencies[packet] & LOOP_MARKED)
                continue;
            is_seen = true;
            slowest = l->latencies[packet] > slowest ? l->latencies[packet] : slowest;
        }
        if (!is_seen)
            continue;
        if (w->n_runs[i]++ == 0 || slowest < w->slowest[i])
            w->slowest[i] = slowest;
    }
}

/* Prints and frees: the slowest packet among windows of enough runs, and how many windows have fewer. */
static inline void loop_windows_print(struct loop_windows *w, const struct loop *l, const char *tags)
{
    uint32_t slowest = 0;
    size_t n_few = 0;
    for (size_t i = 0; i < w->n; i++) {
        if (w->n_runs[i] < LOOP_WINDOW_RUNS)
            n_few++;
        else if (w->slowest[i] > slowest)
            slowest = w->slowest[i];
    }
    if (n_few < w->n)
        printf("{\"peer\":\"%s\",\"version\":\"%s\",\"work\":\"windows\",\"size\":%zu,\"cycles\":%u,\"cycles_min\":%u,"
               "\"tsc_ghz\":%.3f,%s,\"of_few_runs\":%zu,\"slowest_repeated_ns\":%.1f}\n",
               l->subject->name, l->subject->version, w->n, slowest ? slowest : 1, slowest ? slowest : 1,
               peer_tsc_ghz(), tags, n_few, (double)slowest / peer_tsc_ghz());
    free(w->slowest);
    free(w->n_runs);
}

/* The first and the last core that this process may run on. False if it is one. */
static inline bool loop_cores(int cores[2])
{
    cpu_set_t allowed;
    cores[0] = cores[1] = -1;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        for (int i = 0; i < CPU_SETSIZE; i++)
            if (CPU_ISSET((size_t)i, &allowed)) {
                cores[0] = cores[0] < 0 ? i : cores[0];
                cores[1] = i;
            }
    return cores[0] >= 0 && cores[0] != cores[1];
}

/* One experiment: the table is filled, then keys are looked up while some are new. */
struct loop_options {
    uint32_t n_burst, n_bytes, known_bits, one_in, load, n_runs;
    uint64_t n_packets;
    /* Latency over the number of the packet. */
    bool has_bins;
    /* The first phase is run at full speed, without figures. */
    bool only_fills;
    /* The generator's and the worker's. */
    int cores[2];
};

/* Reads the command line. False after a sentence on standard error. */
static inline bool loop_options(struct loop_options *o, int argc, char **argv)
{
    *o = (struct loop_options){
        .n_burst = (uint32_t)atoi(peer_option(argc, argv, "--burst", "32")),
        .n_bytes = (uint32_t)atoi(peer_option(argc, argv, "--bytes", "84")),
        .known_bits = (uint32_t)atoi(peer_option(argc, argv, "--bits", "20")),
        .one_in = (uint32_t)atoi(peer_option(argc, argv, "--one-in", "10000")),
        .load = (uint32_t)atoi(peer_option(argc, argv, "--load", "50")),
        .n_runs = (uint32_t)atoi(peer_option(argc, argv, "--runs", "5")),
        .n_packets = strtoull(peer_option(argc, argv, "--packets", "4194304"), NULL, 10),
        .has_bins = peer_flag(argc, argv, "--bins"),
        .only_fills = peer_flag(argc, argv, "--fill"),
    };
    if (o->n_burst < 1 || o->n_burst > LOOP_BURST_MAX || o->n_bytes < 64 || o->n_bytes > 128 || o->known_bits < 8 ||
        o->known_bits > 20 || o->one_in < 2 || o->load < 1 || o->load > 100 || o->n_runs < 1 ||
        o->n_packets < LOOP_TEND || o->n_packets > (16u << 20)) {
        fprintf(stderr, "%s: a number is out of range\n", argv[0]);
        return false;
    }
    if (!loop_cores(o->cores)) {
        fprintf(stderr, "the generator and the worker need a core each, and there is one\n");
        return false;
    }
    return true;
}

static inline bool loop_init(struct loop *l, const struct loop_subject *subject, const struct loop_options *o)
{
    *l = (struct loop){.subject = subject, .n_burst = o->n_burst, .n_bytes = o->n_bytes, .base = peer_tsc()};
    memcpy(l->cores, o->cores, sizeof l->cores);
    l->n_latencies = o->n_packets > (2u << 20) ? o->n_packets : 2u << 20;
    l->memory = aligned_alloc(4096, (size_t)LOOP_SLOTS * LOOP_SLOT_BYTES);
    l->latencies = calloc(l->n_latencies, sizeof *l->latencies);
    if (!l->memory || !l->latencies)
        return false;
    memset(l->memory, 0, (size_t)LOOP_SLOTS * LOOP_SLOT_BYTES);
    /* Touched, so that no page is allocated while packets wait. */
    memset(l->latencies, 1, l->n_latencies * sizeof *l->latencies);
    for (uint64_t i = 0; i < LOOP_SLOTS; i++)
        memcpy(loop_packet(l, i), subject->layout.bytes, sizeof subject->layout.bytes);
    return true;
}

/* Packets that together bring as many new keys as are looked up later, or a few more. */
static inline struct loop_phase loop_learning(const struct loop_options *o)
{
    uint64_t n_keys = UINT64_C(1) << o->known_bits;
    uint64_t n_groups = (n_keys + LOOP_PLAIN_OF - 2) / (LOOP_PLAIN_OF - 1);
    return (struct loop_phase){.n_packets = n_groups * LOOP_PLAIN_OF, .one_in = 1, .known_bits = o->known_bits};
}

static inline double loop_us(uint64_t cycles)
{
    return (double)cycles / peer_tsc_ghz() / 1e3;
}

#define LOOP_TAGS_BYTES 240u

/* Members that say what a line is about. */
static inline void loop_tags(char tags[LOOP_TAGS_BYTES], const struct loop_options *o, const struct loop_phase *phase,
                             const char *phase_name, uint32_t run)
{
    snprintf(tags, LOOP_TAGS_BYTES,
             "\"phase\":\"%s\",\"run\":%u,\"burst\":%u,\"bytes\":%u,\"one_in\":%u,\"load\":%u,\"keys\":%llu", phase_name,
             run, o->n_burst, o->n_bytes, phase->one_in, o->load, 1ULL << o->known_bits);
}

/* Sends a phase at a share of its capacity and prints what came of it. */
static inline bool loop_measure(struct loop *l, struct loop_phase phase, const struct loop_options *o, uint32_t run,
                                const char *phase_name, double capacity, struct loop_windows *windows)
{
    char tags[LOOP_TAGS_BYTES];
    struct rusage before, after;
    phase.gap = capacity * 100 / o->load;
    uint64_t n_before = l->subject->n_entries ? l->subject->n_entries(l->table) : 0;
    getrusage(RUSAGE_THREAD, &before);
    if (!loop_run(l, &phase))
        return false;
    getrusage(RUSAGE_THREAD, &after);
    uint64_t n_after = l->subject->n_entries ? l->subject->n_entries(l->table) : loop_n_new(&phase);
    loop_windows_add(windows, l);
    loop_tags(tags, o, &phase, phase_name, run);
    if (!loop_print(l, tags, o->has_bins))
        return false;
    printf("{\"peer\":\"%s\",\"version\":\"%s\",\"work\":\"run\",\"size\":%llu,\"cycles\":%.1f,\"cycles_min\":%.1f,"
           "\"tsc_ghz\":%.3f,%s,\"mpps\":%.3f,\"sent\":%llu,\"received\":%llu,\"wrong\":%llu,\"learned\":%llu,"
           "\"learned_expected\":%llu,\"hiccups\":%llu,\"hiccup_us\":%.0f,\"generator_hiccups\":%llu,"
           "\"generator_hiccup_us\":%.0f,\"held_us\":%.0f,\"slow\":%llu,\"slowest_us\":%.1f,\"page_faults\":%ld}\n",
           l->subject->name, l->subject->version, (unsigned long long)phase.n_packets, capacity, capacity,
           peer_tsc_ghz(), tags, peer_tsc_ghz() * 1e3 / phase.gap, (unsigned long long)l->n_filled,
           (unsigned long long)l->n_done, (unsigned long long)l->n_wrong, (unsigned long long)(n_after - n_before),
           (unsigned long long)loop_n_new(&phase), (unsigned long long)l->worker.n_hiccups,
           loop_us(l->worker.hiccup_cycles), (unsigned long long)l->generator.n_hiccups,
           loop_us(l->generator.hiccup_cycles), loop_us(l->held_cycles), (unsigned long long)l->worker.n_slow, loop_us(l->worker.slowest_cycles),
           after.ru_minflt - before.ru_minflt);
    fflush(stdout);
    return true;
}

/* Both phases, run by run, each on a table of its own. Prints the lines; false after a sentence on standard error. */
static inline bool loop_experiment(const struct loop_subject *subject, const struct loop_options *o)
{
    static struct loop l;
    struct loop_phase learning = loop_learning(o);
    struct loop_phase lookups = {.n_packets = o->n_packets, .one_in = o->one_in, .first_new = 2u << o->known_bits,
                                 .known_bits = o->known_bits};
    double capacities[2] = {0, 0};
    struct loop_windows windows[2] = {{0, NULL, NULL}, {0, NULL, NULL}};
    if (!loop_init(&l, subject, o) || !loop_windows_init(&windows[0], learning.n_packets) ||
        !loop_windows_init(&windows[1], lookups.n_packets)) {
        fprintf(stderr, "run: there is no memory\n");
        return false;
    }
    loop_pin(l.cores[1]);
    for (uint32_t run = 0; run <= o->n_runs; run++) {
        if (!(l.table = subject->create())) {
            fprintf(stderr, "run: there is no memory for the table\n");
            return false;
        }
        bool is_done;
        if (run == 0) {
            capacities[0] = loop_capacity(&l, &learning);
            capacities[1] = loop_capacity(&l, &lookups);
            is_done = capacities[0] > 0 && capacities[1] > 0;
        } else {
            is_done = o->only_fills ? loop_run(&l, &learning)
                                    : loop_measure(&l, learning, o, run, "learn", capacities[0], &windows[0]);
            is_done = is_done && loop_measure(&l, lookups, o, run, "lookup", capacities[1], &windows[1]);
        }
        subject->destroy(l.table);
        if (!is_done || l.n_wrong) {
            fprintf(stderr, "run: %llu packets did not get the value of their key, or a thread does not start\n",
                    (unsigned long long)l.n_wrong);
            return false;
        }
    }
    char tags[LOOP_TAGS_BYTES];
    loop_tags(tags, o, &learning, "learn", o->n_runs);
    loop_windows_print(&windows[0], &l, tags);
    loop_tags(tags, o, &lookups, "lookup", o->n_runs);
    loop_windows_print(&windows[1], &l, tags);
    free(l.memory);
    free(l.latencies);
    return true;
}

#endif
