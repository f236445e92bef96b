// A direct counter beside a direct meter, one beside an action profile, and all of them with an idle timeout.

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
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS_AND_BYTES) both_hits;
    DirectMeter(PSA_MeterType_t.PACKETS) both_rate;
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) profile_hits;
    ActionProfile(8) shared_actions;
    ActionSelector(PSA_HashAlgorithm_t.CRC16, 8, 8) paths;
    action police() {
        both_hits.count();
        PSA_MeterColor_t colour = both_rate.execute();
        headers.request.result =
            colour == PSA_MeterColor_t.RED ? 64w3 : colour == PSA_MeterColor_t.YELLOW ? 64w2 : 1;
    }
    table both {
        key = {
            headers.request.index: exact;
        }
        actions = {
            police;
            NoAction;
        }
        psa_direct_counter = both_hits;
        psa_direct_meter = both_rate;
    }
    action take(bit<64> result) {
        profile_hits.count();
        headers.request.result = result;
    }
    table profiled {
        key = {
            headers.request.index: exact;
        }
        actions = {
            take;
            NoAction;
        }
        psa_implementation = shared_actions;
        psa_direct_counter = profile_hits;
    }
    action give(bit<64> result) {
        headers.request.result = result;
    }
    table spread {
        key = {
            headers.request.index: exact;
            headers.request.first: selector;
        }
        actions = {
            give;
            NoAction;
        }
        psa_implementation = paths;
        const psa_empty_group_action = give(0xe);
    }
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) all_hits;
    DirectMeter(PSA_MeterType_t.PACKETS) all_rate;
    ActionProfile(8) all_actions;

    action use_all(bit<64> result) {
        all_hits.count();
        PSA_MeterColor_t colour = all_rate.execute();
        headers.request.result = colour == PSA_MeterColor_t.GREEN ? result : 0;
    }

    table all {
        key = {
            headers.request.index: exact;
        }
        actions = {
            use_all;
            NoAction;
        }
        psa_implementation = all_actions;
        psa_direct_counter = all_hits;
        psa_direct_meter = all_rate;
        psa_idle_timeout = PSA_IdleTimeout_t.NOTIFY_CONTROL;
    }

    apply {
        send_to_port(ostd, (PortId_t)2);
        if (headers.request.what == 0) {
            both.apply();
        } else if (headers.request.what == 1) {
            profiled.apply();
        } else if (headers.request.what == 3) {
            all.apply();
        } else {
            headers.request.second = spread.apply().hit ? 16w1 : 0;
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
