// Tables that packets write, in a PSA program: in ingress, and in egress.

#include "../include/psa.p4"
#include <siding_state.p4>

header Request {
    bit<8> key;
    bit<8> value;
    bit<8> ingress_count;
    bit<8> egress_count;
    bit<8> id;
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
    action count(@__ref bit<8> n, bit<8> value, bit<8> id) {
        n = n + 1;
        headers.request.ingress_count = n;
        headers.request.value = value;
        headers.request.id = id;
    }
    action learn() {
        add_entry("count", { 8w0, headers.request.value, (bit<8>)allocate_flow_id() }, 0);
    }
    table flows {
        key = {
            headers.request.key: exact @name("key");
        }
        actions = {
            count;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
        psa_idle_timeout = PSA_IdleTimeout_t.NO_TIMEOUT;
        idle_timeout_with_auto_delete = true;
        size = 2;
    }
    apply {
        send_to_port(ostd, (PortId_t)2);
        flows.apply();
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

parser ReadAgain(
    packet_in packet,
    out Headers headers,
    inout Nothing meta,
    in psa_egress_parser_input_metadata_t istd,
    in Nothing normal,
    in Nothing cloned_i2e,
    in Nothing cloned_e2e
) {
    state start {
        packet.extract(headers.request);
        transition accept;
    }
}

control WorkAgain(
    inout Headers headers,
    inout Nothing meta,
    in psa_egress_input_metadata_t istd,
    inout psa_egress_output_metadata_t ostd
) {
    action count(@__ref bit<8> n) {
        n = n + 1;
        headers.request.egress_count = n;
    }
    action learn() {
        add_entry("count", 8w100, 0);
    }
    table flows {
        key = {
            headers.request.key: exact @name("key");
        }
        actions = {
            count;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
        size = 8;
    }
    apply {
        flows.apply();
    }
}

control WriteAgain(
    packet_out packet,
    out Nothing cloned,
    out Nothing recirculated,
    inout Headers headers,
    in Nothing meta,
    in psa_egress_output_metadata_t istd,
    in psa_egress_deparser_input_metadata_t edstd
) {
    apply {
        packet.emit(headers.request);
    }
}

IngressPipeline(ReadRequest(), Work(), WriteRequest()) ingress;
EgressPipeline(ReadAgain(), WorkAgain(), WriteAgain()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
