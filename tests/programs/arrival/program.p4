// What a packet that comes to the parser or to egress again knows about its arrival.
#define OWN_HEADERS
#include "../include/probe.p4"

struct Headers {
    Probe probe;
}

struct Metadata {
    @field_list(1)
    bit<8> round;
    bit<16> port_in_parser;
}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        meta.port_in_parser = 7w0 ++ standard.ingress_port;
        packet.extract(headers.probe);
        transition accept;
    }
}

control ProbeDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    apply {
        standard.egress_spec = 1;
        headers.probe.c = meta.port_in_parser;
        if (headers.probe.kind == 1 && meta.round == 0) {
            meta.round = 1;
            resubmit_preserving_field_list(1);
        }
        if (headers.probe.kind == 3) {
            clone(CloneType.I2E, 5);
        }
    }
}

control TestEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {
        headers.probe.flags = (bit<8>)standard.instance_type;
        if (headers.probe.kind == 2 && meta.round == 0) {
            meta.round = 1;
            recirculate_preserving_field_list(1);
        }
        if (headers.probe.kind == 4 && standard.instance_type == 0) {
            clone(CloneType.E2E, 5);
        }
        headers.probe.result = 7w0 ++ standard.ingress_port;
    }
}

#include "../include/switch.p4"
