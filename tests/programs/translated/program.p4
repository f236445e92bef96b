// Types that the control plane sees with another width than the program.
#define NO_EGRESS
#include "../include/probe.p4"

@p4runtime_translation("example.org/zone", 32)
type bit<8> Zone;

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    action mark(Zone zone) {
        headers.probe.flags = (bit<8>)zone;
    }

    table by_zone {
        key = {
            (Zone)headers.probe.kind: exact @name("zone");
        }
        actions = {
            mark;
            NoAction;
        }
    }

    apply {
        standard.egress_spec = 1;
        by_zone.apply();
    }
}

#include "../include/switch.p4"
