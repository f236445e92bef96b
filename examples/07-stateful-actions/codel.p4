// Drops packets of a queue that has been too long for too long, at intervals that shrink with the square root of the
// number of drops: the part of CoDel (RFC 8289) that is hard for hardware.
//
//     siding sim examples/07-stateful-actions/codel.p4
//
// There is no square root in P4. As in software, its reciprocal is kept as state and made better by one step of
// Newton's method with each drop: r * (3 - count * r * r) / 2. Three products in a row, and one more circle: when the
// next drop is due depends on what this packet decides.

#include <core.p4>
#include <v1model.p4>
#include "include/flow.p4"

const bit<32> N_PORTS = 512;
const bit<48> TARGET_US = 5000;
const bit<48> INTERVAL_US = 100000;
// Reciprocals of square roots are in 65536ths.
const bit<64> THREE = 3 << 16;

control Route(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = (bit<9>)headers.ipv4.destination[3:0];
    }
}

control ControlDelay(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    register<bit<64>>(N_PORTS) counts;
    register<bit<64>>(N_PORTS) reciprocals;
    register<bit<48>>(N_PORTS) next_drops;

    apply {
        bit<32> index = (bit<32>)standard.egress_port;
        bit<64> count;
        bit<64> reciprocal;
        bit<48> next_drop;
        next_drops.read(next_drop, index);
        counts.read(count, index);
        reciprocals.read(reciprocal, index);
        if ((bit<48>)standard.deq_timedelta < TARGET_US) {
            // Short enough: begin again.
            count = 0;
            reciprocal = 1 << 16;
            next_drop = standard.egress_global_timestamp + INTERVAL_US;
        } else if (standard.egress_global_timestamp >= next_drop) {
            mark_to_drop(standard);
            count = count + 1;
            bit<64> square = (reciprocal * reciprocal) >> 16;
            reciprocal = (reciprocal * (THREE - count * square)) >> 17;
            next_drop = next_drop + (bit<48>)(((bit<64>)INTERVAL_US * reciprocal) >> 16);
        }
        counts.write(index, count);
        reciprocals.write(index, reciprocal);
        next_drops.write(index, next_drop);
    }
}

V1Switch(FlowParser(), NoVerify(), Route(), ControlDelay(), NoCompute(), FlowDeparser()) main;
