// Source address translation for a network that shares one public address: TCP, UDP and ICMP echo.
//
//     siding stf examples/state/nat44
//
// A flow has two entries, one per direction. The first packet from the inside picks a public port and looks up the entry that
// an answer would need: if there is one, another flow has the port; if there is none, the lookup adds it. Then the packet
// adds its own. Every packet looks up both, so both live equally long.

#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>
#include "../include/segments.p4"

#ifndef N_FLOWS
#define N_FLOWS 65536
#endif

const bit<9> INSIDE = 1;
const bit<9> OUTSIDE = 2;

// 192.0.2.1
const Ipv4Address PUBLIC_ADDRESS = 0xC0000201;

// The public ports are 49152 to 65535, those that no service has.
const bit<16> FIRST_PORT = 0xC000;
const bit<16> PORT_MASK = 0x3FFF;

// Times that the profiles have unless the configuration changes them: 30, 60, 120, 300 and 43200 seconds.
const ExpireTimeProfileId_t PROFILE_ICMP = 1;
const ExpireTimeProfileId_t PROFILE_TCP_CLOSING = 2;
const ExpireTimeProfileId_t PROFILE_UDP = 3;
const ExpireTimeProfileId_t PROFILE_TCP_OPENING = 4;
const ExpireTimeProfileId_t PROFILE_TCP = 5;
// The configuration gives this profile no time at all: an entry with it has ended.
const ExpireTimeProfileId_t PROFILE_GONE = 255;

struct PublicPort {
    bit<16> port;
}

struct Inside {
    Ipv4Address address;
    bit<16> port;
}

control Translate(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    // How many ports were tried so far, of all protocols.
    register<bit<16>>(1) ports_tried;
    // 0: no free port within three tries; 1: a table was full.
    counter(2, CounterType.packets) refused;

    // The flow: for ICMP both ports of the inside are the identifier, and the remote port is 0.
    Ipv4Address inside_address = 0;
    bit<16> inside_port = 0;
    Ipv4Address remote_address = 0;
    bit<16> remote_port = 0;
    bit<16> public_port = 0;

    bool may_add = false;
    bool is_found = false;
    bool is_added = false;
    bool changes_profile = false;
    ExpireTimeProfileId_t profile = PROFILE_UDP;
    // The other half of a flow belongs to another flow.
    bool is_foreign = false;

    action to_public(bit<16> port) {
        is_found = true;
        is_foreign = public_port != 0 && public_port != port;
        public_port = port;
        update_expire_info(true, changes_profile, profile);
    }

    action no_public_port() {
        is_found = false;
        if (may_add) {
            is_added = add_entry("to_public", (PublicPort){ port = public_port }, profile);
        }
    }

    table outbound {
        key = {
            headers.ipv4.protocol: exact @name("protocol");
            inside_address: exact @name("inside_address");
            inside_port: exact @name("inside_port");
            remote_address: exact @name("remote_address");
            remote_port: exact @name("remote_port");
        }
        actions = {
            @tableonly to_public;
            @defaultonly no_public_port;
        }
        const default_action = no_public_port();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = N_FLOWS;
    }

    action to_inside(Ipv4Address address, bit<16> port) {
        is_found = true;
        is_foreign = inside_address != 0 && (inside_address != address || inside_port != port);
        // An entry of another flow keeps its time.
        update_expire_info(!is_foreign, changes_profile, profile);
        if (!is_foreign) {
            inside_address = address;
            inside_port = port;
        }
    }

    action no_inside() {
        is_found = false;
        if (may_add) {
            is_added = add_entry(
                "to_inside",
                (Inside){ address = inside_address, port = inside_port },
                profile
            );
        }
    }

    table inbound {
        key = {
            headers.ipv4.protocol: exact @name("protocol");
            remote_address: exact @name("remote_address");
            remote_port: exact @name("remote_port");
            public_port: exact @name("public_port");
        }
        actions = {
            @tableonly to_inside;
            @defaultonly no_inside;
        }
        const default_action = no_inside();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = N_FLOWS;
    }

    action refuse() {
        mark_to_drop(standard);
        exit;
    }

    action next_port() {
        @atomic {
            bit<16> n;
            ports_tried.read(n, 0);
            ports_tried.write(0, n + 1);
            public_port = FIRST_PORT | (n & PORT_MASK);
        }
    }

    // Far from the ports that other workers try at this moment.
    action any_port() {
        bit<16> n;
        random(n, 0, PORT_MASK);
        public_port = FIRST_PORT | n;
    }

    // Adjusts the checksum of the segment; a UDP checksum of 0 means that there is none.
    action adjust_address(Ipv4Address before, Ipv4Address after) {
        headers.ipv4.checksum = adjusted_by_32(headers.ipv4.checksum, before, after);
        if (headers.tcp.isValid()) {
            headers.tcp.checksum = adjusted_by_32(headers.tcp.checksum, before, after);
        }
        if (headers.udp.isValid() && headers.udp.checksum != 0) {
            headers.udp.checksum = adjusted_by_32(headers.udp.checksum, before, after);
        }
    }

    action adjust_port(bit<16> before, bit<16> after) {
        if (headers.tcp.isValid()) {
            headers.tcp.checksum = adjusted(headers.tcp.checksum, before, after);
        }
        if (headers.icmp.isValid()) {
            headers.icmp.checksum = adjusted(headers.icmp.checksum, before, after);
        }
        if (headers.udp.isValid() && headers.udp.checksum != 0) {
            headers.udp.checksum = adjusted(headers.udp.checksum, before, after);
            if (headers.udp.checksum == 0) {
                headers.udp.checksum = 0xFFFF;
            }
        }
    }

    action choose_profile() {
        if (headers.tcp.isValid()) {
            // The answer to a SYN makes the time long, FIN and RST shorten it.
            bit<8> flags = headers.tcp.flags;
            changes_profile = flags & (TCP_SYN | TCP_FIN | TCP_RST) != 0;
            if (flags & (TCP_FIN | TCP_RST) != 0) {
                profile = PROFILE_TCP_CLOSING;
            } else if (flags & (TCP_SYN | TCP_ACK) == TCP_SYN) {
                profile = PROFILE_TCP_OPENING;
            } else {
                profile = PROFILE_TCP;
            }
        } else if (headers.icmp.isValid()) {
            profile = PROFILE_ICMP;
        }
    }

    apply {
        choose_profile();
        if (!headers.tcp.isValid() && !headers.udp.isValid() && !headers.icmp.isValid()) {
            refuse();
        }
        bool may_begin = true;
        if (headers.tcp.isValid()) {
            if (!are_flags_valid(headers.tcp.flags)) {
                refuse();
            }
            // A SYN opens a flow, and an ACK may be one of a connection that is older than this translator.
            bit<8> flags = headers.tcp.flags & (TCP_SYN | TCP_ACK | TCP_FIN | TCP_RST);
            may_begin = flags == TCP_SYN || flags == TCP_ACK;
        }
        if (standard.ingress_port == INSIDE) {
            if (headers.icmp.isValid() && (headers.icmp.type != 8 || headers.icmp.code != 0)) {
                refuse();
            }
            inside_address = headers.ipv4.source;
            inside_port = headers.icmp.isValid() ? headers.icmp.identifier : meta.source_port;
            remote_address = headers.ipv4.destination;
            remote_port = meta.destination_port;
            outbound.apply();
            bool is_new = !is_found;
            if (is_new && !may_begin) {
                refuse();
            }
            may_add = true;
            if (is_new) {
                next_port();
            }
            inbound.apply();
            if (is_new && !is_found && !is_added) {
                // The table is full, or another worker has taken the port since it was looked up.
                may_add = false;
                inbound.apply();
                may_add = true;
                if (is_found) {
                    any_port();
                    inbound.apply();
                }
            }
            if (is_new && is_found) {
                next_port();
                inbound.apply();
                if (is_found) {
                    next_port();
                    inbound.apply();
                }
            }
            if (is_new && is_found) {
                // All three were taken by other flows to the same remote port.
                refused.count(0);
                refuse();
            }
            if (!is_found && !is_added) {
                refused.count(1);
                refuse();
            }
            if (is_new) {
                bit<16> own_port = public_port;
                is_added = false;
                outbound.apply();
                if (!is_added && !is_found) {
                    // The table is full, or another worker has added the flow since it was looked up.
                    may_add = false;
                    outbound.apply();
                    may_add = true;
                }
                if (!is_added) {
                    // Half a flow is of no use: the answers would pass, but the next packet would get another port.
                    bit<16> found_port = public_port;
                    bool is_there = is_found;
                    public_port = own_port;
                    changes_profile = true;
                    profile = PROFILE_GONE;
                    inbound.apply();
                    if (!is_there) {
                        refused.count(1);
                        refuse();
                    }
                    // Another worker has added the flow meanwhile, with its own port.
                    public_port = found_port;
                }
            } else if (is_foreign) {
                // The other half was removed, and another flow has got the port meanwhile.
                changes_profile = true;
                profile = PROFILE_GONE;
                outbound.apply();
                refuse();
            }
            adjust_address(headers.ipv4.source, PUBLIC_ADDRESS);
            adjust_port(inside_port, public_port);
            headers.ipv4.source = PUBLIC_ADDRESS;
            if (headers.tcp.isValid()) {
                headers.tcp.source = public_port;
            } else if (headers.udp.isValid()) {
                headers.udp.source = public_port;
            } else if (headers.icmp.isValid()) {
                headers.icmp.identifier = public_port;
            }
            standard.egress_spec = OUTSIDE;
        } else {
            if (
                headers.ipv4.destination != PUBLIC_ADDRESS
                || (headers.icmp.isValid() && (headers.icmp.type != 0 || headers.icmp.code != 0))
            ) {
                refuse();
            }
            remote_address = headers.ipv4.source;
            remote_port = meta.source_port;
            public_port = headers.icmp.isValid() ? headers.icmp.identifier : meta.destination_port;
            bit<16> port = public_port;
            inbound.apply();
            if (!is_found) {
                refuse();
            }
            may_add = true;
            outbound.apply();
            if ((is_found && is_foreign) || (!is_found && !is_added)) {
                refuse();
            }
            adjust_address(headers.ipv4.destination, inside_address);
            adjust_port(port, inside_port);
            headers.ipv4.destination = inside_address;
            if (headers.tcp.isValid()) {
                headers.tcp.destination = inside_port;
            } else if (headers.udp.isValid()) {
                headers.udp.destination = inside_port;
            } else if (headers.icmp.isValid()) {
                headers.icmp.identifier = inside_port;
            }
            standard.egress_spec = INSIDE;
        }
    }
}

V1Switch(ReadSegment(), NoVerify(), Translate(), NoEgress(), NoCompute(), WriteSegment()) main;
