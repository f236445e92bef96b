// Two pipelines, each with a parser, a control and a deparser: the first byte of a packet is a port, the second another one.

#include <core.p4>

struct in_t {
    bit<16> port;
    bit<16> length;
    bit<16> eport;
    bit<16> path;
    bit<16> dir;
}

struct out_t {
    bit<16> port;
    bit<16> port2;
    bit<8> class;
    bool flag;
}

header ports_t {
    bit<8> first;
    bit<8> second;
}

struct headers_t {
    ports_t ports;
}

parser P<H>(packet_in packet, out H headers);
control C<H>(inout H headers, inout out_t output, out bool accepted);
control D<H>(packet_out packet, in H headers);
parser P2<H>(packet_in packet, out H headers);
control C2<H>(inout H headers, in in_t input);
control D2<H>(packet_out packet, in H headers);
package Pipelines<H, G>(P<H> p, C<H> c, D<H> d, P2<G> p2, C2<G> c2, D2<G> d2);

parser Read(packet_in packet, out headers_t headers) {
    state start {
        packet.extract(headers.ports);
        transition accept;
    }
}

control Choose(inout headers_t headers, inout out_t output, out bool accepted) {
    apply {
        accepted = true;
        output.port = (bit<16>)headers.ports.first;
        output.port2 = (bit<16>)headers.ports.second;
        output.flag = headers.ports.second == 9;
    }
}

control Write(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ports);
    }
}

parser ReadAgain(packet_in packet, out headers_t headers) {
    state start {
        packet.extract(headers.ports);
        transition accept;
    }
}

control Tell(inout headers_t headers, in in_t input) {
    apply {
        headers.ports.second = (bit<8>)input.port + 1;
    }
}

control WriteAgain(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ports);
    }
}

Pipelines(Read(), Choose(), Write(), ReadAgain(), Tell(), WriteAgain()) main;
