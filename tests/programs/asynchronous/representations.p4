// Around an asynchronous block the headers go back into the packet and are parsed again, or the packet starts over.
#include <core.p4>
#include <v1model.p4>

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

parser RepresentationParser(
    packet_in packet,
    out headers_t hdr,
    inout meta_t meta,
    inout standard_metadata_t sm
) {
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

control RepresentationVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control Reversed(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.outer);
        packet.emit(hdr.inner);
    }
}

control RepresentationIngress(
    inout headers_t hdr,
    inout meta_t meta,
    inout standard_metadata_t sm
) {
    apply {
        sm.egress_spec = 1;
        meta.kept = hdr.outer.count;
        if (hdr.outer.kind == 2) {
            // What was payload becomes a header.
            hdr.outer.kind = 1;
            @async(deparser = "Reversed", parser = "RepresentationParser") {
                meta.kept = meta.kept + 1;
            }
            hdr.inner.value = hdr.inner.value + 1;
            hdr.outer.count = meta.kept;
        } else if (hdr.outer.kind == 1) {
            // And a header payload.
            hdr.outer.kind = 4;
            hdr.inner.value = hdr.inner.value + 0x10;
            @async(deparser = "Reversed", parser = "RepresentationParser") {
                meta.kept = meta.kept + 2;
            }
            hdr.inner.value = 0;
            hdr.outer.count = meta.kept;
        } else if (hdr.outer.kind == 5) {
            // Without a parser what was parsed stays.
            hdr.outer.count = hdr.outer.count + 3;
            @async(deparser = "Reversed") {
                meta.kept = hdr.outer.count;
            }
            hdr.outer.kind = meta.kept;
        } else if (hdr.outer.kind == 9) {
            // It comes again, as something else, unless it is dropped.
            hdr.outer.kind = 10;
            @async(deparser = "Reversed", recirculate = true) {
                meta.kept = meta.kept + 1;
                if (hdr.outer.count == 0xff) {
                    mark_to_drop(sm);
                }
            }
        } else if (hdr.outer.kind == 10) {
            hdr.outer.count = meta.kept + (bit<8>)sm.instance_type;
        }
        if (sm.parser_error != error.NoError) {
            sm.egress_spec = 2;
        }
    }
}

control RepresentationEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {}
}

control RepresentationCompute(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control RepresentationDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(
    RepresentationParser(),
    RepresentationVerify(),
    RepresentationIngress(),
    RepresentationEgress(),
    RepresentationCompute(),
    RepresentationDeparser()
) main;
