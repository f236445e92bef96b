// Random numbers at the bounds of their types, and two digests.

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

struct First {
    bit<8> index;
}

struct Second {
    bit<16> value;
    bool flag;
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
    Random<bit<8>>(0, 0) zero;
    Random<bit<8>>(255, 255) last;
    Random<bit<64>>(0xffffffffffffffff, 0xffffffffffffffff) widest;
    Random<bit<8>>(254, 255) two;
    Random<bit<64>>(0, 0xffffffffffffffff) any;
    apply {
        send_to_port(ostd, (PortId_t)2);
        if (headers.request.what == 0) {
            headers.request.result = 56w0 ++ zero.read();
        } else if (headers.request.what == 1) {
            headers.request.result = 56w0 ++ last.read();
        } else if (headers.request.what == 2) {
            headers.request.result = widest.read();
        } else if (headers.request.what == 3) {
            bool low = false;
            bool high = false;
            bool other = false;
            for (bit<8> i = 0; i < 200; i = i + 1) {
                bit<8> number = two.read();
                if (number == 254) {
                    low = true;
                } else if (number == 255) {
                    high = true;
                } else {
                    other = true;
                }
            }
            headers.request.result =
                61w0 ++ (other ? 1w1 : 0) ++ (high ? 1w1 : 0) ++ (low ? 1w1 : 0);
        } else if (headers.request.what == 4) {
            headers.request.result = any.read() == any.read() ? 64w1 : 0;
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
    Digest<First>() firsts;
    Digest<Second>() seconds;
    apply {
        if (headers.request.what == 5) {
            firsts.pack({ headers.request.index });
            seconds.pack({ headers.request.first, true });
            firsts.pack({ headers.request.index });
            seconds.pack({ headers.request.second, false });
        }
        packet.emit(headers.request);
    }
}

IngressPipeline(ReadRequest(), Work(), WriteRequest()) ingress;
EgressPipeline(NoEgressParser(), NoEgress(), NoEgressDeparser()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
