// A pipeline with the tables of a data-centre switch, about as the Switch Abstraction Interface has them: ports, VLANs,
// router interfaces, virtual routers, access lists in and out, routes, multipath groups, next hops, neighbours, tunnels,
// mirroring, quality of service.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

const bit<8> PROTOCOL_GRE = 47;
const bit<9> CPU_PORT = 510;

header gre_t {
    bit<16> flags;
    bit<16> protocol;
}

struct headers_t {
    ethernet_t ethernet;
    vlan_t vlan;
    ipv4_t tunnel;
    gre_t gre;
    ipv4_t ipv4;
    ipv6_t ipv6;
    ports_t ports;
}

struct metadata_t {
    bit<12> vlan;
    bit<1> is_routed;
    bit<1> is_admitted;
    bit<1> is_mirrored;
    bit<1> is_trapped;
    bit<1> wants_group;
    bit<1> wants_encapsulation;
    bit<10> port_class;
    bit<10> interface_class;
    bit<16> vrf;
    bit<16> ingress_interface;
    bit<16> egress_interface;
    bit<16> next_hop;
    bit<16> group;
    bit<16> neighbour;
    bit<16> tunnel;
    bit<16> mirror_session;
    bit<16> mtu;
    bit<3> traffic_class;
    bit<5> queue;
    bit<2> colour;
    bit<6> dscp;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> flow;
    mac_t rewritten_source;
    mac_t rewritten_destination;
}

parser SwitchParser(packet_in packet, out headers_t headers, inout metadata_t metadata,
                    inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            ETHER_TYPE_VLAN: vlan;
            ETHER_TYPE_IPV4: ipv4;
            ETHER_TYPE_IPV6: ipv6;
            default: accept;
        }
    }

    state vlan {
        packet.extract(headers.vlan);
        metadata.vlan = headers.vlan.id;
        transition select(headers.vlan.ether_type) {
            ETHER_TYPE_IPV4: ipv4;
            ETHER_TYPE_IPV6: ipv6;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        metadata.dscp = headers.ipv4.dscp;
        metadata.ttl = headers.ipv4.ttl;
        metadata.protocol = headers.ipv4.protocol;
        transition select(headers.ipv4.header_words, headers.ipv4.fragment_offset, headers.ipv4.protocol) {
            (5, 0, PROTOCOL_TCP): ports;
            (5, 0, PROTOCOL_UDP): ports;
            default: accept;
        }
    }

    state ipv6 {
        packet.extract(headers.ipv6);
        metadata.dscp = headers.ipv6.dscp;
        metadata.ttl = headers.ipv6.hop_limit;
        metadata.protocol = headers.ipv6.next_header;
        transition select(headers.ipv6.next_header) {
            PROTOCOL_TCP: ports;
            PROTOCOL_UDP: ports;
            default: accept;
        }
    }

    state ports {
        packet.extract(headers.ports);
        transition accept;
    }
}

control SwitchVerify(inout headers_t headers, inout metadata_t metadata) {
    apply {
        verify_checksum(
            headers.ipv4.isValid(),
            {
                headers.ipv4.version,
                headers.ipv4.header_words,
                headers.ipv4.dscp,
                headers.ipv4.ecn,
                headers.ipv4.total_bytes,
                headers.ipv4.identification,
                headers.ipv4.flags,
                headers.ipv4.fragment_offset,
                headers.ipv4.ttl,
                headers.ipv4.protocol,
                headers.ipv4.source,
                headers.ipv4.destination
            },
            headers.ipv4.checksum,
            HashAlgorithm.csum16
        );
    }
}

// Ports, VLANs and who may be routed.
control Admission(inout headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    action drop() {
        mark_to_drop(standard);
        exit;
    }

    action set_port(bit<10> port_class, bit<12> vlan) {
        metadata.port_class = port_class;
        metadata.vlan = headers.vlan.isValid() ? metadata.vlan : vlan;
    }

    action set_interface(bit<16> interface, bit<10> interface_class) {
        metadata.ingress_interface = interface;
        metadata.interface_class = interface_class;
    }

    action set_vrf(bit<16> vrf) {
        metadata.vrf = vrf;
    }

    action admit() {
        metadata.is_admitted = 1;
    }

    action set_class(bit<3> traffic_class, bit<2> colour) {
        metadata.traffic_class = traffic_class;
        metadata.colour = colour;
    }

    table ports {
        key = { standard.ingress_port: exact @name("port"); }
        actions = { set_port; drop; }
        default_action = drop();
        size = 512;
    }

    table vlans {
        key = { metadata.vlan: exact @name("vlan"); }
        actions = { NoAction; drop; }
        default_action = drop();
        size = 4096;
    }

    table vlan_members {
        key = {
            standard.ingress_port: exact @name("port");
            metadata.vlan: exact @name("vlan");
        }
        actions = { NoAction; drop; }
        default_action = drop();
        size = 16384;
    }

    table spanning_tree {
        key = {
            standard.ingress_port: exact @name("port");
            metadata.vlan: exact @name("vlan");
        }
        actions = { NoAction; drop; }
        default_action = NoAction();
        size = 16384;
    }

    table interfaces {
        key = {
            standard.ingress_port: exact @name("port");
            metadata.vlan: exact @name("vlan");
        }
        actions = { set_interface; NoAction; }
        default_action = NoAction();
        size = 4096;
    }

    table interface_vrf {
        key = { metadata.ingress_interface: exact @name("interface"); }
        actions = { set_vrf; NoAction; }
        default_action = NoAction();
        size = 4096;
    }

    table acl_pre_ingress {
        key = {
            headers.ethernet.source: ternary @name("source_mac");
            headers.ipv4.source: ternary @name("source");
            metadata.dscp: ternary @name("dscp");
            standard.ingress_port: ternary @name("port");
        }
        actions = { set_vrf; NoAction; }
        default_action = NoAction();
        size = 256;
    }

    table my_stations {
        key = {
            headers.ethernet.destination: ternary @name("destination_mac");
            metadata.vlan: ternary @name("vlan");
            standard.ingress_port: ternary @name("port");
        }
        actions = { admit; NoAction; }
        default_action = NoAction();
        size = 128;
    }

    table dscp_classes {
        key = { metadata.dscp: exact @name("dscp"); }
        actions = { set_class; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    apply {
        ports.apply();
        vlans.apply();
        vlan_members.apply();
        spanning_tree.apply();
        interfaces.apply();
        interface_vrf.apply();
        if (headers.ipv4.isValid() || headers.ipv6.isValid()) {
            acl_pre_ingress.apply();
            dscp_classes.apply();
        }
        my_stations.apply();
    }
}

// Where packets go.
control Routing(inout headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets_and_bytes) route_hits;
    action_selector(HashAlgorithm.crc16, 1024, 16) members;

    action drop() {
        mark_to_drop(standard);
        exit;
    }

    action discard() {
        route_hits.count();
        mark_to_drop(standard);
        exit;
    }

    action to_next_hop(bit<16> next_hop) {
        metadata.is_routed = 1;
        metadata.next_hop = next_hop;
    }

    action route_to_next_hop(bit<16> next_hop) {
        route_hits.count();
        to_next_hop(next_hop);
    }

    action route_to_group(bit<16> group) {
        route_hits.count();
        metadata.is_routed = 1;
        metadata.wants_group = 1;
        metadata.group = group;
    }

    action to_port(bit<9> port) {
        standard.egress_spec = port;
    }

    // Tunnels that end here are taken apart by software.
    action terminate() {
        standard.egress_spec = CPU_PORT;
    }

    action set_next_hop(bit<16> interface, bit<16> neighbour) {
        metadata.egress_interface = interface;
        metadata.neighbour = neighbour;
    }

    action set_tunnel_next_hop(bit<16> interface, bit<16> neighbour, bit<16> tunnel) {
        metadata.egress_interface = interface;
        metadata.neighbour = neighbour;
        metadata.wants_encapsulation = 1;
        metadata.tunnel = tunnel;
    }

    action set_egress_interface(bit<9> port, mac_t source, bit<12> vlan, bit<16> mtu) {
        standard.egress_spec = port;
        metadata.rewritten_source = source;
        metadata.vlan = vlan;
        metadata.mtu = mtu;
    }

    action set_neighbour(mac_t destination) {
        metadata.rewritten_destination = destination;
    }

    table stations {
        key = {
            metadata.vlan: exact @name("vlan");
            headers.ethernet.destination: exact @name("destination_mac");
        }
        actions = { to_port; drop; }
        default_action = drop();
        size = 65536;
    }

    table virtual_routers {
        key = { metadata.vrf: exact @name("vrf"); }
        actions = { NoAction; drop; }
        default_action = drop();
        size = 1024;
    }

    table tunnel_ends {
        key = {
            headers.ipv4.destination: exact @name("destination");
            headers.ipv4.protocol: exact @name("protocol");
        }
        actions = { terminate; NoAction; }
        default_action = NoAction();
        size = 1024;
    }

    table ipv4_routes {
        key = {
            metadata.vrf: exact @name("vrf");
            headers.ipv4.destination: lpm @name("destination");
        }
        actions = { route_to_next_hop; route_to_group; discard; }
        default_action = discard();
        counters = route_hits;
        size = 131072;
    }

    table ipv6_routes {
        key = {
            metadata.vrf: exact @name("vrf");
            headers.ipv6.destination: lpm @name("destination");
        }
        actions = { to_next_hop; drop; }
        default_action = drop();
        size = 65536;
    }

    table groups {
        key = {
            metadata.group: exact @name("group");
            headers.ipv4.source: selector;
            headers.ipv4.destination: selector;
            metadata.protocol: selector;
            headers.ports.source: selector;
            headers.ports.destination: selector;
        }
        actions = { to_next_hop; NoAction; }
        implementation = members;
        size = 1024;
    }

    table next_hops {
        key = { metadata.next_hop: exact @name("next_hop"); }
        actions = { set_next_hop; set_tunnel_next_hop; drop; }
        default_action = drop();
        size = 16384;
    }

    table egress_interfaces {
        key = { metadata.egress_interface: exact @name("interface"); }
        actions = { set_egress_interface; drop; }
        default_action = drop();
        size = 4096;
    }

    table neighbours {
        key = {
            metadata.egress_interface: exact @name("interface");
            metadata.neighbour: exact @name("neighbour");
        }
        actions = { set_neighbour; drop; }
        default_action = drop();
        size = 16384;
    }

    apply {
        if (metadata.is_admitted == 1 && (headers.ipv4.isValid() || headers.ipv6.isValid())) {
            if (metadata.ttl <= 1 || standard.checksum_error == 1) {
                drop();
            }
            virtual_routers.apply();
            if (headers.ipv4.isValid()) {
                if (tunnel_ends.apply().hit) {
                    return;
                }
                ipv4_routes.apply();
            } else {
                ipv6_routes.apply();
            }
            if (metadata.wants_group == 1) {
                groups.apply();
            }
            next_hops.apply();
            egress_interfaces.apply();
            neighbours.apply();
        } else {
            stations.apply();
        }
    }
}

control SwitchIngress(inout headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets_and_bytes) ingress_rule_hits;

    action deny() {
        ingress_rule_hits.count();
        mark_to_drop(standard);
        exit;
    }

    action permit() {
        ingress_rule_hits.count();
    }

    action mirror(bit<16> session) {
        ingress_rule_hits.count();
        metadata.is_mirrored = 1;
        metadata.mirror_session = session;
    }

    action trap() {
        metadata.is_trapped = 1;
    }

    action set_class(bit<3> traffic_class) {
        metadata.traffic_class = traffic_class;
    }

    action set_queue(bit<5> queue) {
        metadata.queue = queue;
    }

    action mirror_to(bit<32> session) {
        clone(CloneType.I2E, session);
    }

    action drop() {
        mark_to_drop(standard);
        exit;
    }

    table acl_ingress {
        key = {
            headers.ipv4.source: ternary @name("source");
            headers.ipv4.destination: ternary @name("destination");
            metadata.protocol: ternary @name("protocol");
            headers.ports.source: ternary @name("source_port");
            headers.ports.destination: ternary @name("destination_port");
            metadata.interface_class: ternary @name("interface_class");
        }
        actions = { permit; deny; mirror; }
        default_action = permit();
        counters = ingress_rule_hits;
        size = 1024;
    }

    table acl_qos {
        key = {
            metadata.dscp: ternary @name("dscp");
            metadata.protocol: ternary @name("protocol");
            metadata.port_class: ternary @name("port_class");
        }
        actions = { set_class; NoAction; }
        default_action = NoAction();
        size = 256;
    }

    table traps {
        key = {
            headers.ethernet.ether_type: ternary @name("ether_type");
            metadata.protocol: ternary @name("protocol");
            headers.ports.destination: ternary @name("destination_port");
            metadata.ttl: ternary @name("ttl");
        }
        actions = { trap; NoAction; }
        default_action = NoAction();
        size = 256;
    }

    table queues {
        key = { metadata.traffic_class: exact @name("traffic_class"); }
        actions = { set_queue; NoAction; }
        default_action = NoAction();
        size = 8;
    }

    table mirror_sessions {
        key = { metadata.mirror_session: exact @name("session"); }
        actions = { mirror_to; NoAction; }
        default_action = NoAction();
        size = 256;
    }

    table egress_filter {
        key = {
            standard.ingress_port: exact @name("port");
            standard.egress_spec: exact @name("egress_port");
        }
        actions = { drop; NoAction; }
        default_action = NoAction();
        size = 4096;
    }

    apply {
        Admission.apply(headers, metadata, standard);
        acl_ingress.apply();
        acl_qos.apply();
        traps.apply();
        queues.apply();
        if (metadata.is_trapped == 1) {
            standard.egress_spec = CPU_PORT;
        } else {
            Routing.apply(headers, metadata, standard);
            egress_filter.apply();
        }
        if (metadata.is_mirrored == 1) {
            mirror_sessions.apply();
        }
    }
}

control SwitchEgress(inout headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    counter(512, CounterType.packets_and_bytes) sent;
    direct_counter(CounterType.packets) egress_rule_hits;

    action drop() {
        mark_to_drop(standard);
        exit;
    }

    action permit() {
        egress_rule_hits.count();
    }

    action deny() {
        egress_rule_hits.count();
        mark_to_drop(standard);
        exit;
    }

    action encapsulate(ipv4_address_t source, ipv4_address_t destination) {
        headers.tunnel.setValid();
        headers.gre.setValid();
        headers.tunnel.version = 4;
        headers.tunnel.header_words = 5;
        headers.tunnel.dscp = metadata.dscp;
        headers.tunnel.ecn = 0;
        headers.tunnel.total_bytes = headers.ipv4.total_bytes + 24;
        headers.tunnel.identification = 0;
        headers.tunnel.flags = 2;
        headers.tunnel.fragment_offset = 0;
        headers.tunnel.ttl = 64;
        headers.tunnel.protocol = PROTOCOL_GRE;
        headers.tunnel.checksum = 0;
        headers.tunnel.source = source;
        headers.tunnel.destination = destination;
        headers.gre.flags = 0;
        headers.gre.protocol = ETHER_TYPE_IPV4;
    }

    action set_dscp(bit<6> dscp) {
        metadata.dscp = dscp;
    }

    action tag(bit<3> priority) {
        headers.vlan.setValid();
        headers.vlan.priority = priority;
        headers.vlan.drop_eligible = 0;
        headers.vlan.id = metadata.vlan;
        headers.vlan.ether_type = headers.ethernet.ether_type == ETHER_TYPE_VLAN ?
            headers.vlan.ether_type : headers.ethernet.ether_type;
        headers.ethernet.ether_type = ETHER_TYPE_VLAN;
    }

    action untag() {
        headers.ethernet.ether_type = headers.vlan.isValid() ? headers.vlan.ether_type : headers.ethernet.ether_type;
        headers.vlan.setInvalid();
    }

    action set_egress_class(bit<10> port_class) {
        metadata.port_class = port_class;
    }

    table tunnels {
        key = { metadata.tunnel: exact @name("tunnel"); }
        actions = { encapsulate; drop; }
        default_action = drop();
        size = 1024;
    }

    table remarks {
        key = {
            metadata.traffic_class: exact @name("traffic_class");
            metadata.colour: exact @name("colour");
        }
        actions = { set_dscp; NoAction; }
        default_action = NoAction();
        size = 32;
    }

    table egress_ports {
        key = { standard.egress_port: exact @name("port"); }
        actions = { set_egress_class; NoAction; }
        default_action = NoAction();
        size = 512;
    }

    table vlan_tags {
        key = {
            standard.egress_port: exact @name("port");
            metadata.vlan: exact @name("vlan");
        }
        actions = { tag; untag; }
        default_action = untag();
        size = 16384;
    }

    table acl_egress {
        key = {
            headers.ipv4.source: ternary @name("source");
            headers.ipv4.destination: ternary @name("destination");
            metadata.protocol: ternary @name("protocol");
            headers.ports.destination: ternary @name("destination_port");
            metadata.port_class: ternary @name("port_class");
        }
        actions = { permit; deny; }
        default_action = permit();
        counters = egress_rule_hits;
        size = 512;
    }

    apply {
        // Copies for a collector leave as they came.
        if (standard.instance_type == 0) {
            egress_ports.apply();
            if (metadata.is_routed == 1) {
                if (standard.packet_length > 14 + (bit<32>) metadata.mtu) {
                    drop();
                }
                headers.ethernet.source = metadata.rewritten_source;
                headers.ethernet.destination = metadata.rewritten_destination;
                remarks.apply();
                if (headers.ipv4.isValid()) {
                    headers.ipv4.ttl = headers.ipv4.ttl - 1;
                    headers.ipv4.dscp = metadata.dscp;
                } else {
                    headers.ipv6.hop_limit = headers.ipv6.hop_limit - 1;
                    headers.ipv6.dscp = metadata.dscp;
                }
                if (metadata.wants_encapsulation == 1) {
                    tunnels.apply();
                }
            }
            acl_egress.apply();
            vlan_tags.apply();
        }
        sent.count((bit<32>) standard.egress_port);
    }
}

control SwitchUpdate(inout headers_t headers, inout metadata_t metadata) {
    apply {
        update_checksum(
            headers.ipv4.isValid(),
            {
                headers.ipv4.version,
                headers.ipv4.header_words,
                headers.ipv4.dscp,
                headers.ipv4.ecn,
                headers.ipv4.total_bytes,
                headers.ipv4.identification,
                headers.ipv4.flags,
                headers.ipv4.fragment_offset,
                headers.ipv4.ttl,
                headers.ipv4.protocol,
                headers.ipv4.source,
                headers.ipv4.destination
            },
            headers.ipv4.checksum,
            HashAlgorithm.csum16
        );
        update_checksum(
            headers.tunnel.isValid(),
            {
                headers.tunnel.version,
                headers.tunnel.header_words,
                headers.tunnel.dscp,
                headers.tunnel.ecn,
                headers.tunnel.total_bytes,
                headers.tunnel.identification,
                headers.tunnel.flags,
                headers.tunnel.fragment_offset,
                headers.tunnel.ttl,
                headers.tunnel.protocol,
                headers.tunnel.source,
                headers.tunnel.destination
            },
            headers.tunnel.checksum,
            HashAlgorithm.csum16
        );
    }
}

control SwitchDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.vlan);
        packet.emit(headers.tunnel);
        packet.emit(headers.gre);
        packet.emit(headers.ipv4);
        packet.emit(headers.ipv6);
        packet.emit(headers.ports);
    }
}

V1Switch(SwitchParser(), SwitchVerify(), SwitchIngress(), SwitchEgress(), SwitchUpdate(), SwitchDeparser()) main;
