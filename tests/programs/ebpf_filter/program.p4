// A filter for the Linux kernel: passes what comes from known sources, counts by the last byte of the source.
#include <core.p4>
#include <ebpf_model.p4>

header Frame {
    bit<16> kind;
    bit<32> source;
    bit<16> port;
}

struct Headers {
    Frame frame;
}

parser FilterParser(packet_in packet, out Headers headers) {
    state start {
        packet.extract(headers.frame);
        transition select(headers.frame.kind) {
            0xdead: reject;
            default: accept;
        }
    }
}

control Filter(inout Headers headers, out bool pass) {
    CounterArray(16, true) seen;

    action allow() {
        pass = true;
    }

    action refuse() {
        pass = false;
    }

    action allow_port(bit<16> port) {
        pass = headers.frame.port == port;
    }

    table sources {
        key = {
            headers.frame.source: exact @name("source");
        }
        actions = {
            allow;
            refuse;
            allow_port;
        }
        const default_action = refuse();
        implementation = hash_table(64);
    }

    apply {
        pass = false;
        if (headers.frame.kind == 1) {
            pass = true;
        } else {
            seen.increment(headers.frame.source & 0xf);
            sources.apply();
        }
    }
}

ebpfFilter(FilterParser(), Filter()) main;
