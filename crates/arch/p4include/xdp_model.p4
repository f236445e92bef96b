// SPDX-License-Identifier: Apache-2.0
//
// A switch that runs as an eBPF program on the XDP hook of the Linux network
// stack: parser, control and deparser. The filter of ebpf_model.p4 may be used
// on that hook too.

#ifndef _XDP_MODEL_P4
#define _XDP_MODEL_P4

#include <core.p4>
#include <ebpf_model.p4>

/// What the kernel is to do with the packet.
enum xdp_action {
    XDP_ABORTED,  /// Drop it and raise a trace event: the program failed.
    XDP_DROP,     /// Drop it.
    XDP_PASS,     /// Hand it to the network stack.
    XDP_TX,       /// Send it back out of the interface it came from.
    XDP_REDIRECT  /// Send it out of interface `output_port`.
}

struct xdp_input {
    bit<32> input_port;  /// Interface of arrival.
}

struct xdp_output {
    xdp_action output_action;
    bit<32> output_port;  /// For XDP_REDIRECT.
}

/// Returns the header checksum of an IPv4 header without options.
extern bit<16> ebpf_ipv4_checksum(in bit<4> version, in bit<4> ihl, in bit<8> diffserv,
                                  in bit<16> totalLen, in bit<16> identification, in bit<3> flags,
                                  in bit<13> fragOffset, in bit<8> ttl, in bit<8> protocol,
                                  in bit<32> srcAddr, in bit<32> dstAddr);

// Both of the following return the Internet checksum that `csum` becomes where
// a field changes from `old` to `new` (RFC 1624).

extern bit<16> csum_replace2(in bit<16> csum,
                             in bit<16> old,
                             in bit<16> new);

extern bit<16> csum_replace4(in bit<16> csum,
                             in bit<32> old,
                             in bit<32> new);

/// The kernel helper bpf_perf_event_output, as a number.
extern bit<32> BPF_PERF_EVENT_OUTPUT();

/// Nanoseconds since boot, the low 32 bits.
extern bit<32> BPF_KTIME_GET_NS();

parser xdp_parse<H>(packet_in packet, out H headers);
control xdp_switch<H>(inout H headers, in xdp_input imd, out xdp_output omd);
control xdp_deparse<H>(in H headers, packet_out packet);

package xdp<H>(xdp_parse<H> p, xdp_switch<H> s, xdp_deparse<H> d);

#endif
