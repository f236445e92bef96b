// SPDX-License-Identifier: Apache-2.0
//
// A packet pipeline that runs in a user-space BPF virtual machine, such as that
// of the Open vSwitch fork of Orange: parser, control and deparser. Packets pass
// unless the program says otherwise.
//
// A program chooses the version of this file by defining UBPF_MODEL_VERSION
// before including it: from 20200515 on, the default, parser and control see
// `standard_metadata`; before, they do not.

#ifndef _UBPF_MODEL_P4_
#define _UBPF_MODEL_P4_

#include <core.p4>

#ifndef UBPF_MODEL_VERSION
#define UBPF_MODEL_VERSION 20200515
#endif

/// The version in use, for the compiler and for `static_assert`.
const bit<32> __ubpf_model_version = UBPF_MODEL_VERSION;

#if UBPF_MODEL_VERSION >= 20200515

/// What becomes of a packet.
enum ubpf_action {
    ABORT,    /// Drop it: the program failed.
    DROP,     /// Drop it.
    PASS,     /// Let it go on its way.
    REDIRECT  /// Send it to `output_port`.
}

/// What the switch and the program tell each other about a packet.
struct standard_metadata {
    bit<32>     input_port;     /// Port of arrival.
    bit<32>     packet_length;  /// In bytes.
    ubpf_action output_action;  /// Set by the program, as are all below.
    bit<32>     output_port;    /// For REDIRECT.
    bool        clone;          /// Send a copy to `clone_port` besides.
    bit<32>     clone_port;
}

#endif

// In the control `pipeline`, the later call of the following two counts.

/// Lets the packet be dropped.
extern void mark_to_drop();

/// Lets the packet pass after all.
extern void mark_to_pass();

/// Cuts the outgoing packet to at most `len` bytes. A `len` below 14, the size
/// of an Ethernet header, means 14.
extern void truncate(in bit<32> len);

/// A map of at most `size` entries from `S` to `T` that lives on from packet to
/// packet. `T` is bit<W>. Elements start undefined.
extern Register<T, S> {
    Register(bit<32> size);
    /// Returns one element, unspecified for an index of `size` or more.
    T read(in S index);
    /// Sets one element.
    void write(in S index, in T value);
}

/// Returns nanoseconds since boot.
extern bit<48> ubpf_time_get_ns();

/// Hash functions: `lookup3` is that of Bob Jenkins.
enum HashAlgorithm {
    lookup3
}

/// Gives the hash of the tuple `data`, of at most 64 bits.
extern void hash<D>(out bit<32> result, in HashAlgorithm algo, in D data);

// Both of the following return the Internet checksum that `csum` becomes where
// a field changes from `old` to `new` (RFC 1624).

extern bit<16> csum_replace2(in bit<16> csum,
                             in bit<16> old,
                             in bit<16> new);

extern bit<16> csum_replace4(in bit<16> csum,
                             in bit<32> old,
                             in bit<32> new);

// `H` is a struct of headers, header stacks and header unions; `M` is a struct.

#if UBPF_MODEL_VERSION >= 20200515
parser parse<H, M>(packet_in packet, out H headers, inout M meta, inout standard_metadata std);
control pipeline<H, M>(inout H headers, inout M meta, inout standard_metadata std);
#else
parser parse<H, M>(packet_in packet, out H headers, inout M meta);
control pipeline<H, M>(inout H headers, inout M meta);
#endif

/// Holds calls of `packet_out.emit` only.
@deparser
control deparser<H>(packet_out b, in H headers);

package ubpf<H, M>(parse<H, M> prs,
                pipeline<H, M> p,
                deparser<H> dprs);

#endif
