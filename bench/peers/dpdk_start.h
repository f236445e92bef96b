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

#endif
