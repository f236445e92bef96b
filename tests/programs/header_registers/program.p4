// Registers whose cells hold headers, alone and in structs.
#define NO_EGRESS
#include "../include/probe.p4"

header Saved {
    bit<8> first;
    bit<16> second;
}

struct Pair {
    bit<8> number;
    Saved saved;
}

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    register<Saved>(4) alone;
    register<Pair>(2) pairs;

    apply {
        standard.egress_spec = 1;
        bit<32> index = headers.probe.a;
        Saved saved;
        Pair pair;
        if (headers.probe.kind == 0) {
            saved.setValid();
            saved.first = 7;
            saved.second = headers.probe.c;
            alone.write(index, saved);
        } else if (headers.probe.kind == 1) {
            saved.setInvalid();
            alone.write(index, saved);
        } else if (headers.probe.kind == 2) {
            alone.write(index, { 9, headers.probe.c });
        } else if (headers.probe.kind == 3) {
            alone.write(index, headers.probe.b == 0 ? (Saved){#} : (Saved){ 8, headers.probe.c });
        } else if (headers.probe.kind == 4) {
            alone.read(saved, index);
            if (saved.isValid()) {
                headers.probe.flags = saved.first;
                headers.probe.result = saved.second;
            } else {
                headers.probe.flags = 0xff;
            }
        } else if (headers.probe.kind == 5) {
            pair.number = headers.probe.b[7:0];
            pair.saved = { 3, headers.probe.c };
            if (headers.probe.b[8:8] == 1) {
                pair.saved.setInvalid();
            }
            pairs.write(index, pair);
        } else {
            pairs.read(pair, index);
            headers.probe.flags = pair.saved.isValid() ? pair.saved.first : 0xff;
            headers.probe.result = (bit<16>)pair.number;
        }
    }
}

#include "../include/switch.p4"
