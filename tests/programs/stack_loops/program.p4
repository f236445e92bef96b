// `for` over header stacks and lists, `lastIndex` and `size`, loops in actions, functions and parsers' callees.
#define NO_EGRESS
#define OWN_HEADERS
#include "../include/probe.p4"

header Item {
    bit<15> value;
    bit<1> more;
}

struct Headers {
    Probe probe;
    Item[5] items;
}

struct Metadata {
    bit<16> n_items;
}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.probe);
        transition item;
    }

    state item {
        packet.extract(headers.items.next);
        meta.n_items = (bit<16>)headers.items.lastIndex + 1;
        transition select(headers.items.last.more) {
            1: item;
            default: accept;
        }
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
    action sum_all() {
        bit<16> sum = 0;
        for (Item item in headers.items) {
            if (item.isValid()) {
                sum = sum + (bit<16>)item.value;
            }
        }
        headers.probe.result = sum;
    }

    apply {
        standard.egress_spec = 1;
        switch (headers.probe.kind) {
            1: {
                sum_all();
            }
            2: {
                // The variable is a copy of the element.
                for (Item item in headers.items) {
                    item.value = 0;
                }
                headers.probe.result = (bit<16>)headers.items[0].value;
            }
            3: {
                // The first element with the value that is looked for.
                headers.probe.result = 0xffff;
                for (bit<32> i in 0 .. 4) {
                    if (
                        headers.items[i].isValid()
                        && (bit<16>)headers.items[i].value == headers.probe.c
                    ) {
                        headers.probe.result = (bit<16>)i;
                        break;
                    }
                }
            }
            4: {
                for (bit<16> x in (list<bit<16>>){ 3, 5, 7 }) {
                    headers.probe.result = headers.probe.result * 10 + x;
                }
            }
            5: {
                // Turned around with two indices that meet.
                bit<32> last = (bit<32>)meta.n_items - 1;
                for (bit<32> i = 0, bit<32> j = last; i < j; i = i + 1, j = j - 1) {
                    Item swap = headers.items[i];
                    headers.items[i].value = headers.items[j].value;
                    headers.items[j].value = swap.value;
                }
            }
            6: {
                headers.probe.result = meta.n_items;
                headers.probe.c = (bit<16>)headers.items.size;
            }
            7: {
                // From the back, every second.
                for (bit<32> i = 4; i != 0xfffffffe; i = i - 2) {
                    headers.items[i].setInvalid();
                }
            }
        }
    }
}

#include "../include/switch.p4"
