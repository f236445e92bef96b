// Checksums over headers and payload, verified and updated, with and without a condition.
#define OWN_HEADERS
#include "../include/probe.p4"

header Sum {
    bit<16> over_headers;
    bit<16> over_all;
}

struct Headers {
    Probe probe;
    Sum sum;
}

struct Metadata {}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.probe);
        packet.extract(headers.sum);
        transition accept;
    }
}

control Verify(inout Headers headers, inout Metadata meta) {
    apply {
        verify_checksum(
            headers.probe.kind == 1,
            { headers.probe.a, headers.probe.b },
            headers.sum.over_headers,
            HashAlgorithm.csum16
        );
        verify_checksum_with_payload(
            headers.probe.kind == 2,
            { headers.probe.a, headers.probe.b },
            headers.sum.over_all,
            HashAlgorithm.csum16
        );
    }
}

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    apply {
        standard.egress_spec = 1;
        headers.probe.flags = 7w0 ++ standard.checksum_error;
        if (headers.probe.kind == 5) {
            headers.probe.a = headers.probe.a + 1;
        }
    }
}

control TestEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {}
}

control Update(inout Headers headers, inout Metadata meta) {
    apply {
        update_checksum(
            headers.probe.kind == 3 || headers.probe.kind == 5,
            { headers.probe.a, headers.probe.b },
            headers.sum.over_headers,
            HashAlgorithm.csum16
        );
        update_checksum_with_payload(
            headers.probe.kind == 4 || headers.probe.kind == 5,
            { headers.probe.a, headers.probe.b, headers.sum.over_headers },
            headers.sum.over_all,
            HashAlgorithm.csum16
        );
        update_checksum(
            headers.probe.kind == 6,
            { headers.probe.a },
            headers.sum.over_headers,
            HashAlgorithm.crc16
        );
    }
}

control ProbeDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

V1Switch(ProbeParser(), Verify(), TestIngress(), TestEgress(), Update(), ProbeDeparser()) main;
