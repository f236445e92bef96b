// Headers for packets from and to a controller, with a hidden field and a translated type.

#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("example.org/port", 32)
type bit<9> Port;

@controller_header("packet_in")
header from_switch_t {
    @hidden
    bit<3> version;
    Port port;
    bit<4> reason;
}

@controller_header("packet_out")
header to_switch_t {
    Port port;
    @padding
    bit<7> fill;
}

struct headers_t {
    from_switch_t from_switch;
    to_switch_t to_switch;
}

struct metadata_t {}

parser Read(packet_in packet, out headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.to_switch);
        transition accept;
    }
}

control Check(inout headers_t headers, inout metadata_t metadata) {
    apply {}
}

control Process(inout headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = (bit<9>)headers.to_switch.port;
    }
}

control Leave(inout headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    apply {}
}

control Sums(inout headers_t headers, inout metadata_t metadata) {
    apply {}
}

control Write(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers);
    }
}

V1Switch(Read(), Check(), Process(), Leave(), Sums(), Write()) main;
