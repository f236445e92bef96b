// Counts the packets of each flow.
//
//     siding sim examples/07-stateful-actions/packet_counter.p4
//
// One addition between the read and the write: every chip with registers does that in a cycle.

#include <core.p4>
#include <v1model.p4>
#include "include/flow.p4"

const bit<32> N_FLOWS = 65536;

control Count(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    register<bit<32>>(N_FLOWS) counts;

    apply {
        if (headers.ipv4.isValid()) {
            bit<32> index;
            bit<32> count;
            FLOW_INDEX(index, N_FLOWS);
            counts.read(count, index);
            counts.write(index, count + 1);
        }
        standard.egress_spec = 1;
    }
}

control NoEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {}
}

V1Switch(FlowParser(), NoVerify(), Count(), NoEgress(), NoCompute(), FlowDeparser()) main;
