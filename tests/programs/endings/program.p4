// Exit and return from the depths of controls, actions and loops; user-defined errors; dangling else.
#define OWN_HEADERS
#include "../include/probe.p4"

error {
    NotNow,
    Never
}

struct Headers {
    Probe probe;
}

struct Metadata {
    error seen;
}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.probe);
        verify(headers.probe.a != 1, error.NotNow);
        verify(headers.probe.a != 2, error.Never);
        // The first that fails counts.
        verify(headers.probe.a & 0xf0 == 0, error.Never);
        transition accept;
    }
}

control ProbeDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

control Deep(inout bit<16> x, in bit<8> kind) {
    action leave() {
        x = x + 0x100;
        exit;
    }

    action go_on() {
        x = x + 0x200;
    }

    table choose {
        key = {
            kind: exact @name("kind");
        }
        actions = {
            leave;
            go_on;
        }
        const default_action = go_on();
        const entries = {
            3: leave();
        }
    }

    apply {
        x = x + 1;
        choose.apply();
        x = x + 2;
    }
}

control Middle(inout bit<16> x, in bit<8> kind) {
    Deep() deep;

    apply {
        bit<16> mine = x;
        deep.apply(mine, kind);
        x = mine + 0x1000;
    }
}

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    Middle() middle;
    Deep() deep;

    action stop() {
        headers.probe.flags = 0x51;
        return;
    }

    apply {
        standard.egress_spec = 1;
        meta.seen = standard.parser_error;
        switch (headers.probe.kind) {
            2:
            3: {
                middle.apply(headers.probe.result, headers.probe.kind);
                headers.probe.flags = 1;
            }
            4: {
                deep.apply(headers.probe.result, 3);
                headers.probe.flags = 1;
            }
            5: {
                // A return from an action ends only the action.
                stop();
                headers.probe.flags = headers.probe.flags + 1;
            }
            6: {
                for (bit<16> i in 1 .. 10) {
                    headers.probe.result = i;
                    if (i == 4) {
                        exit;
                    }
                }
                headers.probe.flags = 1;
            }
            7: {
                for (bit<16> i in 1 .. 10) {
                    headers.probe.result = i;
                    if (i == 5) {
                        return;
                    }
                }
                headers.probe.flags = 1;
            }
            8: {
                if (headers.probe.a == 0)
                    if (headers.probe.b == 0)
                        headers.probe.flags = 1;
                else
                    headers.probe.flags = 2;
            }
            9: {
                headers.probe.flags =
                    meta.seen == error.NoError ? 8w0 : (meta.seen == error.NotNow ? 8w1 : 8w2);
                if (meta.seen != standard.parser_error) {
                    headers.probe.flags = 0xff;
                }
            }
        }
    }
}

control TestEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {
        // Egress runs whatever ingress did.
        headers.probe.b = 0xe;
    }
}

#include "../include/switch.p4"
