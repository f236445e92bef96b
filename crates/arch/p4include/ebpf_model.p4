// SPDX-License-Identifier: Apache-2.0
//
// A packet filter that runs as an eBPF program in the Linux kernel: a parser,
// and a control which accepts the packet or does not. The packet itself never
// changes.

#ifndef _EBPF_MODEL_P4_
#define _EBPF_MODEL_P4_

#include <core.p4>

// Each table names one of the next two externs as its `implementation`. With an
// lpm key, either gives the size only: the table is an LPM trie map.

/// A table in an eBPF array map: the key is an index below `size`.
extern array_table {
    array_table(bit<32> size);
}

/// A table in an eBPF hash map of at most `size` entries.
extern hash_table {
    hash_table(bit<32> size);
}

/// Unsigned 32-bit counters in an eBPF map, a hash map if `sparse`, else an
/// array map. `max_index` bounds the indices. The program only adds; the control
/// plane reads and resets.
extern CounterArray {
    CounterArray(bit<32> max_index, bool sparse);
    /// Adds 1 to a counter.
    void increment(in bit<32> index);
    /// Adds `value` to a counter.
    void add(in bit<32> index, in bit<32> value);
}

parser parse<H>(packet_in packet, out H headers);

/// Sets `accept` to false to drop the packet.
control filter<H>(inout H headers, out bool accept);

package ebpfFilter<H>(parse<H> prs,
                      filter<H> filt);

#endif
