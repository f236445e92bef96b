// The pre control decides that packets are decrypted: they are parsed again, and the main control sees what was in them.

#include <core.p4>
#include <pna.p4>

header Outer {
    bit<8> what;
    bit<8> association;
}

header Inner {
    bit<4> version;
    bit<4> words;
    bit<8> traffic_class;
    bit<16> length;
}

struct Headers {
    Outer outer;
    Inner inner;
}

struct Metadata {
    bit<8> unused;
}

parser ReadPacket(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    in pna_main_parser_input_metadata_t istd
) {
    state start {
        packet.extract(headers.outer);
        packet.extract(headers.inner);
        transition accept;
    }
}

control Before(
    in Headers headers,
    inout Metadata meta,
    in pna_pre_input_metadata_t istd,
    inout pna_pre_output_metadata_t ostd
) {
    apply {
        if (headers.outer.what == 1) {
            ostd.decrypt = true;
            ostd.said = (SecurityAssocId_t)(bit<32>) headers.outer.association;
            ostd.decrypt_start_offset = 2;
        }
    }
}

control Work(
    inout Headers headers,
    inout Metadata meta,
    in pna_main_input_metadata_t istd,
    inout pna_main_output_metadata_t ostd
) {
    apply {
        headers.outer.what = 8w16 + (bit<8>)(bit<3>)istd.pass;
        send_to_port((PortId_t)32w3);
    }
}

control WritePacket(
    packet_out packet,
    in Headers headers,
    in Metadata meta,
    in pna_main_output_metadata_t ostd
) {
    apply {
        packet.emit(headers);
    }
}

PNA_NIC(ReadPacket(), Before(), Work(), WritePacket()) main;
