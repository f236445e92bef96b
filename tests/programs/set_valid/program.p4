// `setValid()` of an invalid header gives zeros, whatever the header held before; of a valid one it changes nothing.
#define NO_EGRESS
#define OWN_HEADERS
#include "../include/probe.p4"

/// The program names one of its fields, and reads it only.
header Plain {
    bit<8> unnamed;
    bit<8> read;
    bit<16> unnamed_too;
}

/// Its fields are assigned.
header Tag {
    bit<8> id;
    bit<8> value;
}

/// A header that also exists outside of the packet.
header Copied {
    bit<8> id;
    bit<8> value;
}

header Options {
    bit<8> n_bytes;
    varbit<64> bytes;
}

header Left {
    bit<16> left;
}

header Right {
    bit<8> right;
    bit<8> other;
}

header_union Either {
    Left l;
    Right r;
}

struct Headers {
    Probe probe;
    Plain plain;
    Tag tag;
    Copied copied;
    Options options;
    Either either;
    Tag[3] tags;
}

struct Metadata {}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.probe);
        transition select(headers.probe.a) {
            1: plain;
            2: tag;
            3: copied;
            4: options;
            5: either;
            6: tags;
            default: accept;
        }
    }

    state plain {
        packet.extract(headers.plain);
        transition accept;
    }

    state tag {
        packet.extract(headers.tag);
        transition accept;
    }

    state copied {
        packet.extract(headers.copied);
        transition accept;
    }

    state options {
        packet.extract(headers.options, (bit<32>)packet.lookahead<bit<8>>() << 3);
        transition accept;
    }

    state either {
        packet.extract(headers.either.l);
        transition accept;
    }

    state tags {
        packet.extract(headers.tags.next);
        packet.extract(headers.tags.next);
        transition accept;
    }
}

control ProbeDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

void make_valid(inout Copied copy) {
    copy.setValid();
}

control Again(inout Headers all) {
    apply {
        all.copied.setValid();
    }
}

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    action tag_with_id(bit<8> id) {
        headers.tag.setValid();
        headers.tag.id = id;
    }

    table tagged {
        key = {
            headers.probe.b: exact;
        }
        actions = {
            tag_with_id;
            NoAction;
        }
        default_action = NoAction();
        const entries = {
            7: tag_with_id(0x77);
        }
    }

    apply {
        standard.egress_spec = 1;
        switch (headers.probe.kind) {
            1: {
                headers.plain.setValid();
                headers.probe.flags = headers.plain.read;
            }
            2: {
                headers.plain.setInvalid();
                headers.plain.setValid();
                headers.probe.flags = headers.plain.read;
            }
            3: {
                headers.tag.setInvalid();
                tagged.apply();
            }
            4: {
                tagged.apply();
            }
            5: {
                headers.copied.setInvalid();
                make_valid(headers.copied);
            }
            6: {
                headers.copied.setInvalid();
                Again.apply(headers);
            }
            7: {
                Copied local;
                local.setValid();
                local.id = 0x99;
                local.value = 0x98;
                local.setInvalid();
                local.setValid();
                headers.copied = local;
            }
            8: {
                headers.options.setInvalid();
                headers.options.setValid();
                headers.options.n_bytes = 5;
            }
            9: {
                // The other member becomes invalid, and nothing of it shows.
                headers.either.r.setValid();
                headers.either.l.setValid();
            }
            10: {
                headers.either.l.setInvalid();
                headers.either.r.setValid();
                headers.either.r.right = 0x55;
            }
            11: {
                headers.tags.push_front(1);
                headers.tags[0].setValid();
            }
            12: {
                headers.tags.pop_front(1);
                headers.tags[1].setValid();
                headers.tags[2].setValid();
            }
            13: {
                headers.tags[headers.probe.b].setInvalid();
                headers.tags[headers.probe.b].setValid();
            }
            14: {
                headers.tag.setInvalid();
                if (headers.probe.b == 1) {
                    headers.tag.setValid();
                    headers.tag.value = 0x44;
                } else {
                    headers.tag.setValid();
                }
                if (headers.probe.b == 2) {
                    headers.tag.value = 0x66;
                }
            }
            15: {
                // An invalid header copied keeps its bytes to itself.
                headers.copied.setInvalid();
                Copied other = headers.copied;
                other.setValid();
                headers.copied = other;
            }
        }
    }
}

#include "../include/switch.p4"
