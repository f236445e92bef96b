// Hashes of "123456789" in forms of all widths.

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
    Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) crc16;
    Hash<bit<8>>(PSA_HashAlgorithm_t.CRC16) short;
    Hash<bit<16>>(PSA_HashAlgorithm_t.CRC32) half;
    Hash<bit<16>>(PSA_HashAlgorithm_t.TARGET_DEFAULT) usual;
    apply {
        send_to_port(ostd, (PortId_t)2);
        bit<72> data = 0x313233343536373839;
        bit<16> base = headers.request.first;
        bit<16> most = headers.request.second;
        if (headers.request.what == 0) {
            headers.request.result = 48w0 ++ crc16.get_hash(base, data, most);
        } else if (headers.request.what == 1) {
            headers.request.result = 56w0 ++ short.get_hash(base, data, most);
        } else if (headers.request.what == 2) {
            headers.request.result = 56w0 ++ short.get_hash(data);
        } else if (headers.request.what == 3) {
            headers.request.result = 48w0 ++ half.get_hash(data);
        } else {
            headers.request.result = 48w0 ++ usual.get_hash(data);
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
