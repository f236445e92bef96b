/*
 * The choice whether to offload an asynchronous block: a worker decides while it runs, between two bursts.
 *
 * A worker spends `here_cycles` on a block that it runs itself, and `suspend_cycles` on a packet that it offloads,
 * independent of the block. Packets that exceed the offload worker's capacity are run by the worker. So the policy that
 * costs the worker less gives the higher rate. Waiting for the other core costs both, and never pays.
 *
 * The block's cost is measured at one packet in SD_CHOICE_SAMPLES; while packets are offloaded, at SD_CHOICE_PROBES packets
 * in a row at every look, of which the least counts, because the first one misses the caches. The cost of offloading depends
 * on the placement of the cores: it is found by a trial of both policies when the costs are near each other.
 *
 *     look      every SD_CHOICE_BURSTS bursts: changes the policy if the other one is cheaper by an eighth at least
 *     trial     first inline, then remote; each has SD_TRIAL_WARM bursts that do not count and SD_TRIAL_BURSTS that do
 *
 * Owns: `choice` of a policy, and `trial_*` of the worker. Invariant: a worker tries one block at a time.
 */
#ifndef SD_ASYNC_CHOICE_H
#define SD_ASYNC_CHOICE_H

#include "base/sd_clock.h"

#define SD_CHOICE_BURSTS 64u
#define SD_CHOICE_SAMPLES 16u
#define SD_CHOICE_PROBES 4u
/* Initial value, until a trial has measured it. */
#define SD_SUSPEND_CYCLES 100u
#define SD_SUSPEND_CYCLES_MIN 8u
#define SD_SUSPEND_CYCLES_MAX 4096u
/* Costs that differ by this factor need no trial. */
#define SD_TRIAL_TIMES 4u
#define SD_TRIAL_BURSTS 64u
#define SD_TRIAL_WARM 32u
/* Looks between two trials. */
#define SD_TRIAL_LOOKS 64u

enum { SD_TRIAL_NONE, SD_TRIAL_INLINE, SD_TRIAL_REMOTE };

/* A worker is about to run a block itself, the `n`th time. */
SD_INLINE void sd_async_sample(struct sd_worker *w, const struct sd_offload_policy *way, uint64_t n)
{
    w->block_since = 0;
    if (SD_UNLIKELY(way->choice.is_on) && (n % SD_CHOICE_SAMPLES == 0 || way->choice.n_probes_left > 0))
        w->block_since = sd_cycles();
}

SD_INLINE uint32_t sd_choice_average(uint32_t average, uint64_t cycles)
{
    uint32_t value = cycles < UINT32_MAX / 16 ? (uint32_t)cycles : UINT32_MAX / 16;
    if (average == 0)
        return value ? value : 1;
    /* One packet among a thousand meets an interrupt: it counts as four times what is usual. */
    if (value / 4 > average)
        value = average * 4;
    average += (uint32_t)((int32_t)(value - average) / 8);
    return average ? average : 1;
}

SD_COLD void sd_choice_note(struct sd_offload_policy *way, uint64_t cycles)
{
    struct sd_async_choice *choice = &way->choice;
    if (choice->n_probes_left > 0) {
        if (cycles < choice->probe_cycles)
            choice->probe_cycles = (uint32_t)cycles;
        if (--choice->n_probes_left > 0)
            return;
        way->mode = SD_ASYNC_SUSPEND;
        cycles = choice->probe_cycles;
    }
    choice->here_cycles = sd_choice_average(choice->here_cycles, cycles);
}

/* It has run it. */
SD_INLINE void sd_async_sampled(struct sd_worker *w, uint32_t point)
{
    if (SD_UNLIKELY(w->block_since)) {
        sd_choice_note(&w->async_ways[point], sd_cycles() - w->block_since);
        w->block_since = 0;
    }
}

SD_INLINE uint64_t sd_choice_blocks(const struct sd_offload_policy *way)
{
    return way->n_here + way->n_sent + way->n_full + way->n_no_room;
}

SD_INLINE void sd_choice_set(struct sd_offload_policy *way, uint32_t mode)
{
    way->choice.n_probes_left = 0;
    if (way->mode == mode)
        return;
    way->mode = mode;
    way->choice.n_changes++;
}

/* Both ways have been tried: what does a packet cost that is sent, and which is better? */
SD_LOCAL void sd_trial_judge(struct sd_worker *w, struct sd_offload_policy *way)
{
    struct sd_async_choice *choice = &way->choice;
    double per_packet[2];
    for (uint32_t i = 0; i < 2; i++) {
        if (w->n_trial_packets[i] == 0)
            return;
        per_packet[i] = (double)w->trial_cycles[i] / (double)w->n_trial_packets[i];
    }
    double share = (double)w->n_trial_blocks / (double)(w->n_trial_packets[0] + w->n_trial_packets[1]);
    if (share < 1.0 / 64)
        return;
    double cycles = (double)choice->tried_cycles + (per_packet[1] - per_packet[0]) / share;
    cycles = cycles < SD_SUSPEND_CYCLES_MIN ? SD_SUSPEND_CYCLES_MIN : cycles;
    cycles = cycles > SD_SUSPEND_CYCLES_MAX ? SD_SUSPEND_CYCLES_MAX : cycles;
    choice->suspend_cycles = (uint32_t)cycles;
    sd_choice_set(way, per_packet[1] < per_packet[0] ? SD_ASYNC_SUSPEND : SD_ASYNC_INLINE);
}

SD_LOCAL void sd_trial_begin(struct sd_worker *w, uint32_t point, uint32_t block_cycles)
{
    struct sd_offload_policy *way = &w->async_ways[point];
    way->choice.tried_cycles = block_cycles;
    way->choice.n_looks = 0;
    way->choice.n_trials++;
    w->trial_point = point;
    w->trial_phase = SD_TRIAL_INLINE;
    w->n_trial_bursts = 0;
    w->n_trial_blocks = 0;
    memset(w->trial_cycles, 0, sizeof w->trial_cycles);
    memset(w->n_trial_packets, 0, sizeof w->n_trial_packets);
    sd_choice_set(way, SD_ASYNC_INLINE);
}

/* A burst of `n_packets` that arrived is done, or one of packets that are back (0). */
SD_LOCAL void sd_trial_note(struct sd_worker *w, uint32_t n_packets)
{
    struct sd_offload_policy *way = &w->async_ways[w->trial_point];
    if (w->n_trial_bursts >= SD_TRIAL_WARM) {
        w->trial_cycles[w->trial_phase - SD_TRIAL_INLINE] += sd_cycles() - w->trial_since;
        w->n_trial_packets[w->trial_phase - SD_TRIAL_INLINE] += n_packets;
    }
    if (n_packets == 0)
        return;
    w->n_trial_bursts++;
    if (w->n_trial_bursts == SD_TRIAL_WARM)
        w->n_trial_blocks -= sd_choice_blocks(way);
    if (w->n_trial_bursts < SD_TRIAL_WARM + SD_TRIAL_BURSTS)
        return;
    w->n_trial_blocks += sd_choice_blocks(way);
    w->n_trial_bursts = 0;
    if (w->trial_phase == SD_TRIAL_INLINE) {
        w->trial_phase = SD_TRIAL_REMOTE;
        sd_choice_set(way, SD_ASYNC_SUSPEND);
    } else {
        w->trial_phase = SD_TRIAL_NONE;
        sd_trial_judge(w, way);
    }
}

SD_LOCAL void sd_choice_look(struct sd_worker *w, uint32_t point, uint32_t there_cycles)
{
    struct sd_offload_policy *way = &w->async_ways[point];
    struct sd_async_choice *choice = &way->choice;
    if (choice->suspend_cycles == 0)
        choice->suspend_cycles = SD_SUSPEND_CYCLES;
    choice->n_looks++;
    choice->there_cycles = there_cycles;
    uint32_t block_cycles = choice->here_cycles;
    /* Still at it: no packet has come to the block. */
    if (block_cycles == 0 || choice->n_probes_left > 0)
        return;
    uint32_t suspend_cycles = choice->suspend_cycles;
    bool is_near = block_cycles < suspend_cycles * SD_TRIAL_TIMES && block_cycles > suspend_cycles / SD_TRIAL_TIMES;
    uint32_t tried = choice->tried_cycles;
    bool is_new = block_cycles > tried + tried / 8 || block_cycles < tried - tried / 8;
    bool is_time = tried == 0 || choice->n_looks >= SD_TRIAL_LOOKS;
    if (is_near && is_new && is_time && w->trial_phase == SD_TRIAL_NONE) {
        sd_trial_begin(w, point, block_cycles);
        return;
    }
    if (way->mode == SD_ASYNC_INLINE && block_cycles > suspend_cycles + suspend_cycles / 8)
        sd_choice_set(way, SD_ASYNC_SUSPEND);
    else if (way->mode == SD_ASYNC_SUSPEND && block_cycles < suspend_cycles - suspend_cycles / 8)
        sd_choice_set(way, SD_ASYNC_INLINE);
    if (way->mode == SD_ASYNC_SUSPEND) {
        way->mode = SD_ASYNC_INLINE;
        choice->n_probes_left = SD_CHOICE_PROBES;
        choice->probe_cycles = UINT32_MAX;
    }
}

#endif
