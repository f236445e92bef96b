// The ways of packets through PNA 0.5: a packet says which calls the main control makes, and gets what the blocks were given.

#include <core.p4>
#include <pna.p4>

header Plan {
    // One call per digit: 1 send_to_port(9), 2 drop_packet, 3 recirculate, 4 mirror_packet(0, 2), 5 mirror_packet(7, 3),
    // 6 mirror_packet(0, 3), 7 send_to_port(10), 8 send_to_port(4).
    bit<4> first;
    bit<4> second;
    bit<4> third;
    // Passes before this one only recirculate.
    bit<4> last_pass;
    bit<8> unused;
}

header Report {
    bit<8> parser_pass;
    bit<8> pass;
    bit<32> parser_port;
    bit<32> port;
    // 1: the parser found the direction of the host; 2: main did.
    bit<8> direction;
    bit<8> loopedback;
    bit<8> fresh;
    bit<8> selected;
}

struct Headers {
    Plan plan;
    Report report;
}

struct Metadata {
    bit<8> pass;
    PortId_t port;
    bool is_from_host;
    bit<8> number;
}

parser ReadPlan(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    in pna_main_parser_input_metadata_t istd
) {
    state start {
        meta.pass = (bit<8>)(bit<3>)istd.pass;
        meta.port = istd.input_port;
        meta.is_from_host = istd.direction == PNA_Direction_t.HOST_TO_NET;
        packet.extract(headers.plan);
        packet.extract(headers.report);
        transition accept;
    }
}

control Before(
    in Headers headers,
    inout Metadata meta,
    in pna_pre_input_metadata_t istd,
    inout pna_pre_output_metadata_t ostd
) {
    Counter<bit<32>, bit<1>>(2, PNA_CounterType_t.PACKETS) before;

    apply {
        before.count(istd.direction == PNA_Direction_t.HOST_TO_NET ? 1w1 : 0);
    }
}

control Work(
    inout Headers headers,
    inout Metadata meta,
    in pna_main_input_metadata_t istd,
    inout pna_main_output_metadata_t ostd
) {
    action call(in bit<4> which) {
        if (which == 1) {
            send_to_port((PortId_t)32w9);
        } else if (which == 2) {
            drop_packet();
        } else if (which == 3) {
            if (istd.pass == (PassNumber_t)3w0) {
                recirculate();
            }
        } else if (which == 4) {
            mirror_packet((MirrorSlotId_t)8w0, (MirrorSessionId_t)16w2);
        } else if (which == 5) {
            mirror_packet((MirrorSlotId_t)8w7, (MirrorSessionId_t)16w3);
        } else if (which == 6) {
            mirror_packet((MirrorSlotId_t)8w0, (MirrorSessionId_t)16w3);
        } else if (which == 7) {
            send_to_port((PortId_t)32w10);
        } else if (which == 8) {
            send_to_port((PortId_t)32w4);
        }
    }

    apply {
        headers.report.parser_pass = meta.pass;
        headers.report.pass = (bit<8>)(bit<3>)istd.pass;
        headers.report.parser_port = (PortIdUint_t)meta.port;
        headers.report.port = (PortIdUint_t)istd.input_port;
        headers.report.direction =
            6w0
            ++ (istd.direction == PNA_Direction_t.HOST_TO_NET ? 1w1 : 0)
            ++ (meta.is_from_host ? 1w1 : 0);
        headers.report.loopedback = istd.loopedback ? 8w1 : 0;
        headers.report.fresh = meta.number;
        headers.report.selected = SelectByDirection(istd.direction, 8w10, 8w20);
        meta.number = 0xff;
        if ((bit<8>)(bit<3>)istd.pass < 4w0 ++ headers.plan.last_pass) {
            recirculate();
        } else {
            call(headers.plan.first);
            call(headers.plan.second);
            call(headers.plan.third);
        }
    }
}

control WritePlan(
    packet_out packet,
    in Headers headers,
    in Metadata meta,
    in pna_main_output_metadata_t ostd
) {
    apply {
        packet.emit(headers.plan);
        packet.emit(headers.report);
    }
}

PNA_NIC(ReadPlan(), Before(), Work(), WritePlan()) main;
