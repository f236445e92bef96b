// Assertions, and a table whose idle entries the controller hears of.

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
    action take(bit<64> result) {
        headers.request.result = result;
    }
    table idle {
        key = {
            headers.request.index: exact;
        }
        actions = {
            take;
            NoAction;
        }
        psa_idle_timeout = PSA_IdleTimeout_t.NOTIFY_CONTROL;
    }
    apply {
        send_to_port(ostd, (PortId_t)2);
        idle.apply();
        assert(headers.request.first != 1);
        assume(headers.request.first != 2);
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
