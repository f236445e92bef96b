// Actions reach the direct counter and the direct meter of the entry that runs them.

#include <core.p4>
#include <psa.p4>

header Probe {
    bit<8> key;
    bit<8> colour;
}

struct Headers {
    Probe probe;
}

struct Nothing {}

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
    DirectCounter<bit<64>>(PSA_CounterType_t.PACKETS_AND_BYTES) hits;
    DirectMeter(PSA_MeterType_t.PACKETS) rate;

    action measure(bit<8> base) {
        hits.count();
        headers.probe.colour = rate.execute() == PSA_MeterColor_t.GREEN ? base : 0;
    }

    // Twice for one entry.
    action measure_twice(bit<8> base) {
        measure(base);
        measure(base + 1);
    }

    table owner {
        key = {
            headers.probe.key: exact;
        }
        actions = {
            measure;
            measure_twice;
            NoAction;
        }
        psa_direct_counter = hits;
        psa_direct_meter = rate;
        entries = {
            8w1: measure(10);
            8w2: measure_twice(20);
        }
    }

    apply {
        send_to_port(ostd, (PortId_t)1);
        switch (owner.apply().action_run) {
            measure: {
                headers.probe.key = 8w0xff;
            }
        }
        if (headers.probe.key == 3) {
            headers.probe.colour = 31;
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

parser ReadAgain(
    packet_in packet,
    out Headers headers,
    inout Nothing meta,
    in psa_egress_parser_input_metadata_t istd,
    in Nothing normal,
    in Nothing cloned,
    in Nothing cloned_again
) {
    state start {
        transition accept;
    }
}

control NoEgress(
    inout Headers headers,
    inout Nothing meta,
    in psa_egress_input_metadata_t istd,
    inout psa_egress_output_metadata_t ostd
) {
    apply {}
}

control WriteAgain(
    packet_out packet,
    out Nothing cloned_again,
    out Nothing recirculated,
    inout Headers headers,
    in Nothing meta,
    in psa_egress_output_metadata_t istd,
    in psa_egress_deparser_input_metadata_t edstd
) {
    apply {}
}

IngressPipeline(ReadProbe(), Work(), WriteProbe()) ingress;
EgressPipeline(ReadAgain(), NoEgress(), WriteAgain()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
