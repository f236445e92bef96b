// Action selectors that spread flows over members: every packet is counted under the member that it took.
#define NO_EGRESS
#include "../include/probe.p4"

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    action_selector(HashAlgorithm.crc32, 64, 32) paths;
    action_selector(HashAlgorithm.crc16, 64, 16) narrow_paths;
    counter(16, CounterType.packets) taken;
    register<bit<16>>(16) path_of_flow;
    counter(1, CounterType.packets) moved;

    action take(bit<16> path) {
        headers.probe.result = path;
        taken.count((bit<32>)path);
    }

    table balance {
        key = {
            headers.probe.kind: exact @name("kind");
            headers.probe.a: selector;
            headers.probe.b: selector;
        }
        actions = {
            take;
            NoAction;
        }
        implementation = paths;
    }

    // Another table with the same members.
    table balance_too {
        key = {
            headers.probe.kind: exact @name("kind");
            headers.probe.a: selector;
            headers.probe.b: selector;
        }
        actions = {
            take;
            NoAction;
        }
        implementation = paths;
    }

    table one_shots {
        key = {
            headers.probe.kind: ternary @name("kind");
            headers.probe.c: selector;
        }
        actions = {
            take;
            NoAction;
        }
        implementation = narrow_paths;
    }

    apply {
        standard.egress_spec = 1;
        balance.apply();
        bit<16> before = headers.probe.result;
        balance_too.apply();
        if (before != headers.probe.result) {
            headers.probe.flags = 0xff;
        }
        one_shots.apply();
        // Has this flow, named by the low bits of c, been on another path before?
        bit<16> last;
        path_of_flow.read(last, (bit<32>)headers.probe.c[3:0]);
        if (last != 0 && last != headers.probe.result) {
            moved.count(0);
        }
        path_of_flow.write((bit<32>)headers.probe.c[3:0], headers.probe.result);
    }
}

#include "../include/switch.p4"
