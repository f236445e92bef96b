// A switch that learns addresses without a controller: the entry that says where a station is comes from the station's own
// packets.
//
//     siding stf examples/state/learning_switch
//
// One table answers two questions: does the switch know the source, and where is the destination? The address to look up
// stands in a variable, so both lookups have the same key. Only the lookup of a source may add an entry.

#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>
#include "../../include/headers.p4"

// The multicast group that holds all ports. Whoever configures the switch fills it.
const bit<16> FLOOD_GROUP = 1;

// 300 seconds, the ageing time of IEEE 802.1Q.
const ExpireTimeProfileId_t PROFILE_STATION = 4;
// The configuration gives this profile no time at all: an entry with it has ended.
const ExpireTimeProfileId_t PROFILE_GONE = 255;

struct Headers {
    Ethernet ethernet;
}

struct Metadata {}

struct Place {
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
    MacAddress address = headers.ethernet.source;
    bool is_source = true;
    bool has_moved = false;

    // A packet from a station proves that the station is there; a packet to it proves nothing.
    action found(bit<9> port) {
        has_moved = is_source && port != standard.ingress_port;
        update_expire_info(is_source, has_moved, PROFILE_GONE);
        if (!is_source) {
            standard.egress_spec = port;
        }
    }

    action unknown() {
        if (is_source) {
            add_entry("found", (Place){ port = standard.ingress_port }, PROFILE_STATION);
        } else {
            standard.mcast_grp = FLOOD_GROUP;
        }
    }

    table stations {
        key = {
            address: exact @name("address");
        }
        actions = {
            @tableonly found;
            @defaultonly unknown;
        }
        const default_action = unknown();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = 4096;
    }

    apply {
        if (standard.parser_error != error.NoError) {
            mark_to_drop(standard);
            exit;
        }
        // No station has a group address, so a source with the group bit is not learned.
        if (address[40:40] == 0) {
            stations.apply();
            if (has_moved) {
                // The entry has just ended. This lookup misses and learns the new port.
                stations.apply();
            }
        }
        is_source = false;
        address = headers.ethernet.destination;
        stations.apply();
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
