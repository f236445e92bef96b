// The end of every test program: see probe.p4.

control NoVerify(inout Headers headers, inout Metadata meta) {
    apply {}
}

control NoCompute(inout Headers headers, inout Metadata meta) {
    apply {}
}

#ifdef NO_EGRESS
control TestEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {}
}
#endif

V1Switch(ProbeParser(), NoVerify(), TestIngress(), TestEgress(), NoCompute(), ProbeDeparser()) main;
