// A switch that learns: it tells the controller of every source address that it does not know, and floods what
// goes to an address that it does not know.
//
//     siding stf examples/02-l2-switch/l2_switch.stf
//     siding run examples/02-l2-switch/l2_switch.p4 examples/02-l2-switch/l2_switch.stf
//
// The controller answers each digest with an entry in `smac` and one in `dmac`; l2_switch.stf plays its part.

#include <core.p4>
#include <v1model.p4>
#include "../include/headers.p4"

// The multicast group that holds all ports. Whoever configures the switch fills it.
const bit<16> FLOOD_GROUP = 1;

struct Headers {
    Ethernet ethernet;
}

struct Metadata {}

// What the controller learns.
struct Learned {
    MacAddress source;
    bit<9> port;
}

parser EthernetParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.ethernet);
        transition accept;
    }
}

control NoVerify(inout Headers headers, inout Metadata meta) {
    apply {}
}

control Learn(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    action unknown() {
        digest<Learned>(1, { headers.ethernet.source, standard.ingress_port });
    }

    action known() {}

    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    action flood() {
        standard.mcast_grp = FLOOD_GROUP;
    }

    // The port is part of the key: a station that has moved is unknown again.
    table smac {
        key = {
            headers.ethernet.source: exact @name("source");
            standard.ingress_port: exact @name("port");
        }
        actions = {
            known;
            @defaultonly unknown;
        }
        const default_action = unknown();
        size = 4096;
    }

    table dmac {
        key = {
            headers.ethernet.destination: exact @name("destination");
        }
        actions = {
            forward;
            flood;
        }
        const default_action = flood();
        size = 4096;
    }

    apply {
        if (standard.parser_error != error.NoError) {
            mark_to_drop(standard);
        } else {
            smac.apply();
            dmac.apply();
        }
    }
}

control NeverBack(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {
        // Nothing leaves through the port that it came from; this also takes one port out of each flood.
        if (standard.egress_port == standard.ingress_port) {
            mark_to_drop(standard);
        }
    }
}

control NoCompute(inout Headers headers, inout Metadata meta) {
    apply {}
}

control EthernetDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.ethernet);
    }
}

V1Switch(EthernetParser(), NoVerify(), Learn(), NeverBack(), NoCompute(), EthernetDeparser()) main;
