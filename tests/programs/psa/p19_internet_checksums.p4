// Corner cases of the ones complement: a sum of 0 and of 0xffff, and what was added taken away again.

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
    InternetChecksum() sum;
    Checksum<bit<32>>(PSA_HashAlgorithm_t.CRC32) crc32;
    apply {
        send_to_port(ostd, (PortId_t)2);
        bit<16> first = headers.request.first;
        bit<16> second = headers.request.second;
        if (headers.request.what == 1) {
            sum.add(first);
        } else if (headers.request.what == 2) {
            sum.add({ first, second });
        } else if (headers.request.what == 3) {
            sum.add(first);
            sum.subtract(second);
        } else if (headers.request.what == 4) {
            sum.subtract(second);
            sum.add(first);
        } else if (headers.request.what == 5) {
            sum.add(first);
            sum.clear();
            sum.add(second);
        } else if (headers.request.what == 6) {
            sum.set_state(first);
            sum.subtract({ second });
        } else if (headers.request.what == 7) {
            sum.add(first ++ second);
        }
        headers.request.result = 32w0 ++ sum.get() ++ sum.get_state();
        if (headers.request.what == 8) {
            crc32.update(72w0x313233343536373839);
            headers.request.result = 32w0 ++ crc32.get();
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
