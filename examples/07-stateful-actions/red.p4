// Drops packets by chance before a queue is full: the longer the queue has been on average, the more.
//
//     siding sim examples/07-stateful-actions/red.p4
//
// The average is a moving one with exponential weights, and a weight of 3/256 is a product: it takes longer than a
// cycle, and the next packet to the same port needs the result. What is done with the average afterwards is not part
// of the circle.

#include <core.p4>
#include <v1model.p4>
#include "include/flow.p4"

const bit<32> N_PORTS = 512;
// Lengths are kept in 256ths of a packet.
const bit<32> WEIGHT = 3;
const bit<32> LENGTH_MIN = 20 << 8;
const bit<32> LENGTH_MAX = 80 << 8;

control Route(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = (bit<9>)headers.ipv4.destination[3:0];
    }
}

control DropEarly(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    register<bit<32>>(N_PORTS) averages;

    apply {
        bit<32> index = (bit<32>)standard.egress_port;
        bit<32> average;
        bit<32> chance;
        averages.read(average, index);
        bit<32> sample = (bit<32>)standard.deq_qdepth << 8;
        // The sum of both products is divided by 256 in the end: a shift.
        average = (average * (256 - WEIGHT) + sample * WEIGHT) >> 8;
        averages.write(index, average);
        random(chance, 0, LENGTH_MAX - LENGTH_MIN);
        if (average > LENGTH_MIN && chance < average - LENGTH_MIN) {
            mark_to_drop(standard);
        }
    }
}

V1Switch(FlowParser(), NoVerify(), Route(), DropEarly(), NoCompute(), FlowDeparser()) main;
