// A `select` with more cases than compilers like as a chain of comparisons: values, masks and ranges of two keys, one signed.
#define NO_EGRESS
#define OWN_HEADERS
#include "../include/probe.p4"

header Keys {
    bit<16> a;
    int<8> b;
    bit<8> state;
}

struct Headers {
    Keys keys;
}

struct Metadata {}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.keys);
        transition select(headers.keys.a, headers.keys.b) {
            (46993 .. 47535, -121 .. -107): two;
            (20558 .. 20673, 62): skip;
            (_, 11 .. 14): accept;
            (0x6ef7, 80): three;
            (0x51b7, _): two;
            (16606 .. 16741, _): one;
            (0x54eb, 95 .. 100): three;
            (0x68d8 &&& 0x00ff, -82 .. -76): skip;
            (0xd46e &&& 0xf0f0, -44): two;
            (0x9a4b &&& 0xf0f0, -127): accept;
            (8653 .. 8970, -38 .. -29): skip;
            (24218 .. 24710, -8 .. -3): one;
            (0xb71d &&& 0x00ff, 78): one;
            (47996 .. 48381, _): skip;
            (0x649e, -98 .. -91): skip;
            (0x8075 &&& 0x00ff, 70 .. 84): one;
            (38779 .. 38816, -18 .. -16): two;
            (0xae0f &&& 0xff00, -58 .. -41): one;
            (0x5ade &&& 0xf0f0, 76 .. 78): reject;
            (0xf7b3, -87 .. -86): one;
            (4171 .. 4414, _): three;
            (0x1c85 &&& 0xff00, _): skip;
            (0x43fb &&& 0xff00, 33 .. 46): one;
            (0xbef9, _): one;
            (0x56ad &&& 0xf0f0, 5 .. 19): skip;
            (62789 .. 63069, -54 .. -39): skip;
            (0xc106, -37): reject;
            (0x2da3 &&& 0xff00, -3 .. 5): accept;
            (_, 73 .. 84): reject;
            (40068 .. 40440, 15): skip;
            (0x5b77 &&& 0xf0f0, 20 .. 20): skip;
            (42717 .. 42997, -10 .. -1): accept;
            (45597 .. 45877, 36 .. 47): reject;
            (0xe64a &&& 0x00ff, -35 .. -25): accept;
            (0x65b5, 86 .. 97): skip;
            (0xd550 &&& 0x00ff, -41): accept;
            (0x0e24 &&& 0x00ff, -78 .. -73): accept;
            (0x5c6e &&& 0xff00, 33 .. 34): skip;
            (0x1bb8, 100 .. 104): one;
            (0x6300 &&& 0xf0f0, 12 .. 13): skip;
            (0x24da &&& 0xf0f0, 23 .. 29): two;
            (86 .. 444, -25 .. -17): skip;
            (_, -110): accept;
            (12428 .. 12730, 11 .. 27): three;
            (46087 .. 46219, -21 .. -8): accept;
            (61272 .. 61417, -88 .. -69): skip;
            (26103 .. 26239, _): three;
            (_, -73): three;
            (42656 .. 43233, -32 .. -19): skip;
            (0x953e, _): reject;
            (0x8507 &&& 0xff00, _): skip;
            (0xa367 &&& 0xff00, _): skip;
            (0x0c2c &&& 0xf0f0, -97 .. -78): skip;
            (0x1477, 72 .. 76): skip;
            (0x8c2d, _): skip;
            (_, 122): three;
            (_, -53 .. -38): accept;
            (0x4087 &&& 0xff00, 25): three;
            (38905 .. 39447, -122 .. -108): three;
            (0x0173 &&& 0xff00, -64 .. -47): skip;
            (25058 .. 25072, 91): skip;
            (50524 .. 51011, _): reject;
            (_, -9 .. -7): three;
            (_, 18): reject;
            (0xf4f2 &&& 0xff00, 49 .. 66): skip;
            (0x18dc &&& 0xf0f0, -111 .. -104): three;
            (_, -115): three;
            (9005 .. 9419, _): one;
            (0x703f, -72): reject;
            (0xe03d, -90 .. -85): accept;
            (0x5286, _): accept;
            (0x3767, 66): reject;
            (0x1d78, 18 .. 36): one;
            (17607 .. 17617, _): one;
            (0xb4f1 &&& 0xf0f0, _): one;
            (0x4d5e, 17 .. 33): three;
            (34504 .. 34568, 13 .. 20): three;
            (_, 78 .. 85): three;
            (0x432a &&& 0xff00, _): reject;
            (0x1267 &&& 0x00ff, -82): one;
            (31271 .. 31670, _): skip;
            (0x0f15 &&& 0x00ff, 68): one;
            (_, 46 .. 53): reject;
            (0xfb9e, -20): two;
            (46438 .. 46678, _): three;
            (50560 .. 50947, -94 .. -83): reject;
            (0x129c &&& 0xf0f0, _): reject;
            (0x2066, _): one;
            (0x67a1, -78 .. -77): skip;
            (0xda9e &&& 0xff00, -8 .. 1): accept;
            (0xec7d &&& 0xf0f0, -103 .. -97): two;
            (9331 .. 9714, 94 .. 106): skip;
            (0x3870, -57 .. -52): three;
            (4345 .. 4838, 101 .. 102): three;
            (_, 112 .. 113): reject;
            (0xf186, _): one;
        }
    }

    state one {
        headers.keys.state = 1;
        transition accept;
    }

    state two {
        headers.keys.state = 2;
        transition accept;
    }

    state three {
        headers.keys.state = 3;
        transition accept;
    }

    state skip {
        headers.keys.state = 4;
        packet.advance(8);
        transition accept;
    }
}

control ProbeDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    apply {
        standard.egress_spec = 1;
        if (standard.parser_error == error.NoMatch) {
            headers.keys.state = 9;
        }
    }
}

#include "../include/switch.p4"
