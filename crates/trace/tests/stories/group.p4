// A packet for a multicast group that nobody has made. The second one is too short for its header: the group is missing
// all the same.
//> packet 1 020000000002 020000000001 0800
//> packet 1 0200
#include <psa.p4>

header ethernet_t {
    bit<48> to;
    bit<48> from;
    bit<16> kind;
}

struct headers_t {
    ethernet_t ethernet;
}

struct empty_t {}

parser Parse(packet_in packet, out headers_t headers, inout empty_t meta, in psa_ingress_parser_input_metadata_t istd,
             in empty_t resubmitted, in empty_t recirculated) {
    state start {
        packet.extract(headers.ethernet);
        transition accept;
    }
}

control Forward(inout headers_t headers, inout empty_t meta, in psa_ingress_input_metadata_t istd,
                inout psa_ingress_output_metadata_t ostd) {
    apply {
        multicast(ostd, (MulticastGroup_t)7);
    }
}

control Deparse(packet_out packet, out empty_t cloned, out empty_t resubmitted, out empty_t carried,
                inout headers_t headers, in empty_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        packet.emit(headers.ethernet);
    }
}

parser EgressParse(packet_in packet, out headers_t headers, inout empty_t meta,
                   in psa_egress_parser_input_metadata_t istd, in empty_t carried, in empty_t cloned,
                   in empty_t cloned_again) {
    state start {
        transition accept;
    }
}

control Leave(inout headers_t headers, inout empty_t meta, in psa_egress_input_metadata_t istd,
              inout psa_egress_output_metadata_t ostd) {
    apply {}
}

control EgressDeparse(packet_out packet, out empty_t cloned, out empty_t recirculated, inout headers_t headers,
                      in empty_t meta, in psa_egress_output_metadata_t istd,
                      in psa_egress_deparser_input_metadata_t edstd) {
    apply {}
}

IngressPipeline(Parse(), Forward(), Deparse()) ingress;
EgressPipeline(EgressParse(), Leave(), EgressDeparse()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
