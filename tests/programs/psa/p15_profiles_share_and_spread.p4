// Tables with an action profile: their default action, and one-shots of a selector that two tables share.

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
    ActionSelector(PSA_HashAlgorithm_t.CRC32, 64, 16) paths;
    ActionSelector(PSA_HashAlgorithm_t.CRC32, 64, 16) own_paths;
    action take(bit<64> result) {
        headers.request.result = result;
    }
    table shots {
        key = {
            headers.request.index: exact;
            headers.request.first: selector;
        }
        actions = {
            take;
            NoAction;
        }
        psa_implementation = own_paths;
    }
    table first_table {
        key = {
            headers.request.index: exact;
            headers.request.first: selector;
            headers.request.second: selector;
        }
        actions = {
            take;
            NoAction;
        }
        psa_implementation = paths;
    }
    table second_table {
        key = {
            headers.request.index: exact;
            headers.request.first: selector;
            headers.request.second: selector;
        }
        actions = {
            take;
            NoAction;
        }
        psa_implementation = paths;
    }
    apply {
        send_to_port(ostd, (PortId_t)2);
        if (headers.request.what == 0) {
            first_table.apply();
        } else if (headers.request.what == 2) {
            shots.apply();
        } else {
            second_table.apply();
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
