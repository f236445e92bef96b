// Blocks of all shapes around calls of an extern that takes several at once: those in the first half of `way` are cut at
// their calls.
#include <core.p4>
#include <v1model.p4>

extern bit<16> work(in bit<8> what, inout bit<32> value);
extern void count();
extern bit<16> alone(in bit<8> what, inout bit<32> value);

header head_t {
    bit<8>  way;
    bit<32> serial;
    bit<8>  what;
    bit<32> value;
    bit<16> result;
    bit<32> sum;
}

header next_t {
    bit<16> type;
}

struct headers_t {
    head_t head;
    next_t[2] next;
}

struct meta_t {
    bit<32> before;
    bit<16> result;
    bit<8> n_parsed;
}

parser TogetherParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.head);
        transition select(hdr.head.what) {
            0x80 &&& 0x80: one;
            default: accept;
        }
    }
    state one {
        packet.extract(hdr.next.next);
        meta.n_parsed = meta.n_parsed + 1;
        transition accept;
    }
}

control TogetherVerify(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control TogetherDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

control TogetherIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    register<bit<32>>(16) cells;
    register<bit<32>>(16) others;
    counter(8, CounterType.packets) seen;
    bit<32> local;

    action call_here() {
        hdr.head.result = work(hdr.head.what, hdr.head.value);
    }

    action set(bit<32> value) {
        meta.before = value;
    }

    table known {
        key = { hdr.head.what: exact; }
        actions = { set; NoAction; }
        const entries = {
            1: set(100);
            2: set(200);
            0x81: set(300);
        }
        const default_action = NoAction();
    }

    apply {
        sm.egress_spec = 1;
        local = hdr.head.serial * 3;
        // Cut at the call.
        if (hdr.head.way == 1) {
            @async @name("usual") {
                hdr.head.result = work(hdr.head.what, hdr.head.value);
            }
        }
        if (hdr.head.way == 2) {
            @async @name("around") {
                known.apply();
                if (hdr.head.value[0:0] == 1) {
                    meta.before = meta.before + local;
                }
                assert(hdr.head.value & 0xf != 13);
                bit<8> i = hdr.head.what & 1;
                bit<8> what = hdr.head.what;
                meta.result = work(what, hdr.head.value);
                seen.count((bit<32>)i);
                if (meta.result > 6) {
                    hdr.head.sum = meta.before ^ local;
                } else {
                    hdr.head.sum = (bit<32>)what;
                    mark_to_drop(sm);
                }
                hdr.head.result = meta.result + 1;
            }
        }
        if (hdr.head.way == 3) {
            @async(deparser = "TogetherDeparser", parser = "TogetherParser") @name("represented") {
                work(hdr.head.what, hdr.head.value);
            }
        }
        if (hdr.head.way == 4) {
            @async @name("counting") {
                bit<32> cell;
                cells.read(cell, hdr.head.serial & 15);
                cells.write(hdr.head.serial & 15, cell + hdr.head.value);
                hdr.head.sum = cell;
                hdr.head.result = work(hdr.head.what, hdr.head.value);
                others.write(0, hdr.head.value);
            }
        }
        if (hdr.head.way == 5) {
            @async @name("slice") {
                // Where the call writes to is an element and a part of a value.
                hdr.next[local[0:0]].type = work(hdr.head.what, hdr.head.sum);
                hdr.head.result[7:0] = hdr.next[1].type[7:0];
            }
        }
        if (hdr.head.way == 7) {
            @async @name("bare") {
                count();
            }
        }
        // One by one.
        if (hdr.head.way == 8) {
            @async @name("conditional") {
                if (hdr.head.value[1:1] == 1) {
                    hdr.head.result = work(hdr.head.what, hdr.head.value);
                }
                hdr.head.sum = hdr.head.sum + 1;
            }
        }
        if (hdr.head.way == 9) {
            @async @name("several") {
                hdr.head.result = work(hdr.head.what, hdr.head.value);
                hdr.head.result = hdr.head.result + work(0, hdr.head.value);
            }
        }
        if (hdr.head.way == 10) {
            @async @name("ordered") {
                bit<32> cell;
                others.read(cell, 1);
                hdr.head.result = work(hdr.head.what, hdr.head.value);
                others.write(1, cell + 1);
                hdr.head.sum = cell;
            }
        }
        if (hdr.head.way == 11) {
            @async @name("looping") {
                for (bit<8> i in 0 .. 2) {
                    hdr.head.result = work(0, hdr.head.value);
                }
            }
        }
        if (hdr.head.way == 12) {
            @async @name("elsewhere") {
                call_here();
            }
        }
        if (hdr.head.way == 13) {
            // Cut, but the extern takes one call at a time.
            @async @name("single") {
                hdr.head.result = alone(hdr.head.what, hdr.head.value);
            }
        }
    }
}

control TogetherEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.head.way == 6) {
            @async @name("egress") {
                hdr.head.sum = meta.before + 1;
                hdr.head.result = work(hdr.head.what, hdr.head.value);
            }
        }
    }
}

control TogetherCompute(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

V1Switch(TogetherParser(), TogetherVerify(), TogetherIngress(), TogetherEgress(), TogetherCompute(), TogetherDeparser()) main;
