// Counters, meters and registers at indices that they do not have; registers with an initial value.

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
    Counter<bit<8>, bit<8>>(4, PSA_CounterType_t.PACKETS) few;
    Meter<bit<8>>(4, PSA_MeterType_t.PACKETS) rates;
    Register<bit<16>, bit<8>>(4, 0x1234) cells;
    Register<bit<16>, bit<8>>(4) zeros;
    apply {
        send_to_port(ostd, (PortId_t)2);
        bit<8> index = headers.request.index;
        if (headers.request.what == 0) {
            few.count(index);
        } else if (headers.request.what == 1) {
            for (bit<16> i = 0; i < headers.request.first; i = i + 1) {
                few.count(index);
            }
        } else if (headers.request.what == 2) {
            PSA_MeterColor_t colour = rates.execute(index);
            headers.request.result =
                colour == PSA_MeterColor_t.RED
                ? 64w3
                : colour == PSA_MeterColor_t.YELLOW
                ? 64w2
                : 1;
        } else if (headers.request.what == 3) {
            headers.request.result = 48w0 ++ cells.read(index);
        } else if (headers.request.what == 4) {
            cells.write(index, headers.request.first);
        } else {
            headers.request.result = 48w0 ++ zeros.read(index);
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
