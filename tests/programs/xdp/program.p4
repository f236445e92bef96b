// A program for the express data path of Linux: every verdict there is.
#include <xdp_model.p4>

header Frame {
    bit<8> verdict;
    bit<8> port;
    bit<16> checksum;
    bit<16> value;
}

struct Headers {
    Frame frame;
}

parser FrameParser(packet_in packet, out Headers headers) {
    state start {
        packet.extract(headers.frame);
        transition accept;
    }
}

control Decide(inout Headers headers, in xdp_input input, out xdp_output output) {
    action rewrite(bit<16> value) {
        headers.frame.checksum = csum_replace2(headers.frame.checksum, headers.frame.value, value);
        headers.frame.value = value;
    }

    table values {
        key = {
            headers.frame.value: exact @name("value");
        }
        actions = {
            rewrite;
            NoAction;
        }
        implementation = hash_table(16);
    }

    apply {
        output.output_port = 0;
        values.apply();
        switch (headers.frame.verdict) {
            0: {
                output.output_action = xdp_action.XDP_ABORTED;
            }
            1: {
                output.output_action = xdp_action.XDP_DROP;
            }
            2: {
                output.output_action = xdp_action.XDP_PASS;
            }
            3: {
                output.output_action = xdp_action.XDP_TX;
            }
            default: {
                output.output_action = xdp_action.XDP_REDIRECT;
                output.output_port = (bit<32>)headers.frame.port;
            }
        }
        headers.frame.port = (bit<8>)input.input_port;
    }
}

control FrameDeparser(in Headers headers, packet_out packet) {
    apply {
        packet.emit(headers.frame);
    }
}

xdp(FrameParser(), Decide(), FrameDeparser()) main;
