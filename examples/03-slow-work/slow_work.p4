// Work that takes thousands of cycles, for some packets: another core does it, and this one goes on with the others.
// Here it is P4 code, a loop; it could be a call of an extern as well.
//
//   siding stf examples/03-slow-work/slow_work.p4 examples/03-slow-work/slow_work.stf --backend both
//   siding switch examples/03-slow-work/slow_work.p4 -i 0@veth0 -i 1@veth1      asynchronous
//   siding switch ... --async inline                                the worker does it itself
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {
    bit<32> rounds;
    bit<32> mixed;
}

parser WorkParser(
    packet_in packet,
    out headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.ethernet);
        transition accept;
    }
}

control WorkVerify(inout headers_t headers, inout metadata_t meta) {
    apply {}
}

control WorkIngress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard
) {
    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    action work_and_forward(bit<9> port, bit<32> rounds) {
        standard.egress_spec = port;
        meta.rounds = rounds;
    }

    action drop() {
        mark_to_drop(standard);
    }

    table stations {
        key = {
            headers.ethernet.destination: exact;
        }
        actions = {
            forward;
            work_and_forward;
            drop;
        }
        const default_action = drop();
        size = 1024;
    }

    apply {
        stations.apply();
        if (meta.rounds != 0) {
            meta.mixed = headers.ethernet.destination[31:0];
            // The packet waits here while another core works; nothing that it needs later is lost.
            @async(capacity = 500) {
                for (bit<32> i in 1 .. meta.rounds) {
                    meta.mixed = (meta.mixed << 5) + meta.mixed ^ i;
                }
            }
            headers.ethernet.type = meta.mixed[15:0];
        }
    }
}

control WorkEgress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard
) {
    apply {}
}

control WorkCompute(inout headers_t headers, inout metadata_t meta) {
    apply {}
}

control WorkDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
    }
}

V1Switch(
    WorkParser(),
    WorkVerify(),
    WorkIngress(),
    WorkEgress(),
    WorkCompute(),
    WorkDeparser()
) main;
