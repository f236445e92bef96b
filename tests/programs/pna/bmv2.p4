// PNA 0.7: no pre control, sides of ports instead of directions.

#include <core.p4>
#include <bmv2/pna.p4>

header Probe {
    bit<8> what;
    bit<8> port;
    bit<8> answer;
}

struct Headers {
    Probe probe;
}

struct Nothing {}

parser ReadProbe(
    packet_in packet,
    out Headers headers,
    inout Nothing meta,
    in pna_main_parser_input_metadata_t istd
) {
    state start {
        packet.extract(headers.probe);
        transition accept;
    }
}

control Work(
    inout Headers headers,
    inout Nothing meta,
    in pna_main_input_metadata_t istd,
    inout pna_main_output_metadata_t ostd
) {
    Hash<bit<16>>(PNA_HashAlgorithm_t.CRC16) crc16;

    apply {
        PortId_t port = (PortId_t)(bit<32>) headers.probe.port;
        send_to_port((PortId_t)32w9);
        if (headers.probe.what == 0) {
            headers.probe.answer = is_host_port(port) ? 8w1 : 0;
        } else if (headers.probe.what == 1) {
            headers.probe.answer = is_net_port(port) ? 8w1 : 0;
        } else if (headers.probe.what == 2) {
            headers.probe.answer = SelectByDirection(is_net_port(istd.input_port), 8w10, 8w20);
        } else if (headers.probe.what == 3) {
            headers.probe.answer = istd.recirculated ? 8w1 : 0;
        } else if (headers.probe.what == 4) {
            // The last of both counts.
            drop_packet();
            send_to_port((PortId_t)32w8);
        } else if (headers.probe.what == 5) {
            mirror_packet((MirrorSlotId_t)8w7, (MirrorSessionId_t)16w2);
            drop_packet();
        } else if (headers.probe.what == 6) {
            headers.probe.answer = (bit<8>)crc16.get_hash({ 8w0x31, 8w0x32 });
        }
    }
}

control WriteProbe(
    packet_out packet,
    inout Headers headers,
    in Nothing meta,
    in pna_main_output_metadata_t ostd
) {
    apply {
        packet.emit(headers.probe);
    }
}

PNA_NIC(ReadProbe(), Work(), WriteProbe()) main;
