// SPDX-License-Identifier: Apache-2.0
//
// Without a target in its path, PSA means the one for BMv2 psa_switch.

#include "bmv2/psa.p4"
