// A load balancer for TCP and UDP that keeps connections where they are: the first packet chooses a server by an action
// selector, and an entry remembers the choice while servers come and go.
//
//     siding stf examples/state/balancer
//
// Clients are at port 1. Servers answer past the balancer, each with the address of the service as one of its own (direct
// return), so only the Ethernet address of the destination changes.

#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>
#include "../include/segments.p4"

#ifndef N_CONNECTIONS
#define N_CONNECTIONS 65536
#endif

// Times that the profiles have unless the configuration changes them: 60, 120 and 300 seconds.
const ExpireTimeProfileId_t PROFILE_CLOSING = 2;
const ExpireTimeProfileId_t PROFILE_UDP = 3;
const ExpireTimeProfileId_t PROFILE_TCP = 4;

struct Server {
    bit<16> number;
}

control Balance(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    // First packets that each server got.
    counter(65536, CounterType.packets) connections_of;
    // Packets that began no connection and belonged to none.
    counter(1, CounterType.packets) strays;

    bool is_known = false;
    bool may_add = false;
    bool is_added = false;
    bool is_chosen = false;
    bit<16> server = 0;
    bool is_closing = false;
    ExpireTimeProfileId_t profile = PROFILE_UDP;

    action to_server(bit<16> number) {
        is_known = true;
        server = number;
        update_expire_info(true, is_closing, profile);
    }

    action unknown() {
        if (may_add) {
            is_added = add_entry("to_server", (Server){ number = server }, profile);
        }
    }

    table connections {
        key = {
            headers.ipv4.protocol: exact @name("protocol");
            headers.ipv4.source: exact @name("client");
            meta.source_port: exact @name("client_port");
            headers.ipv4.destination: exact @name("service");
            meta.destination_port: exact @name("service_port");
        }
        actions = {
            @tableonly to_server;
            @defaultonly unknown;
        }
        const default_action = unknown();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = N_CONNECTIONS;
    }

    action choose(bit<16> number) {
        is_chosen = true;
        server = number;
    }

    // Removing a server from its group drains it: it gets no new connections and keeps those that it has.
    table services {
        key = {
            headers.ipv4.protocol: exact @name("protocol");
            headers.ipv4.destination: exact @name("service");
            meta.destination_port: exact @name("service_port");
            headers.ipv4.source: selector;
            meta.source_port: selector;
        }
        actions = {
            choose;
            NoAction;
        }
        const default_action = NoAction();
        @name("members")
        implementation = action_selector(HashAlgorithm.crc16, 4096, 16);
        size = 1024;
    }

    action forward(MacAddress station, bit<9> port) {
        headers.ethernet.destination = station;
        standard.egress_spec = port;
    }

    action drop() {
        mark_to_drop(standard);
    }

    table servers {
        key = {
            server: exact @name("number");
        }
        actions = {
            forward;
            drop;
        }
        const default_action = drop();
        size = 65536;
    }

    apply {
        bool may_begin = true;
        if (headers.tcp.isValid()) {
            if (!are_flags_valid(headers.tcp.flags)) {
                strays.count(0);
                drop();
                exit;
            }
            profile = PROFILE_TCP;
            if (headers.tcp.flags & (TCP_FIN | TCP_RST) != 0) {
                is_closing = true;
                profile = PROFILE_CLOSING;
            }
            may_begin = headers.tcp.flags & (TCP_SYN | TCP_ACK | TCP_FIN | TCP_RST) == TCP_SYN;
            // A SYN that uses the ports of a closed connection again gets the long time, and the same server.
            is_closing = is_closing || may_begin;
        } else if (!headers.udp.isValid()) {
            drop();
            exit;
        }
        connections.apply();
        if (!is_known && may_begin) {
            services.apply();
            if (is_chosen) {
                may_add = true;
                connections.apply();
                if (is_added) {
                    connections_of.count((bit<32>)server);
                } else {
                    // Another worker may have added the entry at the same time.
                    may_add = false;
                    connections.apply();
                }
            }
        }
        if (is_known || is_added) {
            servers.apply();
        } else {
            strays.count(0);
            drop();
        }
    }
}

V1Switch(ReadSegment(), NoVerify(), Balance(), NoEgress(), NoCompute(), WriteSegment()) main;
