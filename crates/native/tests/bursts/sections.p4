// Packets whose first byte says what ingress does with them, and whose second one what egress does.

#include <core.p4>
#include <psa.p4>

header way_t {
    bit<8> ingress;
    bit<8> egress;
}

struct headers_t {
    way_t way;
}

struct empty_t {}

parser IngressParse(
    packet_in packet,
    out headers_t headers,
    inout empty_t metadata,
    in psa_ingress_parser_input_metadata_t input,
    in empty_t resubmitted,
    in empty_t recirculated
) {
    state start {
        packet.extract(headers.way);
        transition accept;
    }
}

control IngressWays(
    inout headers_t headers,
    inout empty_t metadata,
    in psa_ingress_input_metadata_t input,
    inout psa_ingress_output_metadata_t output
) {
    apply {
        send_to_port(output, (PortId_t)3);
        if (input.parser_error != error.NoError || headers.way.ingress == 1) {
            ingress_drop(output);
        } else if (headers.way.ingress == 2) {
            multicast(output, (MulticastGroup_t)5);
        } else if (headers.way.ingress == 3) {
            output.class_of_service = (ClassOfService_t)1;
        } else if (headers.way.ingress == 4) {
            send_to_port(output, (PortId_t)9);
        } else if (headers.way.ingress == 5) {
            send_to_port(output, PSA_PORT_CPU);
        } else if (headers.way.ingress == 6 && input.packet_path != PSA_PacketPath_t.RESUBMIT) {
            output.resubmit = true;
        }
    }
}

control IngressEmit(
    packet_out packet,
    out empty_t cloned,
    out empty_t resubmitted,
    out empty_t normal,
    inout headers_t headers,
    in empty_t metadata,
    in psa_ingress_output_metadata_t output
) {
    apply {
        packet.emit(headers);
    }
}

parser EgressParse(
    packet_in packet,
    out headers_t headers,
    inout empty_t metadata,
    in psa_egress_parser_input_metadata_t input,
    in empty_t normal,
    in empty_t from_ingress,
    in empty_t from_egress
) {
    state start {
        packet.extract(headers.way);
        transition accept;
    }
}

control EgressWays(
    inout headers_t headers,
    inout empty_t metadata,
    in psa_egress_input_metadata_t input,
    inout psa_egress_output_metadata_t output
) {
    apply {
        if (headers.way.egress == 1) {
            egress_drop(output);
        } else if (headers.way.egress == 2) {
            headers.way.setInvalid();
        }
    }
}

control EgressEmit(
    packet_out packet,
    out empty_t cloned,
    out empty_t recirculated,
    inout headers_t headers,
    in empty_t metadata,
    in psa_egress_output_metadata_t output,
    in psa_egress_deparser_input_metadata_t input
) {
    apply {
        packet.emit(headers);
    }
}

PSA_Switch(
    IngressPipeline(IngressParse(), IngressWays(), IngressEmit()),
    PacketReplicationEngine(),
    EgressPipeline(EgressParse(), EgressWays(), EgressEmit()),
    BufferingQueueingEngine()
) main;
