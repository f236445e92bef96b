// Every packet has a list of what to do in its passes, of which each pass takes the first. Every pass adds a mark: where it
// was, and what it was told.

#include <core.p4>
#include <pna.p4>

error {
    Refused
}

// Calls of an extern function: 1 send_to_port, 2 drop_packet, 3 recirculate, 4 mirror_packet.
struct Call {
    bit<8> function;
    bit<8> slot;
    bit<32> argument;
}

header Plan {
    bit<8> class_of_service;
    // When the pre control asks for a packet to be decrypted, see there.
    bit<8> decrypt;
    // The next pass gets the plan, too.
    bit<4> stays;
    bit<4> refused;
    Call first;
    Call second;
    Call third;
    Call fourth;
    Call fifth;
}

header Size {
    bit<8> n;
}

header Mark {
    bit<8> direction;
    bit<8> parser_direction;
    bit<8> pass;
    bit<8> parser_pass;
    bit<32> port;
    bit<32> parser_port;
    bit<8> loopedback;
    bit<8> parser_error;
    bit<8> scratch;
    bit<16> chosen;
    bit<64> timestamp;
}

struct Headers {
    Size n_plans;
    Plan[4] plans;
    Size n_marks;
    Mark[4] marks;
}

struct PreMetadata {
    bit<8> scratch;
}

struct Metadata {
    bit<8> n;
    bit<8> scratch;
    bit<8> scratch_before;
    bit<8> direction;
    bit<8> pass;
    PortId_t port;
    bool loopedback;
}

bit<8> direction_number(in PNA_Direction_t direction) {
    if (direction == PNA_Direction_t.NET_TO_HOST) {
        return 1;
    } else if (direction == PNA_Direction_t.HOST_TO_NET) {
        return 2;
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

parser ModelParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    in pna_main_parser_input_metadata_t istd
) {
    state start {
        meta.scratch_before = meta.scratch;
        meta.scratch = 0xa5;
        meta.direction = direction_number(istd.direction);
        meta.pass = (bit<8>)(PassNumberUint_t)istd.pass;
        meta.port = istd.input_port;
        meta.loopedback = istd.loopedback;
        packet.extract(headers.n_plans);
        meta.n = headers.n_plans.n;
        transition plans;
    }

    state plans {
        transition select(meta.n) {
            0: log;
            default: plan;
        }
    }

    state plan {
        packet.extract(headers.plans.next);
        meta.n = meta.n - 1;
        transition plans;
    }

    state log {
        packet.extract(headers.n_marks);
        meta.n = headers.n_marks.n;
        transition marks;
    }

    state marks {
        transition select(meta.n) {
            0: last;
            default: mark;
        }
    }

    state mark {
        packet.extract(headers.marks.next);
        meta.n = meta.n - 1;
        transition marks;
    }

    state last {
        transition select(headers.n_plans.n) {
            0: accept;
            default: refuse;
        }
    }

    state refuse {
        verify(headers.plans[0].refused == 0, error.Refused);
        transition accept;
    }
}

control ModelPre(
    in Headers headers,
    inout PreMetadata meta,
    in pna_pre_input_metadata_t istd,
    inout pna_pre_output_metadata_t ostd
) {
    apply {
        if (headers.n_marks.isValid() && headers.n_plans.n > 0) {
            bit<8> when = headers.plans[0].decrypt;
            ostd.decrypt =
                when == 1
                || when == 2 && istd.pass == (PassNumber_t)1
                || when == 3 && istd.parser_error == error.Refused
                || when == 4 && istd.input_port == (PortId_t)2
                || when == 5 && istd.direction == PNA_Direction_t.HOST_TO_NET
                || when == 6 && meta.scratch != 0
                || when == 7 && istd.loopedback;
        }
        meta.scratch = 1;
    }
}

control ModelMain(
    inout Headers headers,
    inout Metadata meta,
    in pna_main_input_metadata_t istd,
    inout pna_main_output_metadata_t ostd
) {
    Call call;

    action to_port(PortId_t port) {
        send_to_port(port);
    }

    action mirror(MirrorSlotId_t slot, MirrorSessionId_t session) {
        mirror_packet(slot, session);
    }

    table ports {
        key = {
            call.argument: exact;
        }
        actions = {
            to_port;
            NoAction;
        }
        const default_action = NoAction();
        const entries = {
            // Ports.
        }
    }

    table mirrors {
        key = {
            call.slot: exact;
            call.argument: exact;
        }
        actions = {
            mirror;
            NoAction;
        }
        const default_action = NoAction();
        const entries = {
            // Mirrors.
        }
    }

    action drop() {
        drop_packet();
    }

    action again() {
        recirculate();
    }

    table calls {
        key = {
            call.function: exact;
        }
        actions = {
            drop;
            again;
            NoAction;
        }
        const default_action = NoAction();
        const entries = {
            2: drop();
            3: again();
        }
    }

    apply {
        if (headers.n_marks.isValid()) {
            if (headers.n_plans.n > 0) {
                Plan plan = headers.plans[0];
                ostd.class_of_service = (ClassOfService_t)plan.class_of_service;
                call = plan.first;
                if (call.function == 1) {
                    ports.apply();
                } else if (call.function == 4) {
                    mirrors.apply();
                } else {
                    calls.apply();
                }
                call = plan.second;
                if (call.function == 1) {
                    ports.apply();
                } else if (call.function == 4) {
                    mirrors.apply();
                } else {
                    calls.apply();
                }
                call = plan.third;
                if (call.function == 1) {
                    ports.apply();
                } else if (call.function == 4) {
                    mirrors.apply();
                } else {
                    calls.apply();
                }
                call = plan.fourth;
                if (call.function == 1) {
                    ports.apply();
                } else if (call.function == 4) {
                    mirrors.apply();
                } else {
                    calls.apply();
                }
                call = plan.fifth;
                if (call.function == 1) {
                    ports.apply();
                } else if (call.function == 4) {
                    mirrors.apply();
                } else {
                    calls.apply();
                }
                if (plan.stays == 0) {
                    headers.plans.pop_front(1);
                    headers.n_plans.n = headers.n_plans.n - 1;
                }
            }
            if (headers.n_marks.n < 4) {
                headers.n_marks.n = headers.n_marks.n + 1;
            }
            headers.marks.push_front(1);
            headers.marks[0] = {
                direction_number(istd.direction),
                meta.direction,
                (bit<8>)(PassNumberUint_t)istd.pass,
                meta.pass,
                (bit<32>)(PortIdUint_t)istd.input_port,
                (bit<32>)(PortIdUint_t)meta.port,
                meta.loopedback || istd.loopedback ? 8w1 : 0,
                error_number(istd.parser_error),
                meta.scratch_before,
                SelectByDirection(istd.direction, 16w0x1122, 16w0x3344),
                (bit<64>)(TimestampUint_t)istd.timestamp
            };
        }
    }
}

control ModelDeparser(
    packet_out packet,
    in Headers headers,
    in Metadata meta,
    in pna_main_output_metadata_t ostd
) {
    apply {
        packet.emit(headers);
    }
}

PNA_NIC(ModelParser(), ModelPre(), ModelMain(), ModelDeparser()) main;
