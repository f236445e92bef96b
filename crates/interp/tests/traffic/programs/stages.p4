// What the architecture can do with a packet, chosen by the first byte. Egress shows what it sees.
#include <core.p4>
#include <v1model.p4>

error { Unwanted }

header op_t {
    bit<8>  op;
    bit<8>  count;
    bit<16> arg;
}

header seen_t {
    bit<8>  instance_type;
    bit<8>  ingress_port;
    bit<8>  egress_port;
    bit<8>  egress_spec;
    bit<8>  instance;
    bit<8>  packet_length;
    bit<8>  kept;
    bit<8>  lost;
    bit<8>  is_unwanted;
    bit<8>  depth_before;
    bit<8>  depth_after;
    bit<16> waited_us;
    bit<16> arrived_us;
    bit<16> egress_us;
}

struct headers_t {
    op_t   op;
    seen_t seen;
}

struct meta_t {
    @field_list(1) bit<8> kept;
    bit<8> lost;
}

parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start {
        p.extract(h.op);
        verify(h.op.op != 0xee, error.Unwanted);
        m.lost = 0x55;
        transition accept;
    }
}

control V(inout headers_t h, inout meta_t m) { apply {} }

control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = (bit<9>)h.op.arg;
        if (h.op.op == 2) {
            s.mcast_grp = h.op.arg;
        } else if (h.op.op == 3) {
            m.kept = 1;
            m.lost = 1;
            clone_preserving_field_list(CloneType.I2E, 99, 0);
            clone_preserving_field_list(CloneType.I2E, 7, 1);
            m.kept = 2;
            h.op.count = h.op.count + 1;
        } else if (h.op.op == 4 && s.instance_type == 0) {
            m.kept = 9;
            m.lost = 9;
            h.op.count = h.op.count + 1;
            resubmit_preserving_field_list(1);
        } else if (h.op.op == 6) {
            mark_to_drop(s);
        } else if (h.op.op == 9) {
            truncate((bit<32>)h.op.count);
        } else if (h.op.op == 10) {
            resubmit_preserving_field_list(1);
        } else if (h.op.op == 11) {
            s.mcast_grp = h.op.arg;
        } else if (h.op.op == 12) {
            s.priority = (bit<3>)h.op.count;
        } else if (h.op.op == 13) {
            assert(h.op.count == 0);
        } else if (h.op.op == 14) {
            clone(CloneType.I2E, 7);
            mark_to_drop(s);
        } else if (h.op.op == 15) {
            s.mcast_grp = 1;
            mark_to_drop(s);
            s.egress_spec = (bit<9>)h.op.arg;
        }
    }
}

control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {
        h.seen.setValid();
        h.seen.instance_type = (bit<8>)s.instance_type;
        h.seen.ingress_port = (bit<8>)s.ingress_port;
        h.seen.egress_port = (bit<8>)s.egress_port;
        h.seen.egress_spec = (bit<8>)s.egress_spec;
        h.seen.instance = (bit<8>)s.egress_rid;
        h.seen.packet_length = (bit<8>)s.packet_length;
        h.seen.kept = m.kept;
        h.seen.lost = m.lost;
        h.seen.is_unwanted = s.parser_error == error.Unwanted ? 8w1 : 8w0;
        h.seen.depth_before = (bit<8>)s.enq_qdepth;
        h.seen.depth_after = (bit<8>)s.deq_qdepth;
        h.seen.waited_us = (bit<16>)s.deq_timedelta;
        h.seen.arrived_us = (bit<16>)s.ingress_global_timestamp;
        h.seen.egress_us = (bit<16>)s.egress_global_timestamp;
        if (h.op.op == 5 && s.instance_type == 0) {
            m.kept = 3;
            m.lost = 3;
            h.op.op = 1;
            h.seen.setInvalid();
            recirculate_preserving_field_list(1);
        } else if (h.op.op == 7) {
            mark_to_drop(s);
        } else if (h.op.op == 8 && s.instance_type == 0) {
            m.kept = 4;
            m.lost = 4;
            clone_preserving_field_list(CloneType.E2E, 7, 1);
            h.op.count = h.op.count + 1;
        } else if (h.op.op == 11) {
            h.seen.setInvalid();
            recirculate_preserving_field_list(1);
        } else if (h.op.op == 16) {
            clone(CloneType.E2E, 7);
        }
    }
}

control C(inout headers_t h, inout meta_t m) { apply {} }

control D(packet_out p, in headers_t h) {
    apply {
        p.emit(h.op);
        p.emit(h.seen);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
