// Finds the flows that send most: counts the packets of each flow exactly, and tells the controller once when a flow reaches
// the threshold.
//
//     siding stf examples/state/heavy_hitter
//
// The entry of a flow holds its count, which each packet of the flow increments. Two workers never read the same count of a
// flow, so the threshold is reported once. When no packet came for 10 seconds, the flow is forgotten and may be reported
// again; a new flow that finds the table full takes the place of one that has not sent for long.

#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>
#include "../include/segments.p4"

#ifndef N_FLOWS
#define N_FLOWS 16384
#endif

const ExpireTimeProfileId_t PROFILE_FLOW = 0;

struct Flow {
    bit<32> packets;
}

// The digest about a flow that has reached the threshold.
struct HeavyFlow {
    bit<8> protocol;
    Ipv4Address source;
    Ipv4Address destination;
    bit<16> source_port;
    bit<16> destination_port;
    bit<32> packets;
}

control Count(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    // Packets after which a flow is reported. With 0, which it has at first, no flow is.
    register<bit<32>>(1) threshold;
    // 0: packets of flows that found no room; 1: flows reported.
    counter(2, CounterType.packets) events;

    // Packets of the flow with this one; 0: it is not counted.
    bit<32> count = 0;

    action counted(@__ref bit<32> packets) {
        packets = packets + 1;
        count = packets;
    }

    action unknown() {
        bool is_added = add_entry("counted", (Flow){ packets = 1 }, PROFILE_FLOW);
        count = is_added ? 32w1 : 0;
    }

    @siding_full("oldest")
    table flows {
        key = {
            headers.ipv4.protocol: exact @name("protocol");
            headers.ipv4.source: exact @name("source");
            headers.ipv4.destination: exact @name("destination");
            meta.source_port: exact @name("source_port");
            meta.destination_port: exact @name("destination_port");
        }
        actions = {
            @tableonly counted;
            @defaultonly unknown;
        }
        const default_action = unknown();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = N_FLOWS;
    }

    action report(bit<32> packets) {
        events.count(1);
        digest<HeavyFlow>(
            1,
            {
                headers.ipv4.protocol,
                headers.ipv4.source,
                headers.ipv4.destination,
                meta.source_port,
                meta.destination_port,
                packets
            }
        );
    }

    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    action drop() {
        mark_to_drop(standard);
    }

    table ports {
        key = {
            standard.ingress_port: exact @name("port");
        }
        actions = {
            forward;
            drop;
        }
        const default_action = drop();
        size = 512;
    }

    apply {
        if (ports.apply().hit && headers.ipv4.isValid()) {
            flows.apply();
            if (count == 0) {
                // Another worker has added the entry at the same time, or no packet's entry is in reach.
                flows.apply();
            }
            if (count == 0) {
                events.count(0);
            } else {
                bit<32> limit;
                threshold.read(limit, 0);
                if (count == limit) {
                    report(count);
                }
            }
        }
    }
}

V1Switch(ReadSegment(), NoVerify(), Count(), NoEgress(), NoCompute(), WriteSegment()) main;
