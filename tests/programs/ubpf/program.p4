// A program for a virtual machine in user space: registers, hashes, checksums that are adjusted.
#define UBPF_MODEL_VERSION 20200515
#include <core.p4>
#include <ubpf_model.p4>

header Frame {
    bit<8> kind;
    bit<8> n_seen;
    bit<16> checksum;
    bit<32> value;
}

struct Headers {
    Frame frame;
}

struct Metadata {}

parser FrameParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata standard
) {
    state start {
        packet.extract(headers.frame);
        transition accept;
    }
}

control Pipe(inout Headers headers, inout Metadata meta, inout standard_metadata standard) {
    Register<bit<8>, bit<32>>(8) seen;

    action rewrite(bit<32> value) {
        headers.frame.checksum = csum_replace4(headers.frame.checksum, headers.frame.value, value);
        headers.frame.value = value;
    }

    action drop() {
        mark_to_drop();
    }

    table values {
        key = {
            headers.frame.value: exact @name("value");
        }
        actions = {
            rewrite;
            drop;
            NoAction;
        }
        size = 16;
    }

    apply {
        mark_to_pass();
        bit<8> n = seen.read(headers.frame.value & 7);
        n = n + 1;
        seen.write(headers.frame.value & 7, n);
        headers.frame.n_seen = n;
        values.apply();
        if (headers.frame.kind == 2) {
            standard.output_action = ubpf_action.REDIRECT;
            standard.output_port = 5;
        }
    }
}

control FrameDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.frame);
    }
}

ubpf(FrameParser(), Pipe(), FrameDeparser()) main;
