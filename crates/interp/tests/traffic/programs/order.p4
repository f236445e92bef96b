// Every step of a packet takes a number: before its asynchronous block, within it and behind it.
#include <core.p4>
#include <v1model.p4>

header Steps {
    bit<8> kind;
    bit<8> id;
    bit<8> before;
    bit<8> within;
    bit<8> behind;
}

struct Headers {
    Steps steps;
}

struct Metadata {
    bit<8> mixed;
}

parser OrderParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.steps);
        transition accept;
    }
}

control OrderVerify(inout Headers headers, inout Metadata meta) {
    apply {}
}

control OrderIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    register<bit<8>>(1) taken;

    action take(out bit<8> number) {
        taken.read(number, 0);
        number = number + 1;
        taken.write(0, number);
    }

    apply {
        standard.egress_spec = 1;
        meta.mixed = headers.steps.id;
        take(headers.steps.before);
        if (headers.steps.kind == 0) {
            @async(offload_worker = "a") {
                take(headers.steps.within);
                meta.mixed = meta.mixed + headers.steps.before;
            }
        } else if (headers.steps.kind == 1) {
            @async(offload_worker = "b") {
                take(headers.steps.within);
                meta.mixed = meta.mixed + headers.steps.before;
            }
        } else if (headers.steps.kind == 2) {
            @async(offload_worker = "c") {
                take(headers.steps.within);
                meta.mixed = meta.mixed + headers.steps.before;
            }
        }
        take(headers.steps.behind);
        // Of this packet alone, in whatever order.
        headers.steps.id = meta.mixed;
    }
}

control OrderEgress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    apply {
        // And in egress.
        if (headers.steps.kind == 3) {
            @async {
                headers.steps.within = headers.steps.before + 100;
            }
        }
    }
}

control OrderCompute(inout Headers headers, inout Metadata meta) {
    apply {}
}

control OrderDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

V1Switch(
    OrderParser(),
    OrderVerify(),
    OrderIngress(),
    OrderEgress(),
    OrderCompute(),
    OrderDeparser()
) main;
