// Values of every kind that a deparser hands to the next parser: headers that are valid or not, a stack, a union, an enum.
// The blocks lie in packages within the package of the switch, without names.

#include <core.p4>
#include <psa.p4>

enum Kind {
    Plain,
    Special
}

header Byte {
    bit<8> value;
}

header Word {
    bit<16> value;
}

header_union Either {
    Byte byte;
    Word word;
}

struct Cargo {
    Byte present;
    Byte absent;
    Byte[3] stack;
    Either either;
    Kind kind;
    bool flag;
    bit<5> number;
}

struct Nothing {}

header Order {
    // 0 on; 1 resubmit; 2 recirculate; 3 clone in ingress; 4 clone in egress.
    bit<8> way;
    bit<8> value;
}

header Report {
    bit<8> path;
    bit<8> present;
    bit<8> absent;
    bit<8> first;
    bit<8> second;
    bit<8> third;
    bit<8> byte_is_valid;
    bit<16> word;
    bit<8> rest;
}

struct Headers {
    Report report;
    Order order;
}

struct Metadata {
    Report report;
    bit<8> path;
}

void tell(in bit<8> path, in Cargo cargo, inout Report report) {
    report.setValid();
    report.path = path;
    report.present = cargo.present.isValid() ? cargo.present.value : 0;
    report.absent = cargo.absent.isValid() ? 8w1 : 0;
    report.first = cargo.stack[0].isValid() ? cargo.stack[0].value : 0;
    report.second = cargo.stack[1].isValid() ? 8w1 : 0;
    report.third = cargo.stack[2].isValid() ? cargo.stack[2].value : 0;
    report.byte_is_valid = cargo.either.byte.isValid() ? 8w1 : 0;
    report.word = cargo.either.word.isValid() ? cargo.either.word.value : 0;
    report.rest =
        cargo.number ++ 1w0 ++ (cargo.kind == Kind.Special ? 1w1 : 0) ++ (cargo.flag ? 1w1 : 0);
}

void load(in bit<8> value, out Cargo cargo) {
    cargo.present = { value };
    cargo.absent.setInvalid();
    cargo.stack[0] = { value + 1 };
    cargo.stack[1].setInvalid();
    cargo.stack[2] = { value + 2 };
    cargo.either.word.setValid();
    cargo.either.word.value = 8w0xab ++ value;
    cargo.kind = Kind.Special;
    cargo.flag = true;
    cargo.number = 5w0x15;
}

parser ReadFirst(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    in psa_ingress_parser_input_metadata_t istd,
    in Cargo resubmitted,
    in Cargo recirculated
) {
    state start {
        transition select(istd.packet_path) {
            PSA_PacketPath_t.RESUBMIT: resubmit;
            PSA_PacketPath_t.RECIRCULATE: recirculate;
            default: order;
        }
    }

    state resubmit {
        tell(2, resubmitted, meta.report);
        transition order;
    }

    state recirculate {
        tell(3, recirculated, meta.report);
        transition order;
    }

    state order {
        packet.extract(headers.order);
        transition accept;
    }
}

control Decide(
    inout Headers headers,
    inout Metadata meta,
    in psa_ingress_input_metadata_t istd,
    inout psa_ingress_output_metadata_t ostd
) {
    apply {
        send_to_port(ostd, (PortId_t)2);
        if (istd.packet_path == PSA_PacketPath_t.NORMAL) {
            ostd.resubmit = headers.order.way == 1;
            if (headers.order.way == 2) {
                send_to_port(ostd, PSA_PORT_RECIRCULATE);
            }
            ostd.clone = headers.order.way == 3;
            ostd.clone_session_id = (CloneSessionId_t)5;
        } else {
            headers.report = meta.report;
        }
    }
}

control WriteFirst(
    packet_out packet,
    out Cargo cloned,
    out Cargo resubmitted,
    out Cargo normal,
    inout Headers headers,
    in Metadata meta,
    in psa_ingress_output_metadata_t istd
) {
    apply {
        load(headers.order.value, normal);
        load(headers.order.value + 0x10, cloned);
        load(headers.order.value + 0x20, resubmitted);
        packet.emit(headers.report);
        packet.emit(headers.order);
    }
}

parser ReadSecond(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    in psa_egress_parser_input_metadata_t istd,
    in Cargo normal,
    in Cargo cloned_in_ingress,
    in Cargo cloned_in_egress
) {
    state start {
        transition select(istd.packet_path) {
            PSA_PacketPath_t.CLONE_I2E: clone_i2e;
            PSA_PacketPath_t.CLONE_E2E: clone_e2e;
            default: unicast;
        }
    }

    state unicast {
        tell(4, normal, headers.report);
        packet.extract(headers.order);
        transition accept;
    }

    state clone_i2e {
        tell(6, cloned_in_ingress, headers.report);
        packet.extract(headers.order);
        transition accept;
    }

    state clone_e2e {
        tell(7, cloned_in_egress, headers.report);
        packet.extract(headers.order);
        transition accept;
    }
}

control Leave(
    inout Headers headers,
    inout Metadata meta,
    in psa_egress_input_metadata_t istd,
    inout psa_egress_output_metadata_t ostd
) {
    apply {
        ostd.clone = headers.order.way == 4 && istd.packet_path != PSA_PacketPath_t.CLONE_E2E;
        ostd.clone_session_id = (CloneSessionId_t)5;
        // What is cloned or recirculated is the packet without a report.
        if (ostd.clone || istd.egress_port == PSA_PORT_RECIRCULATE) {
            headers.report.setInvalid();
        }
    }
}

control WriteSecond(
    packet_out packet,
    out Cargo cloned,
    out Cargo recirculated,
    inout Headers headers,
    in Metadata meta,
    in psa_egress_output_metadata_t istd,
    in psa_egress_deparser_input_metadata_t edstd
) {
    apply {
        load(headers.order.value + 0x30, cloned);
        load(headers.order.value + 0x40, recirculated);
        packet.emit(headers.report);
        packet.emit(headers.order);
    }
}

PSA_Switch(
    IngressPipeline(ReadFirst(), Decide(), WriteFirst()),
    PacketReplicationEngine(),
    EgressPipeline(ReadSecond(), Leave(), WriteSecond()),
    BufferingQueueingEngine()
) main;
