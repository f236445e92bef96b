/*
 * Peer: BMv2's simple_switch running l2.p4 (in its JSON, see bmv2_l2_json.py), on one core.
 *
 *     peer-bmv2 [--quick] [--size N]
 *
 * The switch is BMv2's own class, with its own threads and queues; ports are memory. Two lines per
 * size:
 *
 *   "l2"         packets go in by receive() and come out of the transmit function, through all of
 * its threads on one core. The queues to the egress threads are deep enough that nothing is
 * dropped. "l2-inline"  no threads, no queues: each packet is made, parsed, taken through ingress
 * and egress and deparsed in place. This is less than the switch does; it is what its pipeline
 * alone could reach.
 *
 * Cycles are processor time of the whole process. "size" is the entries of each of the two exact
 * tables; 64-byte packets draw their addresses at random from them, so that every lookup hits.
 * Entries are added by the calls that the control server makes.
 */
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <bm/bm_sim/match_tables.h>
#include <bm/bm_sim/packet.h>
#include <bm/bm_sim/parser.h>
#include <bm/bm_sim/pipeline.h>
#include <bm/bm_sim/switch.h>

#include "simple_switch.h"

#include "workload.h"

namespace {

constexpr int packet_bytes = 64;
constexpr size_t n_packets = 65536;
constexpr size_t queue_depth = 1 << 20;

/* The i-th unicast address of the tables, six bytes in network order. */
std::string address_at(uint32_t i) {
    uint64_t state = 0x12 + i;
    uint64_t address = (peer_random(&state) & 0xfeffffffffffu) | 0x020000000000u;
    std::string bytes;
    for (int shift = 40; shift >= 0; shift -= 8)
        bytes.push_back(static_cast<char>(address >> shift));
    return bytes;
}

std::vector<std::string> make_packets(uint32_t n_entries) {
    std::vector<std::string> packets;
    uint64_t state = 9;
    for (size_t i = 0; i < n_packets; i++) {
        std::string packet = address_at(peer_random_below(&state, n_entries));
        packet += address_at(peer_random_below(&state, n_entries));
        packet += "\x08";
        packet.resize(packet_bytes);
        packets.push_back(packet);
    }
    return packets;
}

bool load(SimpleSwitch *sw, uint32_t n_entries) {
    for (uint32_t i = 0; i < n_entries; i++) {
        std::vector<bm::MatchKeyParam> key{{bm::MatchKeyParam::Type::EXACT, address_at(i)}};
        bm::ActionData port;
        bm::entry_handle_t handle;
        port.push_back_action_data(i % 8u);
        if (sw->mt_add_entry(0, "L2Ingress.smac", key, "NoAction", bm::ActionData(), &handle)
                != bm::MatchErrorCode::SUCCESS
            || sw->mt_add_entry(0, "L2Ingress.dmac", key, "L2Ingress.forward", port, &handle)
                   != bm::MatchErrorCode::SUCCESS)
            return false;
    }
    return true;
}

double process_cycles() {
    return peer_clock_ns(CLOCK_PROCESS_CPUTIME_ID) * peer_tsc_ghz();
}

/* Cycles per packet through the running switch, or a negative number where packets were lost. */
double run(SimpleSwitch *sw, const std::vector<std::string> &packets, size_t n,
           std::atomic<uint64_t> *n_sent) {
    uint64_t before = n_sent->load();
    double begin = process_cycles();
    for (size_t i = 0; i < n; i++)
        sw->receive(0, packets[i % n_packets].data(), packet_bytes);
    double patience = peer_clock_ns(CLOCK_MONOTONIC) + 60e9;
    while (n_sent->load() - before < n && peer_clock_ns(CLOCK_MONOTONIC) < patience)
        usleep(200);
    double cycles = (process_cycles() - begin) / static_cast<double>(n);
    return n_sent->load() - before == n ? cycles : -1;
}

/* Cycles per packet through the pipeline alone, or a negative number where a packet does not come
 * out as it went in. */
double run_inline(SimpleSwitch *sw, const std::vector<std::string> &packets, size_t n) {
    bm::Parser *parser = sw->get_parser("parser");
    bm::Pipeline *ingress = sw->get_pipeline("ingress");
    bm::Pipeline *egress = sw->get_pipeline("egress");
    bm::Deparser *deparser = sw->get_deparser("deparser");
    size_t n_wrong = 0;
    double begin = process_cycles();
    for (size_t i = 0; i < n; i++) {
        const std::string &bytes = packets[i % n_packets];
        auto packet = sw->new_packet_ptr(
            0, i, packet_bytes, bm::PacketBuffer(packet_bytes + 512, bytes.data(), packet_bytes));
        bm::PHV *phv = packet->get_phv();
        phv->reset_metadata();
        parser->parse(packet.get());
        ingress->apply(packet.get());
        n_wrong += phv->get_field("standard_metadata.egress_spec").get_uint() >= 8;
        egress->apply(packet.get());
        deparser->deparse(packet.get());
        n_wrong += packet->get_data_size() != packet_bytes;
    }
    double cycles = (process_cycles() - begin) / static_cast<double>(n);
    return n_wrong == 0 ? cycles : -1;
}

int measure(const std::string &json, const char *version, uint32_t n_entries, bool quick) {
    /* Its threads wait for ever and its destructor joins them: it lives until the process ends. */
    auto *sw = new SimpleSwitch();
    auto *n_sent = new std::atomic<uint64_t>(0);
    size_t n_runs = quick ? 3 : PEER_RUNS, n = quick ? 20000 : 100000;
    double runs[PEER_RUNS];
    char extra[200];

    if (sw->init_objects(json) != 0)
        return -1;
    sw->set_transmit_fn([n_sent](SimpleSwitch::port_t, bm::packet_id_t, const char *, int length) {
        if (length == packet_bytes)
            n_sent->fetch_add(1, std::memory_order_relaxed);
    });
    double load_s = peer_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (!load(sw, n_entries))
        return -1;
    load_s = (peer_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - load_s) / 1e9;
    snprintf(extra, sizeof(extra),
             "\"unit\":\"packet\",\"program\":\"l2\",\"packet_bytes\":%d,\"packets\":%zu,\"load_"
             "s\":%.6f",
             packet_bytes, n_packets, load_s);
    std::vector<std::string> packets = make_packets(n_entries);

    run_inline(sw, packets, n / 4);
    for (size_t i = 0; i < n_runs; i++)
        if ((runs[i] = run_inline(sw, packets, n)) < 0)
            return -1;
    peer_print("bmv2", version, "l2-inline", n_entries, runs, n_runs, extra);

    sw->set_all_egress_queue_depths(queue_depth);
    sw->start_and_return_();
    run(sw, packets, n / 4, n_sent);
    for (size_t i = 0; i < n_runs; i++)
        if ((runs[i] = run(sw, packets, n, n_sent)) < 0)
            return -1;
    peer_print("bmv2", version, "l2", n_entries, runs, n_runs, extra);
    return 0;
}

/* The last core this process may run on, for all its threads. */
void pin() {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return;
    for (int core = CPU_SETSIZE - 1; core >= 0; core--)
        if (CPU_ISSET(core, &allowed)) {
            CPU_ZERO(&allowed);
            CPU_SET(core, &allowed);
            sched_setaffinity(0, sizeof(allowed), &allowed);
            return;
        }
}

} // namespace

int main(int argc, char **argv) {
    const uint32_t sizes[] = {10, 1000, 100000};
    bool quick = peer_flag(argc, argv, "--quick");
    uint32_t only =
        static_cast<uint32_t>(strtoul(peer_option(argc, argv, "--size", "0"), nullptr, 10));
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (length < 0 || only > 131072) {
        fprintf(stderr, "peer-bmv2: at most 131072 entries\n");
        return 2;
    }
    std::string json(self, static_cast<size_t>(length));
    json = json.substr(0, json.rfind('/')) + "/peers/l2.json";
    peer_tsc_ghz();
    pin();
    for (uint32_t size : sizes) {
        if (only != 0 && size != sizes[0])
            break;
        if (quick && size > 1000)
            break;
        if (measure(json, BMV2_VERSION, only != 0 ? only : size, quick) != 0) {
            fprintf(stderr, "peer-bmv2: does not run, or loses packets\n");
            fflush(stdout);
            _exit(1);
        }
    }
    fflush(stdout);
    /* Without destructors: the switch's threads still wait. */
    _exit(0);
}
