/*
 * Delays of packets beside their bounds: the open loop of `siding bench state --figure latency` (crates/bench/peers/open_loop.h)
 * with arrivals from a file, a record of every burst, and marks of stalls that are much shorter.
 *
 *     run --idle SECONDS
 *     run --gap CYCLES [--offsets FILE] [--packets N] [--burst N] [--bytes N] [--bits N] [--envelope CYCLES,...] [--found CYCLES]
 *         [--program-ns N] [--machine-ns N] [--recovered-ns N]
 *
 * The first polls without packets while the other core is busy, and prints the gaps between two polls. The second prints the capacity without a gap, or the
 * delays with one: FILE has the times of a cycle of packets, as 64-bit numbers of TSC cycles. `--envelope` is the most that a burst of 1, 2,
 * ... packets may take until the next poll, `--found` the most until an idle worker finds a packet; more is a stall, which
 * marks all packets until the ring is empty, or until two bursts in a row have taken all packets without a stall and within
 * `--recovered-ns`. The other two are bounds: how many packets are above them is counted.
 */
#define _GNU_SOURCE
#define LOOP_HICCUP_NS 1000.0
#define LOOP_SLOW_NS 1e9
#define LOOP_LATE_NS 1000.0
#define LOOP_SENT_LATE_NS 200.0
#include "../state/subject.h"

/* Gaps between two idle polls that are recorded. */
#define GAP_NS 500.0
#define GAPS_MAX (1u << 20)
/* The length of a window for which it is said whether a packet is above the bound. */
#define WINDOW_NS 1e9

struct busy {
    int core;
    uint64_t is_over LOOP_LINE;
};

/* Keeps the generator's core busy: other programs find no free core, as in the runs with packets. */
static void *keep_busy(void *argument)
{
    struct busy *busy = argument;
    loop_pin(busy->core);
    while (!__atomic_load_n(&busy->is_over, __ATOMIC_ACQUIRE))
        __builtin_ia32_pause();
    return NULL;
}

static int idle(double seconds)
{
    static double gaps[GAPS_MAX][2];
    static uint64_t word;
    static struct busy busy;
    pthread_t other;
    int cores[2];
    if (!loop_cores(cores)) {
        fprintf(stderr, "the generator and the worker need a core each, and there is one\n");
        return 2;
    }
    busy.core = cores[0];
    if (pthread_create(&other, NULL, keep_busy, &busy) != 0) {
        fprintf(stderr, "run: a thread does not start\n");
        return 1;
    }
    loop_pin(cores[1]);
    const double ghz = peer_tsc_ghz();
    const uint64_t least = (uint64_t)(GAP_NS * ghz), begin = __rdtsc(), end = begin + (uint64_t)(seconds * 1e9 * ghz);
    uint64_t n_gaps = 0, n_polls = 0, last = begin, longest = 0;
    double total = 0;
    while (last < end) {
        (void)__atomic_load_n(&word, __ATOMIC_ACQUIRE);
        uint64_t now = __rdtsc();
        n_polls++;
        if (now > last + least) {
            uint64_t gap = now - last;
            if (n_gaps < GAPS_MAX) {
                gaps[n_gaps][0] = (double)(last - begin) / ghz;
                gaps[n_gaps][1] = (double)gap / ghz;
            }
            n_gaps++;
            longest = gap > longest ? gap : longest;
            total += (double)gap / ghz;
        }
        last = now;
        __builtin_ia32_pause();
    }
    __atomic_store_n(&busy.is_over, 1, __ATOMIC_RELEASE);
    pthread_join(other, NULL);
    if (n_gaps > GAPS_MAX) {
        fprintf(stderr, "run: more than %u stalls in %.0f s: the cores are not quiet enough\n", GAPS_MAX, seconds);
        return 1;
    }
    double poll = ((double)(last - begin) / ghz - total) / (double)n_polls;
    printf("{\"peer\":\"siding\",\"work\":\"idle\",\"size\":%llu,\"cycles\":%.3f,\"cycles_min\":%.3f,\"tsc_ghz\":%.4f,"
           "\"seconds\":%.3f,\"longest_ns\":%.1f,\"total_ns\":%.1f,\"gaps\":[",
           (unsigned long long)n_gaps, poll * ghz, poll * ghz, ghz, (double)(last - begin) / ghz / 1e9,
           (double)longest / ghz, total);
    for (uint64_t i = 0; i < n_gaps; i++)
        printf("%s[%.0f,%.0f]", i ? "," : "", gaps[i][0], gaps[i][1]);
    printf("]}\n");
    return 0;
}

static uint64_t *read_offsets(const char *path, uint64_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        return NULL;
    long bytes = ftell(f);
    rewind(f);
    *n = bytes > 0 ? (uint64_t)bytes / sizeof(uint64_t) : 0;
    uint64_t *offsets = *n ? malloc(*n * sizeof *offsets) : NULL;
    if (offsets && fread(offsets, sizeof *offsets, *n, f) != *n)
        return NULL;
    fclose(f);
    return offsets;
}

/* Sums over the bursts of a run. */
struct sums {
    uint64_t n_stalls, n_marked, n_above_program, n_unexplained, n_above_machine, n_windows, n_windows_above;
    double slowest_ns, stalled_ns, total_ns;
};

/* Goes through all bursts: marks what stalls have touched, and counts by window. */
static struct sums judged(const struct loop *l, const uint64_t *envelope, uint64_t found_max, double program_ns, double machine_ns,
                          double recovered_ns, double gap)
{
    struct sums sums = {0};
    const double ghz = peer_tsc_ghz();
    const uint64_t program = (uint64_t)(program_ns * ghz), machine = (uint64_t)(machine_ns * ghz);
    const uint64_t recovered = (uint64_t)(recovered_ns * ghz);
    uint64_t i = 0, window = 0;
    bool is_marked = false, is_above = false, was_calm = false;
    uint64_t whole = 0;
    for (uint64_t b = 0; b < l->n_bursts; b++) {
        const struct loop_burst *burst = &l->bursts[b];
        uint32_t oldest = l->latencies[i] & ~LOOP_MARKED;
        bool is_stalled = burst->is_stalled;
        if (burst->is_first) {
            is_marked = false;
            is_stalled |= oldest > burst->through + found_max;
        }
        if (burst->whole > envelope[burst->n]) {
            sums.n_stalls++;
            sums.stalled_ns += (double)(burst->whole - envelope[burst->n]) / ghz;
            is_stalled = true;
        }
        is_marked |= is_stalled;
        for (uint64_t end = i + burst->n; i < end; i++) {
            uint32_t latency = l->latencies[i] & ~LOOP_MARKED;
            uint64_t in = (uint64_t)((double)i * gap / ghz / WINDOW_NS);
            if (in != window) {
                sums.n_windows++;
                sums.n_windows_above += is_above;
                window = in;
                is_above = false;
            }
            sums.total_ns += (double)latency / ghz;
            sums.n_marked += is_marked;
            sums.n_above_program += latency > program;
            sums.n_unexplained += latency > program && !is_marked;
            sums.n_above_machine += latency > machine;
            is_above |= latency > machine;
            if (is_marked)
                l->latencies[i] |= LOOP_MARKED;
            else
                l->latencies[i] &= ~LOOP_MARKED;
        }
        bool is_calm = !is_stalled && burst->is_all;
        if (is_calm && was_calm && whole + burst->whole <= recovered)
            is_marked = false;
        was_calm = is_calm;
        whole = burst->whole;
    }
    sums.n_windows++;
    sums.n_windows_above += is_above;
    return sums;
}

static void print_delays(struct loop *l, uint32_t *values, uint32_t *other)
{
    size_t n = l->phase.n_packets;
    memcpy(values, l->latencies, n * sizeof *values);
    loop_sort(values, other, n);
    while (n > 0 && values[n - 1] & LOOP_MARKED)
        n--;
    loop_print_quantiles("ns", values, n);
    n = l->phase.n_packets;
    for (size_t i = 0; i < n; i++)
        values[i] = l->latencies[i] & ~LOOP_MARKED;
    loop_sort(values, other, n);
    loop_print_quantiles("ns_with_marked", values, n);
}

/* For bursts of every number of packets: how many there were, and quantiles of their costs in nanoseconds. */
static void print_bursts(const struct loop *l, uint32_t *values, uint32_t *other)
{
    const double ghz = peer_tsc_ghz();
    double after = 0;
    uint64_t n_after = 0, at = 0;
    printf(",\"bursts\":[");
    for (uint32_t size = 1, is_first = 1; size <= l->n_burst; size++) {
        size_t n = 0;
        for (uint64_t b = 0; b < l->n_bursts; b++)
            if (l->bursts[b].n == size && !l->bursts[b].is_stalled)
                values[n++] = l->bursts[b].through;
        if (n == 0)
            continue;
        loop_sort(values, other, n);
        printf("%s{\"n\":%u,\"size\":%zu", is_first ? "" : ",", size, n);
        loop_print_quantiles("through", values, n);
        n = 0;
        for (uint64_t b = 0; b < l->n_bursts; b++)
            if (l->bursts[b].n == size && !l->bursts[b].is_stalled)
                values[n++] = l->bursts[b].whole;
        loop_sort(values, other, n);
        loop_print_quantiles("whole", values, n);
        printf("}");
        is_first = 0;
    }
    size_t n = 0;
    for (uint64_t b = 0; b < l->n_bursts; at += l->bursts[b++].n) {
        const struct loop_burst *burst = &l->bursts[b];
        uint32_t latency = l->latencies[at] & ~LOOP_MARKED;
        if (burst->is_stalled)
            continue;
        after += (double)(burst->whole - burst->through);
        n_after += burst->n;
        if (burst->is_first)
            values[n++] = latency > burst->through ? latency - burst->through : 0;
    }
    loop_sort(values, other, n);
    printf("],\"after_ns\":%.3f,\"n_found\":%zu", n_after ? after / (double)n_after / ghz : 0, n);
    loop_print_quantiles("found", values, n);
}

/* TSC cycles of a packet in a burst that is full: the median. */
static double full_bursts(const struct loop *l, uint32_t *values, uint32_t *other)
{
    size_t n = 0;
    for (uint64_t b = 0; b < l->n_bursts; b++)
        if (l->bursts[b].n == l->n_burst)
            values[n++] = l->bursts[b].whole;
    loop_sort(values, other, n);
    return n ? loop_quantile(values, n, 0.5) / l->n_burst : 0;
}

int main(int argc, char **argv)
{
    static struct loop l;
    struct loop_options options;
    const char *word, *path = peer_option(argc, argv, "--offsets", NULL);
    uint64_t envelope[LOOP_BURST_MAX + 1];
    if ((word = peer_option(argc, argv, "--idle", NULL)))
        return idle(atof(word));
    if (!loop_options(&options, argc, argv))
        return 2;
    struct loop_subject subject = program_subject("udp");
    struct loop_phase learning = loop_learning(&options);
    /* None of the packets is new. */
    struct loop_phase phase = {.n_packets = options.n_packets, .one_in = 0, .known_bits = options.known_bits};
    phase.gap = atof(peer_option(argc, argv, "--gap", "0"));
    if (path && !(phase.offsets = read_offsets(path, &phase.n_offsets))) {
        fprintf(stderr, "run: %s has no times\n", path);
        return 2;
    }
    word = peer_option(argc, argv, "--envelope", NULL);
    for (uint32_t i = 0; i <= LOOP_BURST_MAX; i++) {
        envelope[i] = UINT64_MAX;
        if (word && i > 0) {
            envelope[i] = strtoull(word, NULL, 10);
            word = strchr(word, ',');
            word = word ? word + 1 : NULL;
        }
    }
    size_t n_room = options.n_packets > learning.n_packets ? options.n_packets : learning.n_packets;
    if (!loop_init(&l, &subject, &options) || !(l.table = subject.create())) {
        fprintf(stderr, "run: there is no memory\n");
        return 1;
    }
    uint32_t *values = malloc(n_room * sizeof *values), *other = malloc(n_room * sizeof *other);
    struct loop_burst *bursts = malloc(n_room * sizeof *bursts);
    if (!values || !other || !bursts) {
        fprintf(stderr, "run: there is no memory\n");
        return 1;
    }
    memset(bursts, 1, n_room * sizeof *bursts);
    loop_pin(l.cores[1]);
    bool is_done = loop_run(&l, &learning);
    double capacity = 0;
    if (is_done && phase.gap == 0) {
        l.bursts = bursts;
        is_done = loop_run(&l, &phase);
        capacity = is_done ? full_bursts(&l, values, other) : 0;
        is_done = capacity > 0;
    } else if (is_done) {
        l.bursts = bursts;
        is_done = loop_run(&l, &phase);
    }
    if (!is_done || l.n_wrong) {
        fprintf(stderr, "run: %llu packets did not get the value of their key, or a thread does not start\n",
                (unsigned long long)l.n_wrong);
        return 1;
    }
    double cycles = capacity > 0 ? capacity : phase.gap;
    printf("{\"peer\":\"siding\",\"work\":\"%s\",\"size\":%llu,\"cycles\":%.3f,\"cycles_min\":%.3f,\"tsc_ghz\":%.4f",
           capacity > 0 ? "capacity" : "delays", (unsigned long long)phase.n_packets, cycles, cycles, peer_tsc_ghz());
    if (phase.gap > 0) {
        struct sums sums = judged(&l, envelope, strtoull(peer_option(argc, argv, "--found", "4000000000"), NULL, 10),
                                  atof(peer_option(argc, argv, "--program-ns", "1e9")),
                                  atof(peer_option(argc, argv, "--machine-ns", "1e9")),
                                  atof(peer_option(argc, argv, "--recovered-ns", "0")), phase.gap);
        printf(",\"mean_ns\":%.1f,\"stalls\":%llu,\"stalled_us\":%.1f,\"marked\":%llu,\"above_program\":%llu,\"unexplained\":%llu,"
               "\"above_machine\":%llu,\"windows\":%llu,\"windows_above\":%llu,\"hiccups\":%llu,\"hiccup_us\":%.0f,"
               "\"generator_hiccups\":%llu,\"held_us\":%.0f",
               sums.total_ns / (double)phase.n_packets, (unsigned long long)sums.n_stalls, sums.stalled_ns / 1e3,
               (unsigned long long)sums.n_marked, (unsigned long long)sums.n_above_program,
               (unsigned long long)sums.n_unexplained, (unsigned long long)sums.n_above_machine,
               (unsigned long long)sums.n_windows, (unsigned long long)sums.n_windows_above,
               (unsigned long long)l.worker.n_hiccups, loop_us(l.worker.hiccup_cycles),
               (unsigned long long)l.generator.n_hiccups, loop_us(l.held_cycles));
        print_delays(&l, values, other);
    }
    print_bursts(&l, values, other);
    printf("}\n");
    return 0;
}
