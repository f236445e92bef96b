// The ways of packets through PSA. A packet says in `plan` what ingress and egress decide; both write what they were given
// into `ingress` and `egress`, so that the packet that leaves shows it.

#include <core.p4>
#include <psa.p4>

error {
    Refused
}

header Plan {
    // 1: clone in the first pass; 2: in later passes, too.
    bit<8> clone;
    bit<16> session;
    // 0: ingress leaves `drop` as it is; 1: false; 2: true; 3 to 7: the actions of psa.p4; 8: the table.
    bit<8> way;
    bit<8> resubmit;
    bit<32> group;
    // 0 leaves the port as it is.
    bit<32> port;
    bit<8> class_of_service;
    // Packets that come again go to this port.
    bit<32> next_port;
    // 1: ingress refuses the packet; 2: egress does; 3: both.
    bit<8> refused;
    // Ingress sends a digest if this is not 0.
    bit<8> note;
    // 1: clone in egress; 2: clones clone, too, once.
    bit<8> egress_clone;
    bit<16> egress_session;
    // 1: egress drops.
    bit<8> egress_drop;
}

header IngressReport {
    bit<8> parser_path;
    bit<32> parser_port;
    bit<8> path;
    bit<32> port;
    // drop, clone, resubmit, a group, a class, in the order of bits from 1 on.
    bit<8> output;
    bit<8> error_code;
    bit<32> time;
    bit<8> resubmitted;
    bit<8> recirculated;
    bit<8> fresh;
}

header EgressReport {
    bit<8> parser_path;
    bit<32> parser_port;
    bit<8> path;
    bit<32> port;
    bit<16> instance;
    bit<8> class_of_service;
    bit<8> error_code;
    bit<32> time;
    bit<8> normal;
    bit<8> cloned_in_ingress;
    bit<8> cloned_in_egress;
    // drop, clone, a valid header that nobody extracted, metadata that is not zero.
    bit<8> fresh;
}

// What egress never extracts.
header Extra {
    bit<8> value;
}

struct IngressHeaders {
    Extra extra;
    Plan plan;
    IngressReport ingress;
    EgressReport egress;
}

struct IngressMetadata {
    bit<8> parser_path;
    PortId_t parser_port;
    bit<8> resubmitted;
    bit<8> recirculated;
    bit<8> number;
}

struct EgressHeaders {
    Plan plan;
    IngressReport ingress;
    EgressReport egress;
    Extra extra;
}

struct EgressMetadata {
    bit<16> number;
    bit<8> parser_path;
    PortId_t parser_port;
    bit<8> normal;
    bit<8> cloned_in_ingress;
    bit<8> cloned_in_egress;
}

struct Value {
    bit<8> number;
}

struct Note {
    bit<8> note;
    PortId_t port;
}

parser IngressParse(
    packet_in packet,
    out IngressHeaders headers,
    inout IngressMetadata meta,
    in psa_ingress_parser_input_metadata_t istd,
    in Value resubmitted,
    in Value recirculated
) {
    state start {
        meta.parser_port = istd.ingress_port;
        meta.resubmitted = resubmitted.number;
        meta.recirculated = recirculated.number;
        transition select(istd.packet_path) {
            PSA_PacketPath_t.NORMAL: normal;
            PSA_PacketPath_t.RESUBMIT: resubmit;
            PSA_PacketPath_t.RECIRCULATE: recirculate;
            default: layers;
        }
    }
    state normal {
        meta.parser_path = 1;
        transition layers;
    }
    state resubmit {
        meta.parser_path = 2;
        transition layers;
    }
    state recirculate {
        meta.parser_path = 3;
        transition layers;
    }
    state layers {
        packet.extract(headers.plan);
        packet.extract(headers.ingress);
        packet.extract(headers.egress);
        verify(headers.plan.refused & 1 == 0, error.Refused);
        transition accept;
    }
}

control Decide(
    inout IngressHeaders headers,
    inout IngressMetadata meta,
    in psa_ingress_input_metadata_t istd,
    inout psa_ingress_output_metadata_t ostd
) {
    Counter<bit<32>, bit<8>>(4, PSA_CounterType_t.PACKETS_AND_BYTES) arrived;

    action to_port(PortId_t port) {
        send_to_port(ostd, port);
    }

    action to_group(MulticastGroup_t group) {
        multicast(ostd, group);
    }

    action clone_to(CloneSessionId_t session) {
        ostd.clone = true;
        ostd.clone_session_id = session;
    }

    table ways {
        key = {
            headers.plan.next_port: exact;
        }
        actions = {
            to_port;
            to_group;
            clone_to;
            NoAction;
        }
    }

    apply {
        IngressReport report = headers.ingress;
        report.parser_path = meta.parser_path;
        report.parser_port = (PortIdUint_t)meta.parser_port;
        report.path =
            istd.packet_path == PSA_PacketPath_t.NORMAL
            ? 8w1
            : istd.packet_path == PSA_PacketPath_t.RESUBMIT
            ? 8w2
            : istd.packet_path == PSA_PacketPath_t.RECIRCULATE
            ? 8w3
            : 0;
        report.port = (PortIdUint_t)istd.ingress_port;
        report.output =
            3w0
            ++ ((ClassOfServiceUint_t)ostd.class_of_service == 0 ? 1w0 : 1)
            ++ ((MulticastGroupUint_t)ostd.multicast_group == 0 ? 1w0 : 1)
            ++ (ostd.resubmit ? 1w1 : 0)
            ++ (ostd.clone ? 1w1 : 0)
            ++ (ostd.drop ? 1w1 : 0);
        report.error_code =
            istd.parser_error == error.NoError
            ? 8w0
            : istd.parser_error == error.Refused
            ? 8w1
            : istd.parser_error == error.PacketTooShort
            ? 8w2
            : 3;
        report.time = ((TimestampUint_t)istd.ingress_timestamp)[31:0];
        report.resubmitted = meta.resubmitted;
        report.recirculated = meta.recirculated;
        report.fresh = meta.number;
        meta.number = 0xff;
        headers.ingress = report;
        arrived.count(report.path);
        Plan plan = headers.plan;
        bool is_first = istd.packet_path == PSA_PacketPath_t.NORMAL;
        if (plan.clone == 2 || (plan.clone == 1 && is_first)) {
            ostd.clone = true;
            ostd.clone_session_id = (CloneSessionId_t)plan.session;
        }
        ostd.class_of_service = (ClassOfService_t)plan.class_of_service;
        if (!is_first) {
            send_to_port(ostd, (PortId_t)plan.next_port);
        } else {
            if (plan.way < 3) {
                if (plan.way == 1) {
                    ostd.drop = false;
                } else if (plan.way == 2) {
                    ostd.drop = true;
                }
                ostd.multicast_group = (MulticastGroup_t)plan.group;
                if (plan.port != 0) {
                    ostd.egress_port = (PortId_t)plan.port;
                }
            } else if (plan.way == 3) {
                multicast(ostd, (MulticastGroup_t)plan.group);
                send_to_port(ostd, (PortId_t)plan.port);
            } else if (plan.way == 4) {
                send_to_port(ostd, (PortId_t)plan.port);
                ingress_drop(ostd);
            } else if (plan.way == 5) {
                ingress_drop(ostd);
                multicast(ostd, (MulticastGroup_t)plan.group);
            } else if (plan.way == 6) {
                send_to_port(ostd, (PortId_t)plan.port);
                multicast(ostd, (MulticastGroup_t)plan.group);
            } else if (plan.way == 7) {
                ingress_drop(ostd);
                send_to_port(ostd, (PortId_t)plan.port);
                exit;
            } else {
                ways.apply();
            }
            ostd.resubmit = plan.resubmit == 1;
        }
    }
}

control IngressWrite(
    packet_out packet,
    out Value cloned,
    out Value resubmitted,
    out Value normal,
    inout IngressHeaders headers,
    in IngressMetadata meta,
    in psa_ingress_output_metadata_t istd
) {
    Digest<Note>() notes;

    apply {
        // Which functions of psa.p4 say yes: cloned, resubmitted, to egress.
        bit<4> said =
            1w0
            ++ (psa_normal(istd) ? 1w1 : 0)
            ++ (psa_resubmit(istd) ? 1w1 : 0)
            ++ (psa_clone_i2e(istd) ? 1w1 : 0);
        normal.number = 4w1 ++ said;
        cloned.number = 4w2 ++ said;
        resubmitted.number = 4w3 ++ said;
        if (headers.plan.note != 0) {
            notes.pack({ headers.plan.note, meta.parser_port });
        }
        packet.emit(headers.plan);
        packet.emit(headers.ingress);
        packet.emit(headers.egress);
    }
}

parser EgressParse(
    packet_in packet,
    out EgressHeaders headers,
    inout EgressMetadata meta,
    in psa_egress_parser_input_metadata_t istd,
    in Value normal,
    in Value cloned_in_ingress,
    in Value cloned_in_egress
) {
    state start {
        meta.parser_port = istd.egress_port;
        meta.normal = normal.number;
        meta.cloned_in_ingress = cloned_in_ingress.number;
        meta.cloned_in_egress = cloned_in_egress.number;
        transition select(istd.packet_path) {
            PSA_PacketPath_t.NORMAL_UNICAST: unicast;
            PSA_PacketPath_t.NORMAL_MULTICAST: multicast_;
            PSA_PacketPath_t.CLONE_I2E: clone_i2e;
            PSA_PacketPath_t.CLONE_E2E: clone_e2e;
            default: layers;
        }
    }
    state unicast {
        meta.parser_path = 4;
        transition layers;
    }
    state multicast_ {
        meta.parser_path = 5;
        transition layers;
    }
    state clone_i2e {
        meta.parser_path = 6;
        transition layers;
    }
    state clone_e2e {
        meta.parser_path = 7;
        transition layers;
    }
    state layers {
        packet.extract(headers.plan);
        packet.extract(headers.ingress);
        packet.extract(headers.egress);
        verify(headers.plan.refused & 2 == 0, error.Refused);
        transition accept;
    }
}

control Leave(
    inout EgressHeaders headers,
    inout EgressMetadata meta,
    in psa_egress_input_metadata_t istd,
    inout psa_egress_output_metadata_t ostd
) {
    Counter<bit<32>, bit<8>>(8, PSA_CounterType_t.PACKETS_AND_BYTES) left;
    // What packets to the CPU were given, which no script sees: port, instance and class, by path.
    Register<bit<32>, bit<8>>(8) ports;
    Register<bit<32>, bit<8>>(8) labels;

    apply {
        EgressReport report = headers.egress;
        report.parser_path = meta.parser_path;
        report.parser_port = (PortIdUint_t)meta.parser_port;
        report.path =
            istd.packet_path == PSA_PacketPath_t.NORMAL_UNICAST
            ? 8w4
            : istd.packet_path == PSA_PacketPath_t.NORMAL_MULTICAST
            ? 8w5
            : istd.packet_path == PSA_PacketPath_t.CLONE_I2E
            ? 8w6
            : istd.packet_path == PSA_PacketPath_t.CLONE_E2E
            ? 8w7
            : 0;
        report.port = (PortIdUint_t)istd.egress_port;
        report.instance = (EgressInstanceUint_t)istd.instance;
        report.class_of_service = (ClassOfServiceUint_t)istd.class_of_service;
        report.error_code =
            istd.parser_error == error.NoError
            ? 8w0
            : istd.parser_error == error.Refused
            ? 8w1
            : istd.parser_error == error.PacketTooShort
            ? 8w2
            : 3;
        report.time = ((TimestampUint_t)istd.egress_timestamp)[31:0];
        report.normal = meta.normal;
        report.cloned_in_ingress = meta.cloned_in_ingress;
        report.cloned_in_egress = meta.cloned_in_egress;
        report.fresh =
            4w0
            ++ (meta.number == 0 ? 1w0 : 1)
            ++ (headers.extra.isValid() ? 1w1 : 0)
            ++ (ostd.clone ? 1w1 : 0)
            ++ (ostd.drop ? 1w1 : 0);
        headers.egress = report;
        left.count(report.path);
        ports.write(report.path, report.port);
        labels.write(report.path, 8w0 ++ report.class_of_service ++ report.instance);
        if (headers.plan.egress_clone == 1 && report.path != 7) {
            ostd.clone = true;
        } else if (
            headers.plan.egress_clone == 2 && (report.path != 7 || meta.cloned_in_egress[3:3] == 0)
        ) {
            ostd.clone = true;
        }
        ostd.clone_session_id = (CloneSessionId_t)headers.plan.egress_session;
        // Clones of egress are not dropped, so that they can be seen.
        if (headers.plan.egress_drop == 1 && report.path != 7) {
            egress_drop(ostd);
        }
    }
}

control EgressWrite(
    packet_out packet,
    out Value cloned,
    out Value recirculated,
    inout EgressHeaders headers,
    in EgressMetadata meta,
    in psa_egress_output_metadata_t istd,
    in psa_egress_deparser_input_metadata_t edstd
) {
    apply {
        // Which functions of psa.p4 say yes: cloned, recirculated; and whether this is a clone already.
        bit<4> said =
            (meta.parser_path == 7 ? 1w1 : 0)
            ++ 1w0
            ++ (psa_recirculate(istd, edstd) ? 1w1 : 0)
            ++ (psa_clone_e2e(istd) ? 1w1 : 0);
        cloned.number = 4w4 ++ said;
        recirculated.number = 4w5 ++ said;
        packet.emit(headers.plan);
        packet.emit(headers.ingress);
        packet.emit(headers.egress);
    }
}

IngressPipeline(IngressParse(), Decide(), IngressWrite()) ingress_pipeline;
EgressPipeline(EgressParse(), Leave(), EgressWrite()) egress_pipeline;
PSA_Switch(
    ingress_pipeline,
    PacketReplicationEngine(),
    egress_pipeline,
    BufferingQueueingEngine()
) main;
