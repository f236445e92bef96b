// Limits the rate of each flow: an entry holds the number of the flow, and the number is the index of a meter.
//
//     siding stf examples/state/rate_limiter
//
// Green packets pass, yellow ones pass marked, red ones are dropped. Flows without an entry share the meter 0.

#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>
#include "../include/segments.p4"

#ifndef N_FLOWS
#define N_FLOWS 16384
#endif

// A power of two, so that the low bits of a number are the index of a meter.
#ifndef N_METERS
#define N_METERS 65536
#endif

const ExpireTimeProfileId_t PROFILE_FLOW = 2;

// Lower effort (RFC 8622).
const bit<6> DSCP_YELLOW = 1;

struct Flow {
    bit<32> index;
}

control Limit(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    meter(N_METERS, MeterType.bytes) rates;
    // By colour.
    counter(3, CounterType.packets_and_bytes) colours;

    bit<32> meter_index = 0;
    bool may_add = true;

    action limited(bit<32> index) {
        meter_index = index;
    }

    // The meter 0 is for all flows that find no room, so no flow has it alone.
    action unknown() {
        if (may_add) {
            bit<32> index = allocate_flow_id() & (N_METERS - 1);
            bool is_added = add_entry_if(
                index != 0,
                "limited",
                (Flow){ index = index },
                PROFILE_FLOW
            );
            meter_index = is_added ? index : 0;
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
            @tableonly limited;
            @defaultonly unknown;
        }
        const default_action = unknown();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = N_FLOWS;
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
            if (meter_index == 0) {
                // Another worker may have added the entry at the same time.
                may_add = false;
                flows.apply();
            }
            bit<2> colour;
            rates.execute_meter(meter_index, colour);
            colours.count((bit<32>)colour);
            if (colour == 2) {
                drop();
            } else if (colour == 1) {
                bit<16> before =
                    headers.ipv4.version
                    ++ headers.ipv4.header_words
                    ++ headers.ipv4.dscp
                    ++ headers.ipv4.ecn;
                headers.ipv4.dscp = DSCP_YELLOW;
                bit<16> after = before[15:8] ++ DSCP_YELLOW ++ before[1:0];
                headers.ipv4.checksum = adjusted(headers.ipv4.checksum, before, after);
            }
        }
    }
}

V1Switch(ReadSegment(), NoVerify(), Limit(), NoEgress(), NoCompute(), WriteSegment()) main;
