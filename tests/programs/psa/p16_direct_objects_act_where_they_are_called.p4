// A direct counter and a direct meter that only some actions of their table use.

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
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) hits;
    DirectMeter(PSA_MeterType_t.PACKETS) rate;
    action counted() {
        hits.count();
        headers.request.result = 1;
    }
    action silent() {
        headers.request.result = 2;
    }
    table counters {
        key = {
            headers.request.index: exact;
        }
        actions = {
            counted;
            silent;
        }
        default_action = counted();
        psa_direct_counter = hits;
    }
    action metered() {
        PSA_MeterColor_t colour = rate.execute();
        headers.request.result =
            colour == PSA_MeterColor_t.RED ? 64w3 : colour == PSA_MeterColor_t.YELLOW ? 64w2 : 1;
    }
    table meters {
        key = {
            headers.request.index: exact;
        }
        actions = {
            metered;
            silent;
        }
        default_action = metered();
        psa_direct_meter = rate;
    }
    apply {
        send_to_port(ostd, (PortId_t)2);
        if (headers.request.what == 0) {
            counters.apply();
        } else {
            meters.apply();
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
