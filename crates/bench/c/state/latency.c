/*
 * Latency of packets that add entries and of those that find them (crates/bench/programs/latency_address.p4, latency_udp.p4).
 *
 *     run --program address|udp [--burst N] [--bytes N] [--bits N] [--one-in N] [--load PERCENT] [--packets N] [--runs N]
 *         [--bins] [--fill]
 *
 * `siding bench state --figure latency` puts program.c (generated), workload.h and open_loop.h (crates/bench/peers) beside this
 * file. open_loop.h has the generator and says what is measured, subject.h what processes its packets.
 */
#define _GNU_SOURCE
#include "subject.h"

int main(int argc, char **argv)
{
    struct loop_options options;
    struct loop_subject subject = program_subject(peer_option(argc, argv, "--program", "address"));
    if (!loop_options(&options, argc, argv))
        return 2;
    return loop_experiment(&subject, &options) ? 0 : 1;
}
