// Externs of PNA beside tables with the properties of PNA; digests in the deparser.

#include <core.p4>
#include <bmv2/pna.p4>

header Request {
    bit<8> what;
    bit<8> index;
    bit<16> first;
    bit<64> result;
}

struct Headers {
    Request request;
}

struct Nothing {}

struct Seen {
    bit<8> index;
    bit<16> first;
}

parser ReadRequest(
    packet_in packet,
    out Headers headers,
    inout Nothing meta,
    in pna_main_parser_input_metadata_t istd
) {
    state start {
        packet.extract(headers.request);
        transition accept;
    }
}

control Work(
    inout Headers headers,
    inout Nothing meta,
    in pna_main_input_metadata_t istd,
    inout pna_main_output_metadata_t ostd
) {
    DirectCounter<bit<32>>(PNA_CounterType_t.PACKETS_AND_BYTES) hits;
    DirectMeter(PNA_MeterType_t.PACKETS) rate;
    ActionSelector(PNA_HashAlgorithm_t.CRC16, 16, 16) paths;
    Register<bit<16>, bit<8>>(4, 0x1234) cells;
    Random<bit<8>>(7, 7) seven;
    InternetChecksum() sum;
    Counter<bit<32>, bit<8>>(4, PNA_CounterType_t.PACKETS) few;
    action counted() {
        hits.count();
        PNA_MeterColor_t colour = rate.execute();
        headers.request.result = colour == PNA_MeterColor_t.GREEN ? 64w1 : 2;
    }
    action take(bit<64> result) {
        headers.request.result = result;
    }
    table direct {
        key = {
            headers.request.index: exact;
        }
        actions = {
            counted;
            NoAction;
        }
        pna_direct_counter = hits;
        pna_direct_meter = rate;
    }
    table spread {
        key = {
            headers.request.index: exact;
            headers.request.first: selector;
        }
        actions = {
            take;
            NoAction;
        }
        pna_implementation = paths;
        pna_empty_group_action = take(0xe);
    }
    apply {
        send_to_port((PortId_t)32w9);
        if (headers.request.what == 0) {
            direct.apply();
        } else if (headers.request.what == 1) {
            spread.apply();
        } else if (headers.request.what == 2) {
            headers.request.result = 48w0 ++ cells.read(headers.request.index);
            cells.write(headers.request.index, headers.request.first);
        } else if (headers.request.what == 3) {
            headers.request.result = 56w0 ++ seven.read();
        } else if (headers.request.what == 4) {
            sum.add({ headers.request.first, 16w1 });
            headers.request.result = 48w0 ++ sum.get();
        } else {
            few.count(headers.request.index);
        }
    }
}

control WriteRequest(
    packet_out packet,
    inout Headers headers,
    in Nothing meta,
    in pna_main_output_metadata_t ostd
) {
    Digest<Seen>() seen;
    apply {
        if (headers.request.what == 5) {
            seen.pack({ headers.request.index, headers.request.first });
        }
        packet.emit(headers.request);
    }
}

PNA_NIC(ReadRequest(), Work(), WriteRequest()) main;
