// PSA of DPDK: counters and meters take the length from the program.

#include <core.p4>
#include <dpdk/psa.p4>
#include "../include/psa.p4"

header Request {
    bit<8> what;
    bit<8> index;
    bit<16> first;
    bit<16> second;
    bit<64> result;
}

struct Headers {
    Request request;
}

parser ReadRequest(
    packet_in packet,
    out Headers headers,
    inout Nothing meta,
    in psa_ingress_parser_input_metadata_t istd,
    in Nothing resubmitted,
    in Nothing recirculated
) {
    state start {
        packet.extract(headers.request);
        transition accept;
    }
}

control Work(
    inout Headers headers,
    inout Nothing meta,
    in psa_ingress_input_metadata_t istd,
    inout psa_ingress_output_metadata_t ostd
) {
    Counter<bit<32>, bit<8>>(4, PSA_CounterType_t.BYTES) octets;
    Meter<bit<8>>(4, PSA_MeterType_t.BYTES) rates;
    apply {
        send_to_port(ostd, (PortId_t)2);
        if (headers.request.what == 0) {
            octets.count(headers.request.index, 16w0 ++ headers.request.first);
        } else {
            PSA_MeterColor_t colour = rates.dpdk_execute(
                headers.request.index,
                16w0 ++ headers.request.first
            );
            headers.request.result =
                colour == PSA_MeterColor_t.RED
                ? 64w3
                : colour == PSA_MeterColor_t.YELLOW
                ? 64w2
                : 1;
        }
    }
}

control WriteRequest(
    packet_out packet,
    out Nothing cloned,
    out Nothing resubmitted,
    out Nothing normal,
    inout Headers headers,
    in Nothing meta,
    in psa_ingress_output_metadata_t istd
) {
    apply {
        packet.emit(headers.request);
    }
}

IngressPipeline(ReadRequest(), Work(), WriteRequest()) ingress;
EgressPipeline(NoEgressParser(), NoEgress(), NoEgressDeparser()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
