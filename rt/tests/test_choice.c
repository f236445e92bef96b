/*
 * The choice between running a block here and sending its packets away: what is looked at is put in by hand, so that every
 * decision follows.
 */
#include "check.h"
#include "worker/sd_async.h"

static struct sd_offload_policy way;
static struct sd_worker worker;

static void begin(uint32_t here_cycles)
{
    memset(&way, 0, sizeof way);
    memset(&worker, 0, sizeof worker);
    way.choice.is_on = 1;
    way.choice.here_cycles = here_cycles;
    worker.async_ways = &way;
}

static void look(void)
{
    sd_choice_look(&worker, 0, 7);
}

/* The next `n` blocks that are measured cost so much. */
static void blocks(uint32_t n, uint32_t cycles)
{
    for (uint32_t i = 0; i < n; i++)
        sd_choice_note(&way, cycles);
}

static void test_clear_cases(void)
{
    /* Without measurements the policy does not change. */
    begin(0);
    look();
    CHECK(way.mode == SD_ASYNC_INLINE && way.choice.suspend_cycles == SD_SUSPEND_CYCLES);
    CHECK(way.choice.there_cycles == 7 && way.choice.n_probes_left == 0);
    begin(10 * SD_SUSPEND_CYCLES);
    look();
    CHECK(way.choice.n_changes == 1 && worker.trial_phase == SD_TRIAL_NONE);
    /* Some packets stay, to see what the block costs. */
    CHECK(way.mode == SD_ASYNC_INLINE && way.choice.n_probes_left == SD_CHOICE_PROBES);
    blocks(SD_CHOICE_PROBES, 10 * SD_SUSPEND_CYCLES);
    CHECK(way.mode == SD_ASYNC_SUSPEND && way.choice.n_probes_left == 0);
    begin(SD_SUSPEND_CYCLES / 10);
    look();
    CHECK(way.mode == SD_ASYNC_INLINE && way.choice.n_changes == 0 && way.choice.n_probes_left == 0);
}

/* The block becomes cheaper, and dearer again. */
static void test_step(void)
{
    begin(1000);
    uint32_t n_looks = 0;
    for (look(); way.choice.n_probes_left > 0; look(), n_looks++) {
        CHECK(n_looks < 40);
        /* A look before the probes are done changes nothing. */
        look();
        CHECK(way.choice.n_changes == 1);
        /* The first one finds nothing in the caches. */
        blocks(1, 3000);
        blocks(SD_CHOICE_PROBES - 1, 5);
    }
    /* On its way down it comes near what sending costs: both are tried. */
    CHECK(way.mode == SD_ASYNC_INLINE && way.choice.n_changes == 2 && worker.trial_phase == SD_TRIAL_INLINE);
    worker.trial_phase = SD_TRIAL_NONE;
    blocks(100, 5000);
    CHECK(way.choice.here_cycles > 4000);
    look();
    CHECK(way.choice.n_changes == 3 && way.choice.n_probes_left == SD_CHOICE_PROBES);
}

/* A burst that took so long. */
static void burst(uint64_t cycles, uint32_t n_blocks)
{
    if (way.mode == SD_ASYNC_SUSPEND)
        way.n_sent += n_blocks;
    else
        way.n_here += n_blocks;
    worker.trial_since = sd_cycles() - cycles;
    sd_trial_note(&worker, 32);
}

/* Of 32 packets 16 come to the block, which costs 120 cycles; sending one costs `suspend`. */
static void try_both(uint32_t suspend)
{
    begin(120);
    look();
    CHECK(worker.trial_phase == SD_TRIAL_INLINE && way.mode == SD_ASYNC_INLINE && way.choice.n_trials == 1);
    for (uint32_t i = 0; i < SD_TRIAL_WARM + SD_TRIAL_BURSTS; i++)
        burst(i < SD_TRIAL_WARM ? 1u << 30 : (32 * 1000 + 16 * 120) * UINT64_C(10), 16);
    CHECK(worker.trial_phase == SD_TRIAL_REMOTE && way.mode == SD_ASYNC_SUSPEND);
    /* Packets that are back are part of what they cost, and no packets that arrive. */
    worker.trial_since = sd_cycles();
    sd_trial_note(&worker, 0);
    CHECK(worker.n_trial_bursts == 0);
    for (uint32_t i = 0; i < SD_TRIAL_WARM + SD_TRIAL_BURSTS; i++)
        burst((32 * 1000 + 16 * (uint64_t)suspend) * 10, 16);
    CHECK(worker.trial_phase == SD_TRIAL_NONE);
}

static void test_trial(void)
{
    /* All times are ten times what they say, so that the time of this test does not matter. */
    try_both(60);
    CHECK(way.mode == SD_ASYNC_SUSPEND);
    /* 120 + 10 x (60 - 120) is out of range. */
    CHECK(way.choice.suspend_cycles == SD_SUSPEND_CYCLES_MIN);
    try_both(200);
    CHECK(way.mode == SD_ASYNC_INLINE);
    CHECK(way.choice.suspend_cycles > 820 && way.choice.suspend_cycles < 1020);
    /* The same costs are not tried again. */
    for (uint32_t i = 0; i < 10 * SD_TRIAL_LOOKS; i++)
        look();
    CHECK(worker.trial_phase == SD_TRIAL_NONE && way.choice.n_trials == 1);
    /* Others are, when some time has passed. */
    way.choice.here_cycles = 2000;
    look();
    CHECK(worker.trial_phase == SD_TRIAL_INLINE && way.choice.n_trials == 2);
}

/* Blocks that hardly any packet comes to say nothing about what sending costs. */
static void test_rare(void)
{
    begin(120);
    look();
    for (uint32_t i = 0; i < 2 * (SD_TRIAL_WARM + SD_TRIAL_BURSTS); i++)
        burst(i < SD_TRIAL_WARM + SD_TRIAL_BURSTS ? 32000 : 64000, i % 16 == 0);
    CHECK(worker.trial_phase == SD_TRIAL_NONE && way.choice.suspend_cycles == SD_SUSPEND_CYCLES);
}

static void test_average(void)
{
    CHECK(sd_choice_average(0, 0) == 1 && sd_choice_average(0, 500) == 500);
    CHECK(sd_choice_average(800, 0) == 700);
    /* An interrupt counts as four times what is usual. */
    CHECK(sd_choice_average(800, UINT64_MAX) == 1100);
    CHECK(sd_choice_average(1, 0) == 1);
}

int main(void)
{
    test_clear_cases();
    test_step();
    test_trial();
    test_rare();
    test_average();
    return 0;
}
