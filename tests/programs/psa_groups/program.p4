// Action profiles and selectors of PSA, and the action for groups without members.

#include "../include/psa.p4"

header Probe {
    bit<8> which;
    bit<8> key;
    bit<8> flow;
    bit<8> result;
    bit<8> hit;
    bit<8> run;
}

struct Headers {
    Probe probe;
}

parser ReadProbe(
    packet_in packet,
    out Headers headers,
    inout Nothing meta,
    in psa_ingress_parser_input_metadata_t istd,
    in Nothing resubmitted,
    in Nothing recirculated
) {
    state start {
        packet.extract(headers.probe);
        transition accept;
    }
}

control Work(
    inout Headers headers,
    inout Nothing meta,
    in psa_ingress_input_metadata_t istd,
    inout psa_ingress_output_metadata_t ostd
) {
    ActionSelector(PSA_HashAlgorithm_t.CRC32, 16, 16) paths;
    ActionSelector(PSA_HashAlgorithm_t.CRC16, 16, 16) silent_paths;
    ActionProfile(16) shared_actions;

    action take(bit<8> result) {
        headers.probe.result = result;
    }

    action nobody(bit<8> base) {
        headers.probe.result = base + headers.probe.flow;
    }

    table spread {
        key = {
            headers.probe.key: exact;
            headers.probe.flow: selector;
        }
        actions = {
            take;
            nobody;
            NoAction;
        }
        psa_implementation = paths;
        psa_empty_group_action = nobody(100);
    }

    table silent {
        key = {
            headers.probe.key: exact;
            headers.probe.flow: selector;
        }
        actions = {
            take;
            NoAction;
        }
        psa_implementation = silent_paths;
    }

    table profiled {
        key = {
            headers.probe.key: exact;
        }
        actions = {
            take;
            NoAction;
        }
        psa_implementation = shared_actions;
    }

    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) owned;

    action add_one() {
        headers.probe.result = headers.probe.result + 1;
    }

    // Also counts where another action calls the counter.
    action count_only() {
        owned.count();
    }

    action count_owned() {
        count_only();
        add_one();
    }

    action count_and_leave() {
        owned.count();
        exit;
    }

    table owner {
        key = {
            headers.probe.key: exact;
        }
        actions = {
            count_owned;
            count_and_leave;
            NoAction;
        }
        psa_direct_counter = owned;
    }

    table stranger {
        key = {
            headers.probe.flow: exact;
        }
        actions = {
            add_one;
            NoAction;
        }
    }

    apply {
        send_to_port(ostd, (PortId_t)1);
        if (headers.probe.which == 4) {
            owner.apply();
            stranger.apply();
            add_one();
            return;
        }
        if (headers.probe.which == 5) {
            add_one();
            stranger.apply();
            return;
        }
        if (headers.probe.which == 0) {
            switch (spread.apply().action_run) {
                take: {
                    headers.probe.run = 1;
                }
                nobody: {
                    headers.probe.run = 2;
                }
                default: {
                    headers.probe.run = 3;
                }
            }
        } else if (headers.probe.which == 1) {
            headers.probe.hit = silent.apply().hit ? 8w1 : 0;
        } else if (headers.probe.which == 2) {
            headers.probe.hit = spread.apply().hit ? 8w1 : 0;
        } else {
            profiled.apply();
        }
    }
}

control WriteProbe(
    packet_out packet,
    out Nothing cloned,
    out Nothing resubmitted,
    out Nothing normal,
    inout Headers headers,
    in Nothing meta,
    in psa_ingress_output_metadata_t istd
) {
    apply {
        packet.emit(headers.probe);
    }
}

IngressPipeline(ReadProbe(), Work(), WriteProbe()) ingress;
EgressPipeline(NoEgressParser(), NoEgress(), NoEgressDeparser()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
