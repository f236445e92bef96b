// PNA as DPDK has it: lengths from the program, and the length of the packet's path.

#include <core.p4>
#include <dpdk/pna.p4>

header Probe {
    bit<8> what;
    bit<8> index;
    bit<16> length;
    bit<8> answer;
}

struct Headers {
    Probe probe;
}

struct Metadata {
    bit<8> seen;
}

parser ReadProbe(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    in pna_main_parser_input_metadata_t istd
) {
    state start {
        packet.extract(headers.probe);
        transition accept;
    }
}

// Its headers are those of the parser; its metadata is its own.
control Before(
    in Headers headers,
    inout Metadata meta,
    in pna_pre_input_metadata_t istd,
    inout pna_pre_output_metadata_t ostd
) {
    apply {
        meta.seen = headers.probe.what;
        ostd.decrypt = headers.probe.what == 9;
    }
}

control Work(
    inout Headers headers,
    inout Metadata meta,
    in pna_main_input_metadata_t istd,
    inout pna_main_output_metadata_t ostd
) {
    Counter<bit<64>, bit<8>>(4, PNA_CounterType_t.BYTES) octets;
    Meter<bit<8>>(4, PNA_MeterType_t.BYTES) rates;
    Hash<bit<32>>(PNA_HashAlgorithm_t.TOEPLITZ) scaling;

    apply {
        send_to_port((PortId_t)32w9);
        if (headers.probe.what == 0) {
            octets.count(headers.probe.index, (bit<32>)headers.probe.length);
        } else if (headers.probe.what == 1) {
            PNA_MeterColor_t colour = rates.dpdk_execute(
                headers.probe.index,
                (bit<32>)headers.probe.length
            );
            headers.probe.answer =
                colour == PNA_MeterColor_t.RED ? 8w3 : colour == PNA_MeterColor_t.YELLOW ? 8w2 : 1;
        } else if (headers.probe.what == 2) {
            headers.probe.answer = meta.seen;
        } else if (headers.probe.what == 4) {
            // 66.9.149.187:2794 to 161.142.100.80:1766 gives 0x51ccc178.
            bit<32> hash = scaling.get_hash({ 32w0x420995bb, 32w0xa18e6450, 16w2794, 16w1766 });
            headers.probe.length = hash[31:16];
            headers.probe.answer = hash[7:0];
        } else if (headers.probe.what == 3) {
            headers.probe.answer = (bit<8>)(bit<3>)istd.pass;
            if (istd.pass != (PassNumber_t)3w2) {
                drop_packet();
                recirculate();
            }
        }
    }
}

control WriteProbe(
    packet_out packet,
    in Headers headers,
    in Metadata meta,
    in pna_main_output_metadata_t ostd
) {
    apply {
        packet.emit(headers.probe);
    }
}

PNA_NIC(ReadProbe(), Before(), Work(), WriteProbe()) main;
