// A box with ports that reads packets, decides where they go, and writes them: an architecture of one's own, which
// wire.toml describes.

#include <core.p4>

// What an architecture declares: metadata, externs, types of blocks and the package.

struct wire_in_t {
    bit<8> port; // The port of arrival.
    bit<16> length; // Bytes of the packet.
}

struct wire_out_t {
    bit<8> port; // The port to send to.
}

/// `size` counters of packets.
extern Tally {
    Tally(bit<32> size);
    void add(in bit<32> index);
}

parser Read<H>(packet_in packet, out H headers);
control Decide<H>(
    inout H headers,
    in wire_in_t arrival,
    inout wire_out_t departure,
    out bool accepted
);
control Write<H>(packet_out packet, in H headers);
package Wire<H>(Read<H> read, Decide<H> decide, Write<H> write);

// A program for it: forwards by the destination address, and counts by port of arrival.

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

struct headers_t {
    ethernet_t ethernet;
}

parser ReadEthernet(packet_in packet, out headers_t headers) {
    state start {
        packet.extract(headers.ethernet);
        transition accept;
    }
}

control Forward(
    inout headers_t headers,
    in wire_in_t arrival,
    inout wire_out_t departure,
    out bool accepted
) {
    Tally(256) received;

    action forward(bit<8> port) {
        departure.port = port;
        accepted = true;
    }

    table stations {
        key = {
            headers.ethernet.dst: exact;
        }
        actions = {
            forward;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = 1024;
    }

    apply {
        accepted = false;
        received.add((bit<32>)arrival.port);
        if (arrival.length > 15) {
            stations.apply();
        }
    }
}

control WriteEthernet(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
    }
}

Wire(ReadEthernet(), Forward(), WriteEthernet()) main;
