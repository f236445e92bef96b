/*
 * Starts DPDK's environment for one thread, without devices and without root's leftovers: on huge
 * pages where enough of them are free, on ordinary pages otherwise. Which of the two is part of
 * every printed line ("pages").
 */
#ifndef PEERS_DPDK_START_H
#define PEERS_DPDK_START_H

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_version.h>

#include "workload.h"

static const char *peer_pages = "4k";

/* "22.11.11" from "DPDK 22.11.11". */
static inline const char *peer_dpdk_version(void)
{
    const char *text = rte_version();
    const char *space = strrchr(text, ' ');
    return space ? space + 1 : text;
}

/* Free 2 MiB pages, in MiB. */
static inline unsigned long peer_huge_free_mb(void)
{
    unsigned long n = 0;
    FILE *f = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
    if (f != NULL) {
        if (fscanf(f, "%lu", &n) != 1)
            n = 0;
        fclose(f);
    }
    return n * 2;
}

/* The last core this process may run on: the first tends to serve interrupts. */
static inline int peer_core(void)
{
    cpu_set_t allowed;
    int core = 0;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
        for (int i = 0; i < CPU_SETSIZE; i++)
            if (CPU_ISSET(i, &allowed))
                core = i;
    return core;
}

/* peer_print for a library of DPDK: version and pages are known. */
static inline void peer_dpdk_print(const char *peer, const char *work, uint64_t size, double *runs,
                                   size_t n_runs, const char *extra)
{
    char more[200];
    snprintf(more, sizeof(more), "%s,\"pages\":\"%s\"", extra, peer_pages);
    peer_print(peer, peer_dpdk_version(), work, size, runs, n_runs, more);
}

/* Returns 0, or -1 after a sentence on standard error. `program` is argv[0]. */
static inline int peer_dpdk_start(const char *program, unsigned memory_mb)
{
    char name[64], core[16], memory[16], in_memory[] = "--in-memory", no_huge[] = "--no-huge";
    char no_files[] = "--no-shconf";
    char *args[16];
    int n = 0;
    int huge = peer_huge_free_mb() >= memory_mb && getenv("PEERS_NO_HUGE") == NULL;

    snprintf(name, sizeof(name), "%s", strrchr(program, '/') ? strrchr(program, '/') + 1 : program);
    snprintf(core, sizeof(core), "%d", peer_core());
    snprintf(memory, sizeof(memory), "%u", memory_mb);
    args[n++] = name;
    args[n++] = (char[]){"-l"};
    args[n++] = core;
    args[n++] = (char[]){"-m"};
    args[n++] = memory;
    args[n++] = (char[]){"--no-pci"};
    args[n++] = (char[]){"--no-telemetry"};
    args[n++] = (char[]){"--log-level=error"};
    /* Libraries choose AVX-512 code only where this is allowed, and the processor has it. */
    args[n++] = (char[]){"--force-max-simd-bitwidth=512"};
    /* Nothing is shared with other processes, so that several may run. */
    if (huge) {
        peer_pages = "2m";
        args[n++] = in_memory;
    } else {
        args[n++] = no_huge;
        args[n++] = no_files;
    }
    /* DPDK permutes its arguments; it gets the array, not our own command line. */
    if (rte_eal_init(n, args) < 0) {
        fprintf(stderr, "%s: DPDK does not start: %s\n", name, rte_strerror(rte_errno));
        return -1;
    }
    return 0;
}

/* A program that measures a library at several sizes. */
struct peer_program {
    const char *name;
    /* What a size counts. */
    const char *what;
    size_t sizes[8];
    /* The largest one of a quick look, and the largest one that may be asked for. */
    size_t quick_max, size_max;
    /* DPDK's memory: so much, and a MiB for so many of what is counted. */
    unsigned memory_mb;
    size_t n_per_mb;
    /* 0, or a sentence was printed. */
    int (*measure)(size_t size, size_t n_runs);
    /* Prints the workload instead; may be NULL. */
    int (*print)(size_t size);
};

/* What main gives back: all sizes, those of --quick, that of --size, or the workload of --print. */
static inline int peer_main(int argc, char **argv, const struct peer_program *program)
{
    int quick = peer_flag(argc, argv, "--quick");
    size_t print = strtoul(peer_option(argc, argv, "--print", "0"), NULL, 10);
    size_t only = strtoul(peer_option(argc, argv, "--size", "0"), NULL, 10);
    size_t n_runs = quick ? 3 : PEER_RUNS, largest = only;

    if (only > program->size_max || print > program->size_max) {
        fprintf(stderr, "peer-%s: at most %zu %s\n", program->name, program->size_max,
                program->what);
        return 2;
    }
    if (print != 0 && program->print != NULL)
        return program->print(print) != 0;
    for (size_t i = 0; only == 0 && program->sizes[i] != 0; i++)
        if (!quick || program->sizes[i] <= program->quick_max)
            largest = program->sizes[i];
    if (peer_dpdk_start(argv[0], program->memory_mb + (unsigned)(largest / program->n_per_mb)) != 0)
        return 1;
    if (only != 0)
        return program->measure(only, n_runs) != 0;
    for (size_t i = 0; program->sizes[i] != 0 && program->sizes[i] <= largest; i++)
        if (program->measure(program->sizes[i], n_runs) != 0)
            return 1;
    return 0;
}

#endif
