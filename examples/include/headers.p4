// Headers and types that the examples share.

#ifndef EXAMPLES_HEADERS_P4
#define EXAMPLES_HEADERS_P4

typedef bit<48> MacAddress;
typedef bit<32> Ipv4Address;

header Ethernet {
    MacAddress destination;
    MacAddress source;
    bit<16> ether_type;
}

header Ipv4 {
    bit<4> version;
    bit<4> header_words;
    bit<6> dscp;
    bit<2> ecn;
    bit<16> total_bytes;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    Ipv4Address source;
    Ipv4Address destination;
}

// The part that TCP and UDP have in common.
header Ports {
    bit<16> source;
    bit<16> destination;
}

#endif
