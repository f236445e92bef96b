// Limits each flow to a rate, with bursts: a bucket of bytes that fills with time and is emptied by packets.
//
//     siding sim examples/07-stateful-actions/token_bucket.p4
//
// The refill can be computed before. But how many bytes are left needs the old number, twice compared and twice
// changed, before the next packet of the flow may look.

#include <core.p4>
#include <v1model.p4>
#include "include/flow.p4"

const bit<32> N_FLOWS = 65536;
const bit<32> BURST_BYTES = 100000;

control Limit(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    register<bit<48>>(N_FLOWS) last_refill;
    register<bit<32>>(N_FLOWS) bytes_left;

    apply {
        if (headers.ipv4.isValid()) {
            bit<32> index;
            bit<48> before;
            bit<32> left;
            FLOW_INDEX(index, N_FLOWS);
            last_refill.read(before, index);
            last_refill.write(index, standard.ingress_global_timestamp);
            // A byte in 8 microseconds: 1 Mb/s.
            bit<48> refill = (standard.ingress_global_timestamp - before) >> 3;
            if (refill > (bit<48>)BURST_BYTES) {
                refill = (bit<48>)BURST_BYTES;
            }
            bytes_left.read(left, index);
            left = left + (bit<32>)refill;
            if (left > BURST_BYTES) {
                left = BURST_BYTES;
            }
            if (left >= standard.packet_length) {
                left = left - standard.packet_length;
                standard.egress_spec = 1;
            } else {
                mark_to_drop(standard);
            }
            bytes_left.write(index, left);
        }
    }
}

control NoEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {}
}

V1Switch(FlowParser(), NoVerify(), Limit(), NoEgress(), NoCompute(), FlowDeparser()) main;
