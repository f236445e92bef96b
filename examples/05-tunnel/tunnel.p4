// A gateway to another one over a network that nobody trusts: packets between the networks behind the two are encrypted
// and travel in IPv4, as in IPsec's tunnel mode. Both ends of a tunnel run this program.
//
// On the way a packet is Ethernet, IPv4, ESP (RFC 4303) and what AES-GCM has made of the inner packet, with its tag. The
// nonce is the association's salt and the sequence number (RFC 8750), so it is not sent. One thing is not IPsec's: behind
// the inner packet ESP has a trailer, and P4 cannot write there.
//
// Encryption takes thousands of cycles, so it is done in asynchronous blocks: another core encrypts and decrypts, this one
// goes on with other packets. docs/how-to/tunnel.md shows how to try it.

#include <core.p4>
#include <v1model.p4>
#include <siding_externs.p4>
#include "../include/headers.p4"

const bit<16> ETHER_TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_ESP = 50;

/// `instance_type` of a packet that was in the tunnel, and starts over without it.
const bit<32> RESUBMITTED = 6;

const bit<16> ETHERNET_BYTES = 14;
const bit<16> ESP_BYTES = 8;
/// IPv4, ESP and the tag: what a packet grows by.
const bit<16> TUNNEL_BYTES = 44;

/// Security associations: one for each direction of each tunnel.
const bit<32> N_ASSOCIATIONS = 256;

/// A packet may be so many behind the newest: as many as wait for their decryption, and more.
const int WINDOW_BITS = 12;

const bit<32> SEQUENCE_LAST = 0xffffffff;

typedef bit<8> Association;
typedef bit<128> Key;
typedef bit<32> Salt;

header Esp {
    bit<32> spi;
    bit<32> sequence;
}

struct Headers {
    Ethernet ethernet;
    Ipv4 ipv4;
    Esp esp;
    /// Of a packet that has just been encrypted: `ipv4` is what is in front of it.
    Esp sealed;
}

struct Metadata {
    Association association;
    Key key;
    Salt salt;
    bit<16> next_hop;
    /// Of what is in the tunnel.
    bit<16> inner_bytes;
    /// For packets that are to be encrypted.
    bool is_protected;
    bool is_done;
    Ipv4Address tunnel_source;
    Ipv4Address tunnel_destination;
    bit<16> tunnel_mtu;
    /// For packets that were.
    Ipv4Address inner_prefix;
    Ipv4Address inner_mask;
}

error {
    BadIpv4Header
}

parser TunnelParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        // Only packets whose tag was right start over.
        transition select(standard.instance_type) {
            RESUBMITTED: opened;
            default: arrived;
        }
    }

    state arrived {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            ETHER_TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        verify(headers.ipv4.version == 4 && headers.ipv4.header_words == 5, error.BadIpv4Header);
        // Fragments are not put together here: their tags would be wrong.
        transition select(
            headers.ipv4.fragment_offset,
            headers.ipv4.flags[0:0],
            headers.ipv4.protocol
        ) {
            (0, 0, PROTOCOL_ESP): esp;
            default: accept;
        }
    }

    state esp {
        packet.extract(headers.esp);
        transition accept;
    }

    state opened {
        packet.extract(headers.esp);
        packet.extract(headers.ipv4);
        verify(headers.ipv4.version == 4 && headers.ipv4.header_words == 5, error.BadIpv4Header);
        transition accept;
    }
}

/// What is encrypted is payload from then on.
parser SealedParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.sealed);
        transition accept;
    }
}

/// The packet as it is encrypted: all of it but the first header.
control ToBeSealed(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.sealed);
        packet.emit(headers.ipv4);
        packet.emit(headers.esp);
    }
}

/// The packet as it is decrypted.
control ToBeOpened(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.esp);
    }
}

control VerifyIpv4(inout Headers headers, inout Metadata meta) {
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

control Gateway(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    counter(N_ASSOCIATIONS, CounterType.packets_and_bytes) sealed_packets;
    counter(N_ASSOCIATIONS, CounterType.packets_and_bytes) opened_packets;
    // Why packets of an association were dropped.
    counter(N_ASSOCIATIONS, CounterType.packets) dropped_too_long;
    counter(N_ASSOCIATIONS, CounterType.packets) dropped_exhausted;
    counter(N_ASSOCIATIONS, CounterType.packets) dropped_no_room;
    counter(N_ASSOCIATIONS, CounterType.packets) dropped_not_authentic;
    counter(N_ASSOCIATIONS, CounterType.packets) dropped_late;
    counter(N_ASSOCIATIONS, CounterType.packets) dropped_not_from_there;
    // By port: what should have come through a tunnel.
    counter(512, CounterType.packets) dropped_not_protected;

    /// The number that was sent last.
    register<bit<32>>(N_ASSOCIATIONS) sequence_sent;
    /// By the low bits of a sequence number: the newest with these bits that has come.
    register<bit<32>>(N_ASSOCIATIONS << WINDOW_BITS) sequences_seen;

    action drop() {
        mark_to_drop(standard);
    }

    // -- packets that come from a tunnel ------------------------------------------------------------

    action open(Association association, Key key, Salt salt, Ipv4Address prefix, Ipv4Address mask) {
        meta.association = association;
        meta.key = key;
        meta.salt = salt;
        meta.inner_prefix = prefix;
        meta.inner_mask = mask;
    }

    table associations_in {
        key = {
            headers.esp.spi: exact;
        }
        actions = {
            open;
            NoAction;
        }
        const default_action = NoAction();
        size = 256;
    }

    action outside() {}

    /// Ports to the network that nobody trusts.
    table outside_ports {
        key = {
            standard.ingress_port: exact;
        }
        actions = {
            outside;
            NoAction;
        }
        const default_action = NoAction();
        size = 512;
    }

    // -- where packets go ---------------------------------------------------------------------------

    action set_next_hop(bit<16> next_hop) {
        meta.next_hop = next_hop;
    }

    action protect(bit<16> next_hop, Association association) {
        meta.next_hop = next_hop;
        meta.association = association;
        meta.is_protected = true;
    }

    table routes {
        key = {
            headers.ipv4.destination: lpm;
        }
        actions = {
            set_next_hop;
            protect;
            drop;
        }
        const default_action = drop();
        size = 65536;
    }

    action seal(
        bit<32> spi,
        Key key,
        Salt salt,
        Ipv4Address source,
        Ipv4Address destination,
        bit<16> mtu
    ) {
        meta.key = key;
        meta.salt = salt;
        meta.tunnel_source = source;
        meta.tunnel_destination = destination;
        meta.tunnel_mtu = mtu;
        headers.sealed.setValid();
        headers.sealed.spi = spi;
    }

    table associations_out {
        key = {
            meta.association: exact;
        }
        actions = {
            seal;
            drop;
        }
        const default_action = drop();
        size = 256;
    }

    action forward(bit<9> port, MacAddress source, MacAddress destination) {
        standard.egress_spec = port;
        headers.ethernet.setValid();
        headers.ethernet.source = source;
        headers.ethernet.destination = destination;
        headers.ethernet.ether_type = ETHER_TYPE_IPV4;
    }

    table next_hops {
        key = {
            meta.next_hop: exact;
        }
        actions = {
            forward;
            drop;
        }
        const default_action = drop();
        size = 4096;
    }

    apply {
        if (
            standard.parser_error != error.NoError
            || standard.checksum_error == 1
            || !headers.ipv4.isValid()
        ) {
            drop();
            exit;
        }
        bool is_opened = standard.instance_type == RESUBMITTED;
        meta.inner_bytes =
            (bit<16>)standard.packet_length - (is_opened ? ESP_BYTES : ETHERNET_BYTES);
        if (headers.esp.isValid() && associations_in.apply().hit) {
            bit<32> association = (bit<32>)meta.association;
            if (!is_opened) {
                @async(deparser = "ToBeOpened", recirculate = true, offload_worker = "crypto") {
                    bit<96> nonce = meta.salt ++ 32w0 ++ headers.esp.sequence;
                    if (!aes_gcm_decrypt(ESP_BYTES, meta.key, nonce)) {
                        dropped_not_authentic.count((bit<32>)meta.association);
                        drop();
                    }
                }
            }
            // Each sequence number is good for one packet.
            bit<32> newest;
            bit<32> place = (bit<32>)(meta.association ++ headers.esp.sequence[WINDOW_BITS - 1:0]);
            sequences_seen.read(newest, place);
            if (headers.esp.sequence <= newest) {
                dropped_late.count(association);
                drop();
                exit;
            }
            sequences_seen.write(place, headers.esp.sequence);
            if (headers.ipv4.source & meta.inner_mask != meta.inner_prefix) {
                dropped_not_from_there.count(association);
                drop();
                exit;
            }
            opened_packets.count(association);
            headers.esp.setInvalid();
        } else if (is_opened) {
            // The association has gone meanwhile.
            drop();
            exit;
        } else if (outside_ports.apply().hit) {
            dropped_not_protected.count((bit<32>)standard.ingress_port);
            drop();
            exit;
        }
        if (headers.ipv4.ttl <= 1 || !routes.apply().hit) {
            drop();
            exit;
        }
        // One hop less to live (RFC 1141).
        headers.ipv4.ttl = headers.ipv4.ttl - 1;
        bit<17> sum = (bit<17>)headers.ipv4.checksum + 0x100;
        headers.ipv4.checksum = sum[15:0] + (bit<16>)sum[16:16];
        if (meta.is_protected) {
            if (!associations_out.apply().hit) {
                exit;
            }
            bit<32> association = (bit<32>)meta.association;
            if (meta.inner_bytes + TUNNEL_BYTES > meta.tunnel_mtu) {
                dropped_too_long.count(association);
                drop();
                exit;
            }
            bit<32> sequence;
            sequence_sent.read(sequence, association);
            if (sequence == SEQUENCE_LAST) {
                // Another key is needed: no nonce may be used twice.
                dropped_exhausted.count(association);
                drop();
                exit;
            }
            sequence = sequence + 1;
            sequence_sent.write(association, sequence);
            headers.sealed.sequence = sequence;
            @async(deparser = "ToBeSealed", parser = "SealedParser", offload_worker = "crypto") {
                bit<96> nonce = meta.salt ++ 32w0 ++ headers.sealed.sequence;
                meta.is_done = aes_gcm_encrypt(ESP_BYTES, meta.key, nonce);
            }
            if (!meta.is_done) {
                dropped_no_room.count((bit<32>)meta.association);
                drop();
                exit;
            }
            sealed_packets.count((bit<32>)meta.association);
            // Nobody may cut it into fragments: they could not be decrypted.
            headers.ipv4 = {
                4,
                5,
                0,
                0,
                meta.inner_bytes + TUNNEL_BYTES,
                headers.sealed.sequence[15:0],
                2,
                0,
                64,
                PROTOCOL_ESP,
                0,
                meta.tunnel_source,
                meta.tunnel_destination
            };
        }
        next_hops.apply();
    }
}

control Sender(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {}
}

control UpdateIpv4(inout Headers headers, inout Metadata meta) {
    apply {
        update_checksum(
            headers.sealed.isValid(),
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

control TunnelDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
        packet.emit(headers.sealed);
        packet.emit(headers.esp);
    }
}

V1Switch(TunnelParser(), VerifyIpv4(), Gateway(), Sender(), UpdateIpv4(), TunnelDeparser()) main;
