// Headers as values: validity in assignments, equality, `{#}`, `...`, headers in structs, stacks and switch.
#define NO_EGRESS
#define OWN_HEADERS
#include "../include/probe.p4"

header Tag {
    bit<8> id;
    bit<8> value;
}

struct Group {
    Tag first;
    Tag second;
}

struct Headers {
    Probe probe;
    Tag x;
    Tag y;
    Group group;
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
            0: accept;
            1: x;
            2: xy;
            default: tags;
        }
    }

    state x {
        packet.extract(headers.x);
        transition accept;
    }

    state xy {
        packet.extract(headers.x);
        packet.extract(headers.y);
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

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    apply {
        standard.egress_spec = 1;
        switch (headers.probe.kind) {
            1: {
                // Validity is copied, too.
                headers.y = headers.x;
            }
            2: {
                headers.x = (Tag){#};
            }
            3: {
                headers.x = { 0x11, ... };
                headers.group = { second = { 0x33, 0x44 }, ... };
            }
            4: {
                headers.probe.flags = headers.x == headers.y ? 8w1 : 8w0;
            }
            5: {
                // Fields keep nothing when a header becomes valid again, but assigning all of them does.
                headers.x.setInvalid();
                headers.x = { 0x55, 0x66 };
            }
            6: {
                Group group;
                group.first = headers.x;
                group.second.setInvalid();
                headers.group = group;
            }
            7: {
                headers.tags[2] = headers.tags[0];
                headers.tags[0].setInvalid();
                headers.probe.flags = headers.tags[1] == headers.tags[2] ? 8w1 : 8w0;
            }
            8: {
                Tag[3] copy = headers.tags;
                headers.probe.flags = copy == headers.tags ? 8w1 : 8w0;
                copy[1].value = copy[1].value + 1;
                headers.probe.result = copy == headers.tags ? 16w1 : 16w2;
                headers.tags = copy;
            }
            9: {
                // A copy is a copy.
                Tag tag = headers.x;
                tag.value = 0x99;
                headers.probe.result = headers.x.isValid() ? 8w0 ++ headers.x.value : 16w0xffff;
                headers.probe.flags = (bit<8>)tag.minSizeInBytes();
            }
            10: {
                headers.group.first = headers.x;
                headers.group.second = headers.y;
                Group other = headers.group;
                headers.probe.flags = other == headers.group ? 8w1 : 8w0;
                other.second.setInvalid();
                headers.probe.result = other == headers.group ? 16w1 : 16w2;
            }
        }
    }
}

#include "../include/switch.p4"
