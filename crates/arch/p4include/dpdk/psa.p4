// SPDX-License-Identifier: Apache-2.0
//
// PSA as the DPDK back end of p4c has it: counters and meters also take the
// length of the packet from the program.

#define __PSA_DPDK__
#include <bmv2/psa.p4>
