// Types that the controller sees with another width than the program: in keys, action data, digests, registers.

#include "../include/psa.p4"

header Request {
    bit<8> what;
    bit<8> index;
    bit<16> first;
    bit<16> second;
    bit<64> result;
}

struct Headers {
    Request request;
}

@p4runtime_translation("example.org/zone", 32)
type bit<8> Zone;

struct Seen {
    Zone zone;
    PortId_t port;
}

parser ReadRequest(
    packet_in packet,
    out Headers headers,
    inout Nothing meta,
    in psa_ingress_parser_input_metadata_t istd,
    in Nothing resubmitted,
    in Nothing recirculated
) {
    state start {
        packet.extract(headers.request);
        transition accept;
    }
}

control Work(
    inout Headers headers,
    inout Nothing meta,
    in psa_ingress_input_metadata_t istd,
    inout psa_ingress_output_metadata_t ostd
) {
    Register<Zone, Zone>(8, (Zone)3) zones;
    action set_zone(Zone zone, PortId_t port) {
        headers.request.result = 24w0 ++ (bit<8>)zone ++ (PortIdUint_t)port;
        send_to_port(ostd, port);
    }
    table by_zone {
        key = {
            (Zone)headers.request.index: exact @name("zone");
            istd.ingress_port: ternary @name("port");
        }
        actions = {
            set_zone;
            NoAction;
        }
    }
    apply {
        if (headers.request.what == 0) {
            by_zone.apply();
        } else if (headers.request.what == 2) {
            PortIdInHeader_t outside = (PortIdInHeader_t)(PortIdInHeaderUint_t)(
                16w0xffff ++ headers.request.first
            );
            headers.request.result = 32w0 ++ (PortIdUint_t)psa_PortId_header_to_int(outside);
            send_to_port(ostd, (PortId_t)2);
        } else {
            Zone zone = zones.read((Zone)headers.request.index);
            zones.write((Zone)headers.request.index, (Zone)headers.request.first[7:0]);
            headers.request.result = 56w0 ++ (bit<8>)zone;
            send_to_port(ostd, (PortId_t)2);
        }
    }
}

control WriteRequest(
    packet_out packet,
    out Nothing cloned,
    out Nothing resubmitted,
    out Nothing normal,
    inout Headers headers,
    in Nothing meta,
    in psa_ingress_output_metadata_t istd
) {
    Digest<Seen>() seen;
    apply {
        if (headers.request.what == 1) {
            seen.pack({ (Zone)headers.request.index, PSA_PORT_CPU });
        }
        packet.emit(headers.request);
    }
}

IngressPipeline(ReadRequest(), Work(), WriteRequest()) ingress;
EgressPipeline(NoEgressParser(), NoEgress(), NoEgressDeparser()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
