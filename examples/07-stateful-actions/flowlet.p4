// Sends bursts of a flow over different ways: after a pause, packets may take another way without overtaking.
//
//     siding sim examples/07-stateful-actions/flowlet.p4
//
// Two values per flow, but neither needs the other to be written: `last_seen` becomes the time of the packet whatever
// it was, and `ways` is replaced or kept. So they can be in different stages, and each takes a cycle.

#include <core.p4>
#include <v1model.p4>
#include "include/flow.p4"

const bit<32> N_FLOWS = 8192;
const bit<48> PAUSE_US = 50000;
const bit<16> N_WAYS = 4;

control Balance(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    register<bit<48>>(N_FLOWS) last_seen;
    register<bit<16>>(N_FLOWS) ways;

    apply {
        if (headers.ipv4.isValid()) {
            bit<32> index;
            bit<48> before;
            bit<16> way;
            bit<16> other;
            FLOW_INDEX(index, N_FLOWS);
            last_seen.read(before, index);
            last_seen.write(index, standard.ingress_global_timestamp);
            random(other, 0, N_WAYS - 1);
            ways.read(way, index);
            if (standard.ingress_global_timestamp - before > PAUSE_US) {
                way = other;
            }
            ways.write(index, way);
            standard.egress_spec = (bit<9>)way;
        }
    }
}

control NoEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {}
}

V1Switch(FlowParser(), NoVerify(), Balance(), NoEgress(), NoCompute(), FlowDeparser()) main;
