// PSA with an egress that does nothing.

#ifndef TESTS_PSA_P4
#define TESTS_PSA_P4

#include <core.p4>
#include <psa.p4>

struct Nothing {}

parser NoEgressParser(
    packet_in packet,
    out Nothing headers,
    inout Nothing meta,
    in psa_egress_parser_input_metadata_t istd,
    in Nothing normal,
    in Nothing cloned_in_ingress,
    in Nothing cloned_in_egress
) {
    state start {
        transition accept;
    }
}

control NoEgress(
    inout Nothing headers,
    inout Nothing meta,
    in psa_egress_input_metadata_t istd,
    inout psa_egress_output_metadata_t ostd
) {
    apply {}
}

control NoEgressDeparser(
    packet_out packet,
    out Nothing cloned,
    out Nothing recirculated,
    inout Nothing headers,
    in Nothing meta,
    in psa_egress_output_metadata_t istd,
    in psa_egress_deparser_input_metadata_t edstd
) {
    apply {}
}

#endif
