// SPDX-License-Identifier: Apache-2.0
//
// PNA as the DPDK back end of p4c has it: named hash algorithms, counters and
// meters that take the length of the packet from the program, and an
// accelerator for IPsec.

#ifndef __PNA_DPDK_P4__
#define __PNA_DPDK_P4__

#define __PNA_DPDK__
#include <pna.p4>

/// What became of a packet in the accelerator.
enum ipsec_status {
    IPSEC_SUCCESS,
    IPSEC_ERROR
}

/// Encrypts and decrypts packets (ESP) by security associations, which the
/// control plane makes.
@noWarn("unused")
extern ipsec_accelerator {
    ipsec_accelerator();

    /// Names the security association of the packet.
    void set_sa_index<T>(in T sa_index);

    /// Says where the IP header begins, in bytes from the start of the packet.
    void set_ip_header_offset<T>(in T offset);

    /// Sends the packet through the accelerator when it leaves the pipeline.
    void enable();

    /// Undoes `enable`.
    void disable();

    /// True for a packet that comes back from the accelerator; `status` says
    /// how it went.
    bool from_ipsec(out ipsec_status status);
}

#endif
