// Between representations: the extern sees the packet with the program's changes, and the headers are parsed again.
#include <core.p4>
#include <v1model.p4>

extern void flip();

header outer_t {
    bit<8> kind;
    bit<8> count;
}

header inner_t {
    bit<16> value;
}

struct headers_t {
    outer_t outer;
    inner_t inner;
}

struct meta_t {
    bit<8> kept;
}

parser SwitchParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.outer);
        transition select(hdr.outer.kind) {
            1: inner;
            default: accept;
        }
    }
    state inner {
        packet.extract(hdr.inner);
        transition accept;
    }
}

control SwitchVerify(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control OuterOnly(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.outer);
        packet.emit(hdr.inner);
    }
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        meta.kept = hdr.outer.count;
        if (hdr.outer.kind < 3) {
            hdr.outer.count = hdr.outer.count + 1;
            @async(deparser = "OuterOnly", parser = "SwitchParser") {
                flip();
            }
            hdr.outer.count = hdr.outer.count ^ meta.kept;
            if (sm.parser_error != error.NoError) {
                sm.egress_spec = 2;
            }
        }
    }
}

control SwitchEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control SwitchCompute(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control SwitchDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(SwitchParser(), SwitchVerify(), SwitchIngress(), SwitchEgress(), SwitchCompute(), SwitchDeparser()) main;
