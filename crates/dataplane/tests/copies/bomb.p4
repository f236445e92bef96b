// Each packet becomes four in each round, as many rounds as its first byte says.
#include <core.p4>
#include <v1model.p4>

const bit<32> SESSION = 1;

header Rounds {
    bit<8> n_left;
}

struct Headers {
    Rounds rounds;
}

struct Metadata {}

parser BombParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.rounds);
        transition accept;
    }
}

control BombVerify(inout Headers headers, inout Metadata meta) {
    apply {}
}

control BombIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    apply {
        standard.egress_spec = 1;
        if (headers.rounds.n_left > 0) {
            clone(CloneType.I2E, SESSION);
        }
    }
}

control BombEgress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    apply {
        if (headers.rounds.n_left > 0) {
            // Clones of egress make no clones of their own in this round.
            if (standard.instance_type != 2) {
                clone(CloneType.E2E, SESSION);
            }
            headers.rounds.n_left = headers.rounds.n_left - 1;
            recirculate_preserving_field_list(0);
        }
    }
}

control BombCompute(inout Headers headers, inout Metadata meta) {
    apply {}
}

control BombDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

V1Switch(
    BombParser(),
    BombVerify(),
    BombIngress(),
    BombEgress(),
    BombCompute(),
    BombDeparser()
) main;
