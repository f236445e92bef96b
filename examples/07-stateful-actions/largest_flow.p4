// Counts the bytes of each flow, and remembers which has most: whoever looks must find both as one packet left them.
//
//     siding sim examples/07-stateful-actions/largest_flow.p4
//
// Nothing goes back from the largest flow to the counts, so two actions of one cycle would do. The block makes them one:
// from the read of the count to the write of the largest, and of what both have in common, which is nothing.

#include <core.p4>
#include <v1model.p4>
#include "include/flow.p4"

const bit<32> N_FLOWS = 65536;

control Count(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    register<bit<32>>(N_FLOWS) bytes_of_flow;
    register<bit<32>>(1) largest;

    apply {
        if (headers.ipv4.isValid()) {
            bit<32> index;
            FLOW_INDEX(index, N_FLOWS);
            @atomic {
                bit<32> bytes;
                bit<32> most;
                bytes_of_flow.read(bytes, index);
                bytes = bytes + standard.packet_length;
                bytes_of_flow.write(index, bytes);
                largest.read(most, 0);
                if (bytes > most) {
                    largest.write(0, bytes);
                }
            }
            standard.egress_spec = 1;
        } else {
            mark_to_drop(standard);
        }
    }
}

control NoEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {}
}

V1Switch(FlowParser(), NoVerify(), Count(), NoEgress(), NoCompute(), FlowDeparser()) main;
