// Every packet says in its first headers what happens to it on each path. Every pass adds a mark: where it was, what it
// was told, and what it was given by the deparser before it.

#include <core.p4>
#include <psa.p4>

error {
    Refused
}

// Decisions of ingress, one for each way into it.
header IngressPlan {
    bit<1> clone;
    // 0: as ingress begins; 1: false; 2: true; 3: by the actions of psa.p4.
    bit<2> drop;
    bit<1> resubmit;
    // From this pass on, packets only go to `last_port`; 15 is never.
    bit<4> last_pass;
    bit<16> session;
    bit<32> group;
    bit<32> port;
    bit<32> last_port;
    bit<8> class_of_service;
    bit<8> refused;
}

// Decisions of egress.
header EgressPlan {
    bit<1> clone;
    bit<2> drop;
    bit<1> refused;
    bit<4> last_pass;
    bit<16> session;
}

// What a deparser hands on, for each of the five kinds.
header Seed {
    bit<32> number;
    bit<24> text;
    bit<8> is_valid;
}

header Log {
    bit<8> n;
}

struct Seen {
    bit<8> pass;
    bit<8> said;
    bit<32> number;
    bit<8> is_valid;
    bit<24> text;
}

header Mark {
    bit<8> path;
    bit<8> parser_path;
    bit<32> port;
    bit<32> parser_port;
    bit<16> instance;
    bit<8> class_of_service;
    bit<8> parser_error;
    bit<8> scratch;
    bit<64> timestamp;
    Seen first;
    Seen second;
    Seen third;
}

header Text {
    bit<24> text;
}

header WideText {
    bit<8> zero;
    bit<24> text;
}

struct Count {
    bit<32> number;
    bit<8> pass;
}

struct NormalMeta {
    bit<8> pass;
    bit<8> said;
    bit<32> number;
    Text text;
}

struct CloneI2eMeta {
    Text text;
    Count count;
    bit<8> said;
}

struct CloneE2eMeta {
    Count count;
    Text[2] texts;
    bit<8> said;
}

header_union AnyText {
    Text narrow;
    WideText wide;
}

struct ResubmitMeta {
    bit<8> said;
    AnyText any;
    Count count;
}

struct RecirculateMeta {
    bool is_valid;
    bit<24> text;
    int<32> number;
    bit<8> pass;
    bit<8> said;
}

struct IngressHeaders {
    IngressPlan[3] ingress;
    EgressPlan[4] egress;
    Seed[5] seeds;
    Log log;
    Mark[4] marks;
}

struct EgressHeaders {
    Log log;
    Seed[5] seeds;
    Mark[4] marks;
    EgressPlan[4] egress;
    IngressPlan[3] ingress;
}

struct IngressMetadata {
    bit<8> pass;
    bit<8> n_marks;
    bit<8> scratch;
    bit<8> scratch_before;
    PSA_PacketPath_t path;
    PortId_t port;
    Seen first;
    Seen second;
}

struct EgressMetadata {
    Seen third;
    Seen second;
    Seen first;
    PSA_PacketPath_t path;
    PortId_t port;
    bit<16> scratch_before;
    bit<16> scratch;
    bit<8> n_marks;
    bit<8> pass;
}

bit<8> path_number(in PSA_PacketPath_t path) {
    if (path == PSA_PacketPath_t.NORMAL) {
        return 1;
    } else if (path == PSA_PacketPath_t.NORMAL_UNICAST) {
        return 2;
    } else if (path == PSA_PacketPath_t.NORMAL_MULTICAST) {
        return 3;
    } else if (path == PSA_PacketPath_t.CLONE_I2E) {
        return 4;
    } else if (path == PSA_PacketPath_t.CLONE_E2E) {
        return 5;
    } else if (path == PSA_PacketPath_t.RESUBMIT) {
        return 6;
    } else if (path == PSA_PacketPath_t.RECIRCULATE) {
        return 7;
    }
    return 0;
}

bit<8> error_number(in error e) {
    if (e == error.NoError) {
        return 0;
    } else if (e == error.PacketTooShort) {
        return 1;
    } else if (e == error.Refused) {
        return 2;
    }
    return 3;
}

Seen seen_text(in bit<8> pass, in bit<8> said, in bit<32> number, in Text text) {
    Seen seen = { pass, said, number, 0, 0 };
    if (text.isValid()) {
        seen.is_valid = 1;
        seen.text = text.text;
    }
    return seen;
}

parser ModelIngressParser(
    packet_in packet,
    out IngressHeaders headers,
    inout IngressMetadata meta,
    in psa_ingress_parser_input_metadata_t istd,
    in ResubmitMeta resubmitted,
    in RecirculateMeta recirculated
) {
    state start {
        meta.scratch_before = meta.scratch;
        meta.scratch = 0xa5;
        meta.path = istd.packet_path;
        meta.port = istd.ingress_port;
        meta.first = seen_text(
            resubmitted.count.pass,
            resubmitted.said,
            resubmitted.count.number,
            resubmitted.any.narrow
        );
        meta.second = {
            recirculated.pass,
            recirculated.said,
            (bit<32>)recirculated.number,
            recirculated.is_valid ? 8w1 : 8w0,
            recirculated.text
        };
        transition select(resubmitted.any.wide.isValid()) {
            true: wide;
            false: path;
        }
    }

    state wide {
        meta.first.is_valid = 1;
        meta.first.text = resubmitted.any.wide.text;
        transition path;
    }

    state path {
        transition select(istd.packet_path) {
            PSA_PacketPath_t.RESUBMIT: resubmit;
            PSA_PacketPath_t.RECIRCULATE: recirculate;
            default: plans;
        }
    }

    state resubmit {
        meta.pass = resubmitted.count.pass;
        transition plans;
    }

    state recirculate {
        meta.pass = recirculated.pass;
        transition plans;
    }

    state plans {
        packet.extract(headers.ingress[0]);
        packet.extract(headers.ingress[1]);
        packet.extract(headers.ingress[2]);
        packet.extract(headers.egress[0]);
        packet.extract(headers.egress[1]);
        packet.extract(headers.egress[2]);
        packet.extract(headers.egress[3]);
        packet.extract(headers.seeds[0]);
        packet.extract(headers.seeds[1]);
        packet.extract(headers.seeds[2]);
        packet.extract(headers.seeds[3]);
        packet.extract(headers.seeds[4]);
        packet.extract(headers.log);
        meta.n_marks = headers.log.n;
        transition marks;
    }

    state marks {
        transition select(meta.n_marks) {
            0: last;
            default: mark;
        }
    }

    state mark {
        packet.extract(headers.marks.next);
        meta.n_marks = meta.n_marks - 1;
        transition marks;
    }

    state last {
        transition select(
            istd.packet_path,
            headers.ingress[0].refused,
            headers.ingress[1].refused,
            headers.ingress[2].refused
        ) {
            (PSA_PacketPath_t.NORMAL, 1, _, _): refuse;
            (PSA_PacketPath_t.RESUBMIT, _, 1, _): refuse;
            (PSA_PacketPath_t.RECIRCULATE, _, _, 1): refuse;
            default: accept;
        }
    }

    state refuse {
        verify(false, error.Refused);
        transition accept;
    }
}

control ModelIngress(
    inout IngressHeaders headers,
    inout IngressMetadata meta,
    in psa_ingress_input_metadata_t istd,
    inout psa_ingress_output_metadata_t ostd
) {
    apply {
        if (headers.log.isValid()) {
            IngressPlan plan = headers.ingress[0];
            if (istd.packet_path == PSA_PacketPath_t.RESUBMIT) {
                plan = headers.ingress[1];
            } else if (istd.packet_path == PSA_PacketPath_t.RECIRCULATE) {
                plan = headers.ingress[2];
            }
            if (plan.last_pass != 15 && meta.pass >= (bit<8>)plan.last_pass) {
                send_to_port(ostd, (PortId_t)plan.last_port);
            } else {
                if (plan.clone == 1) {
                    ostd.clone = true;
                    ostd.clone_session_id = (CloneSessionId_t)plan.session;
                }
                if (plan.drop == 3) {
                    if (plan.group != 0) {
                        multicast(ostd, (MulticastGroup_t)plan.group);
                    } else {
                        send_to_port(ostd, (PortId_t)plan.port);
                    }
                } else {
                    ostd.multicast_group = (MulticastGroup_t)plan.group;
                    ostd.egress_port = (PortId_t)plan.port;
                    if (plan.drop == 1) {
                        ostd.drop = false;
                    } else if (plan.drop == 2) {
                        ingress_drop(ostd);
                    }
                }
                ostd.resubmit = plan.resubmit == 1;
            }
            ostd.class_of_service = (ClassOfService_t)plan.class_of_service;
            if (headers.log.n < 4) {
                headers.log.n = headers.log.n + 1;
            }
            headers.marks.push_front(1);
            headers.marks[0] = {
                path_number(istd.packet_path),
                path_number(meta.path),
                (bit<32>)(PortIdUint_t)istd.ingress_port,
                (bit<32>)(PortIdUint_t)meta.port,
                0,
                0,
                error_number(istd.parser_error),
                meta.scratch_before,
                (bit<64>)(TimestampUint_t)istd.ingress_timestamp,
                meta.first,
                meta.second,
                { 0, 0, 0, 0, 0 }
            };
        }
    }
}

control ModelIngressDeparser(
    packet_out packet,
    out CloneI2eMeta clone_i2e_meta,
    out ResubmitMeta resubmit_meta,
    out NormalMeta normal_meta,
    inout IngressHeaders headers,
    in IngressMetadata meta,
    in psa_ingress_output_metadata_t ostd
) {
    apply {
        bit<8> said = 0;
        if (psa_clone_i2e(ostd)) {
            said = said | 1;
        }
        if (psa_resubmit(ostd)) {
            said = said | 2;
        }
        if (psa_normal(ostd)) {
            said = said | 4;
        }
        if (psa_clone_i2e(ostd)) {
            clone_i2e_meta.count = { headers.seeds[1].number, meta.pass + 1 };
            clone_i2e_meta.said = said;
            if (headers.seeds[1].is_valid == 1) {
                clone_i2e_meta.text.setValid();
                clone_i2e_meta.text.text = headers.seeds[1].text;
            }
        }
        if (psa_resubmit(ostd)) {
            resubmit_meta.count = { headers.seeds[3].number, meta.pass + 1 };
            resubmit_meta.said = said;
            if (headers.seeds[3].is_valid == 1) {
                if (headers.seeds[3].number[0:0] == 1) {
                    resubmit_meta.any.narrow.setValid();
                    resubmit_meta.any.narrow.text = headers.seeds[3].text;
                } else {
                    resubmit_meta.any.wide.setValid();
                    resubmit_meta.any.wide.zero = 0;
                    resubmit_meta.any.wide.text = headers.seeds[3].text;
                }
            }
        }
        if (psa_normal(ostd)) {
            normal_meta.pass = meta.pass + 1;
            normal_meta.said = said;
            normal_meta.number = headers.seeds[0].number;
            if (headers.seeds[0].is_valid == 1) {
                normal_meta.text.setValid();
                normal_meta.text.text = headers.seeds[0].text;
            }
        }
        packet.emit(headers);
    }
}

parser ModelEgressParser(
    packet_in packet,
    out EgressHeaders headers,
    inout EgressMetadata meta,
    in psa_egress_parser_input_metadata_t istd,
    in NormalMeta normal_meta,
    in CloneI2eMeta clone_i2e_meta,
    in CloneE2eMeta clone_e2e_meta
) {
    state start {
        meta.scratch_before = meta.scratch;
        meta.scratch = 0x5aa5;
        meta.path = istd.packet_path;
        meta.port = istd.egress_port;
        meta.first = seen_text(
            normal_meta.pass,
            normal_meta.said,
            normal_meta.number,
            normal_meta.text
        );
        meta.second = seen_text(
            clone_i2e_meta.count.pass,
            clone_i2e_meta.said,
            clone_i2e_meta.count.number,
            clone_i2e_meta.text
        );
        meta.third = seen_text(
            clone_e2e_meta.count.pass,
            clone_e2e_meta.said,
            clone_e2e_meta.count.number,
            clone_e2e_meta.texts[1]
        );
        transition select(istd.packet_path) {
            PSA_PacketPath_t.CLONE_I2E: cloned_in_ingress;
            PSA_PacketPath_t.CLONE_E2E: cloned_in_egress;
            default: normal;
        }
    }

    state normal {
        meta.pass = normal_meta.pass;
        transition plans;
    }

    state cloned_in_ingress {
        meta.pass = clone_i2e_meta.count.pass;
        transition plans;
    }

    state cloned_in_egress {
        meta.pass = clone_e2e_meta.count.pass;
        transition plans;
    }

    state plans {
        packet.extract(headers.ingress[0]);
        packet.extract(headers.ingress[1]);
        packet.extract(headers.ingress[2]);
        packet.extract(headers.egress[0]);
        packet.extract(headers.egress[1]);
        packet.extract(headers.egress[2]);
        packet.extract(headers.egress[3]);
        packet.extract(headers.seeds[0]);
        packet.extract(headers.seeds[1]);
        packet.extract(headers.seeds[2]);
        packet.extract(headers.seeds[3]);
        packet.extract(headers.seeds[4]);
        packet.extract(headers.log);
        meta.n_marks = headers.log.n;
        transition marks;
    }

    state marks {
        transition select(meta.n_marks) {
            0: last;
            default: mark;
        }
    }

    state mark {
        packet.extract(headers.marks.next);
        meta.n_marks = meta.n_marks - 1;
        transition marks;
    }

    state last {
        transition select(istd.packet_path) {
            PSA_PacketPath_t.NORMAL_UNICAST: unicast;
            PSA_PacketPath_t.NORMAL_MULTICAST: multicast;
            PSA_PacketPath_t.CLONE_I2E: clone_i2e;
            PSA_PacketPath_t.CLONE_E2E: clone_e2e;
            default: accept;
        }
    }

    state unicast {
        verify(headers.egress[0].refused == 0, error.Refused);
        transition accept;
    }

    state multicast {
        verify(headers.egress[1].refused == 0, error.Refused);
        transition accept;
    }

    state clone_i2e {
        verify(headers.egress[2].refused == 0, error.Refused);
        transition accept;
    }

    state clone_e2e {
        verify(headers.egress[3].refused == 0, error.Refused);
        transition accept;
    }
}

control ModelEgress(
    inout EgressHeaders headers,
    inout EgressMetadata meta,
    in psa_egress_input_metadata_t istd,
    inout psa_egress_output_metadata_t ostd
) {
    apply {
        if (headers.log.isValid()) {
            EgressPlan plan = headers.egress[0];
            if (istd.packet_path == PSA_PacketPath_t.NORMAL_MULTICAST) {
                plan = headers.egress[1];
            } else if (istd.packet_path == PSA_PacketPath_t.CLONE_I2E) {
                plan = headers.egress[2];
            } else if (istd.packet_path == PSA_PacketPath_t.CLONE_E2E) {
                plan = headers.egress[3];
            }
            if (plan.clone == 1 && (plan.last_pass == 15 || meta.pass < (bit<8>)plan.last_pass)) {
                ostd.clone = true;
                ostd.clone_session_id = (CloneSessionId_t)plan.session;
            }
            if (plan.drop == 1) {
                ostd.drop = false;
            } else if (plan.drop == 2) {
                ostd.drop = true;
            } else if (plan.drop == 3) {
                egress_drop(ostd);
            }
        } else {
            headers.log.setValid();
            headers.log.n = 0;
        }
        if (headers.log.n < 4) {
            headers.log.n = headers.log.n + 1;
        }
        headers.marks.push_front(1);
        headers.marks[0] = {
            path_number(istd.packet_path),
            path_number(meta.path),
            (bit<32>)(PortIdUint_t)istd.egress_port,
            (bit<32>)(PortIdUint_t)meta.port,
            (bit<16>)(EgressInstanceUint_t)istd.instance,
            (bit<8>)(ClassOfServiceUint_t)istd.class_of_service,
            error_number(istd.parser_error),
            meta.scratch_before[7:0] | meta.scratch_before[15:8],
            (bit<64>)(TimestampUint_t)istd.egress_timestamp,
            meta.first,
            meta.second,
            meta.third
        };
    }
}

control ModelEgressDeparser(
    packet_out packet,
    out CloneE2eMeta clone_e2e_meta,
    out RecirculateMeta recirculate_meta,
    inout EgressHeaders headers,
    in EgressMetadata meta,
    in psa_egress_output_metadata_t ostd,
    in psa_egress_deparser_input_metadata_t edstd
) {
    apply {
        bit<8> said = 0;
        if (psa_clone_e2e(ostd)) {
            said = said | 1;
        }
        if (psa_recirculate(ostd, edstd)) {
            said = said | 2;
        }
        if (psa_clone_e2e(ostd)) {
            clone_e2e_meta.count = { headers.seeds[2].number, meta.pass + 1 };
            clone_e2e_meta.said = said;
            if (headers.seeds[2].is_valid == 1) {
                clone_e2e_meta.texts[1].setValid();
                clone_e2e_meta.texts[1].text = headers.seeds[2].text;
            }
        }
        if (psa_recirculate(ostd, edstd)) {
            recirculate_meta.pass = meta.pass + 1;
            recirculate_meta.said = said;
            if (headers.seeds[4].isValid()) {
                recirculate_meta.number = (int<32>)headers.seeds[4].number;
                recirculate_meta.is_valid = headers.seeds[4].is_valid == 1;
                recirculate_meta.text = headers.seeds[4].is_valid == 1 ? headers.seeds[4].text : 0;
            }
        }
        packet.emit(headers.ingress);
        packet.emit(headers.egress);
        packet.emit(headers.seeds);
        packet.emit(headers.log);
        packet.emit(headers.marks);
    }
}

IngressPipeline(ModelIngressParser(), ModelIngress(), ModelIngressDeparser()) ingress;

EgressPipeline(ModelEgressParser(), ModelEgress(), ModelEgressDeparser()) egress;

PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
