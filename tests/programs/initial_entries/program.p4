// Entries that the program brings along: their priorities, and what the control plane may do to them.
#define NO_EGRESS
#include "../include/probe.p4"

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    action answer(bit<16> value) {
        headers.probe.result = value;
    }

    table in_order {
        key = {
            headers.probe.a: ternary @name("a");
        }
        actions = {
            answer;
            NoAction;
        }
        const default_action = answer(0xffff);
        @noWarn("keys")
        const entries = {
            0x0a000000 &&& 0xff000000: answer(1);
            0x0a0b0000 &&& 0xffff0000: answer(2);
            0x0c000000: answer(3);
            0x0c000000 &&& 0xfe000000: NoAction();
        }
    }

    @noWarn("deprecated")
    @noWarn("keys")
    table annotated {
        key = {
            headers.probe.a: ternary @name("a");
        }
        actions = {
            answer;
        }
        default_action = answer(0xffff);
        const entries = {
            0x0a000000 &&& 0xff000000: answer(1) @priority(30);
            0x0a0b0c00 &&& 0xffffff00: answer(2) @priority(10);
            0x0a0b0000 &&& 0xffff0000: answer(3) @priority(20);
        }
    }

    table largest {
        key = {
            headers.probe.a: ternary @name("a");
        }
        actions = {
            answer;
        }
        default_action = answer(0xffff);
        @noWarn("entries-out-of-priority-order")
        entries = {
            priority = 10: 0x0a000000 &&& 0xff000000: answer(1);
            priority = 50: 0x0a0b0000 &&& 0xffff0000: answer(2);
            priority = 30: 0x000b0c00 &&& 0x00ffff00: answer(3);
        }
    }

    table smallest {
        key = {
            headers.probe.a: ternary @name("a");
        }
        actions = {
            answer;
        }
        default_action = answer(0xffff);
        largest_priority_wins = false;
        priority_delta = 10;
        entries = {
            const priority = 10: 0x0a0b0c00 &&& 0xffffff00: answer(1);
            0x0a0b0000 &&& 0xffff0000: answer(2);
            priority = 40: 0x0a000000 &&& 0xff000000: answer(3);
            _: answer(4);
        }
    }

    // Without a word about priorities they are 21, 11 and 1.
    table spaced {
        key = {
            headers.probe.a: ternary @name("a");
            headers.probe.c: range @name("c");
        }
        actions = {
            answer;
        }
        default_action = answer(0xffff);
        priority_delta = 10;
        entries = {
            (0x0a0b0c00 &&& 0xffffff00, 0 .. 99): answer(1);
            (0x0a0b0000 &&& 0xffff0000, _): answer(2);
            (_, 7): answer(3);
        }
    }

    table prefixes {
        key = {
            headers.probe.a: lpm @name("a");
        }
        actions = {
            answer;
        }
        default_action = answer(0xffff);
        entries = {
            0x0a000000 &&& 0xff000000: answer(8);
            0x0a0b0000 &&& 0xffff0000: answer(16);
            0x0a0b0c0d: answer(32);
        }
    }

    apply {
        standard.egress_spec = 1;
        switch (headers.probe.kind) {
            1: {
                in_order.apply();
            }
            2: {
                annotated.apply();
            }
            3: {
                largest.apply();
            }
            4: {
                smallest.apply();
            }
            5: {
                spaced.apply();
            }
            6: {
                prefixes.apply();
            }
        }
    }
}

#include "../include/switch.p4"
