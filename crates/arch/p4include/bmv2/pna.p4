// SPDX-License-Identifier: Apache-2.0
//
// PNA 0.5 as BMv2 pna_nic has it: no pre control, no directions, named hash
// algorithms, conditional additions of entries.

#define __PNA_BMV2__
#include <pna.p4>
