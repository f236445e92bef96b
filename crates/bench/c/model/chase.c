/*
 * Cycles from a load to its value, where each load says where the next one is, by the bytes that the loads are spread over.
 *
 *     run [--runs N]
 *
 * One JSON object per line. Lines are visited in a random round, so neither a stream nor the next line is prefetched; memory
 * has huge pages where the system gives them, as large tables do.
 */
#include "worker/sd_store.h"

#include "workload.h"

#define LINE_BYTES 64
#define SIZE_MIN (UINT64_C(16) << 10)
#define SIZE_MAX_BYTES (UINT64_C(256) << 20)
#define LOADS (1 << 19)
#define RUNS_MAX 101

/* A random round over all lines (Sattolo 1986). */
static void make_round(uint8_t *memory, uint64_t n_lines, uint32_t *order)
{
    uint64_t state = 1;
    for (uint64_t i = 0; i < n_lines; i++)
        order[i] = (uint32_t)i;
    for (uint64_t i = n_lines - 1; i > 0; i--) {
        uint64_t j = peer_random(&state) % i;
        uint32_t other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
    for (uint64_t i = 0; i < n_lines; i++) {
        void *next = memory + (uint64_t)order[(i + 1) % n_lines] * LINE_BYTES;
        memcpy(memory + (uint64_t)order[i] * LINE_BYTES, &next, sizeof next);
    }
}

static double chase(void **at, uint64_t n)
{
    void **p = at;
    uint64_t start = peer_tsc();
    for (uint64_t i = 0; i < n; i++)
        p = *p;
    uint64_t cycles = peer_tsc() - start;
    __asm__ volatile("" : : "r"(p));
    return (double)cycles / (double)n;
}

int main(int argc, char **argv)
{
    uint32_t n_runs = 5;
    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--runs") == 0)
            n_runs = (uint32_t)strtoul(argv[i + 1], NULL, 10);
    n_runs = n_runs < 1 ? 1 : n_runs > RUNS_MAX ? RUNS_MAX : n_runs;
    uint8_t *memory = sd_map_large(SIZE_MAX_BYTES);
    uint32_t *order = calloc(SIZE_MAX_BYTES / LINE_BYTES, sizeof *order);
    if (!memory || !order) {
        fprintf(stderr, "there is not enough memory\n");
        return 1;
    }
    for (uint64_t size = SIZE_MIN; size <= SIZE_MAX_BYTES; size *= 2) {
        double runs[RUNS_MAX];
        make_round(memory, size / LINE_BYTES, order);
        chase((void **)(void *)memory, size / LINE_BYTES);
        for (uint32_t run = 0; run < n_runs; run++)
            runs[run] = chase((void **)(void *)memory, LOADS);
        double median = peer_median(runs, n_runs);
        printf("{\"peer\":\"machine\",\"work\":\"load\",\"size\":%llu,\"cycles\":%.2f,\"cycles_min\":%.2f}\n",
               (unsigned long long)size, median, runs[0]);
    }
    return 0;
}
