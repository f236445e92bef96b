// Finds the flows that send most: counts the packets of each flow exactly, and tells the controller once when a flow reaches
// the threshold.
//
//     siding stf examples/state/heavy_hitter
//
// The entry of a flow holds its number, and the number is the index of its count. The table is the only place that can
// forget a flow: when no packet came for 10 seconds, its count begins anew, and it may be reported again.

#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>
#include "../include/segments.p4"

#ifndef N_FLOWS
#define N_FLOWS 16384
#endif

// A power of two, so that the low bits of a number are the index of a cell.
#ifndef N_CELLS
#define N_CELLS 65536
#endif

const ExpireTimeProfileId_t PROFILE_FLOW = 0;

struct Flow {
    bit<32> id;
}

// The digest about a flow that has reached the threshold.
struct HeavyFlow {
    bit<8> protocol;
    Ipv4Address source;
    Ipv4Address destination;
    bit<16> source_port;
    bit<16> destination_port;
    bit<32> id;
    bit<32> packets;
}

control Count(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    // Packets after which a flow is reported. With 0, which it has at first, no flow is.
    register<bit<32>>(1) threshold;
    // The number of the flow that owns the cell, and its packets.
    register<bit<64>>(N_CELLS) counts;
    // 0: packets of flows that found no room; 1: flows reported; 2: flows that lost their cell to a later one.
    counter(3, CounterType.packets) events;

    bit<32> number = 0;
    bool is_first = false;
    bool may_add = true;

    action counted(bit<32> id) {
        number = id;
    }

    action unknown() {
        if (may_add) {
            bit<32> id = allocate_flow_id();
            is_first = add_entry("counted", (Flow){ id = id }, PROFILE_FLOW);
            number = is_first ? id : 0;
        }
    }

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
                number,
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
            if (number == 0) {
                // Another worker may have added the entry at the same time.
                may_add = false;
                flows.apply();
            }
            if (number == 0) {
                events.count(0);
            } else {
                bit<32> limit;
                threshold.read(limit, 0);
                bit<32> packets = 1;
                bool is_lost = false;
                @atomic {
                    bit<64> cell;
                    counts.read(cell, number & (N_CELLS - 1));
                    if (!is_first) {
                        if (cell[63:32] == number) {
                            packets = cell[31:0] |+| 1;
                        } else {
                            is_lost = true;
                        }
                    }
                    counts.write(number & (N_CELLS - 1), number ++ packets);
                }
                if (is_lost) {
                    events.count(2);
                }
                if (packets == limit) {
                    report(packets);
                }
            }
        }
    }
}

V1Switch(ReadSegment(), NoVerify(), Count(), NoEgress(), NoCompute(), WriteSegment()) main;
