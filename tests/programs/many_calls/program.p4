// Actions that call each other twice: 2^12 calls are made, 2^40 exceed the budget of steps.
#define NO_EGRESS
#include "../include/probe.p4"

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    action c0() {
        headers.probe.b = headers.probe.b + 1;
    }
    action c1() {
        c0();
        c0();
    }
    action c2() {
        c1();
        c1();
    }
    action c3() {
        c2();
        c2();
    }
    action c4() {
        c3();
        c3();
    }
    action c5() {
        c4();
        c4();
    }
    action c6() {
        c5();
        c5();
    }
    action c7() {
        c6();
        c6();
    }
    action c8() {
        c7();
        c7();
    }
    action c9() {
        c8();
        c8();
    }
    action c10() {
        c9();
        c9();
    }
    action c11() {
        c10();
        c10();
    }
    action c12() {
        c11();
        c11();
    }
    action c13() {
        c12();
        c12();
    }
    action c14() {
        c13();
        c13();
    }
    action c15() {
        c14();
        c14();
    }
    action c16() {
        c15();
        c15();
    }
    action c17() {
        c16();
        c16();
    }
    action c18() {
        c17();
        c17();
    }
    action c19() {
        c18();
        c18();
    }
    action c20() {
        c19();
        c19();
    }
    action c21() {
        c20();
        c20();
    }
    action c22() {
        c21();
        c21();
    }
    action c23() {
        c22();
        c22();
    }
    action c24() {
        c23();
        c23();
    }
    action c25() {
        c24();
        c24();
    }
    action c26() {
        c25();
        c25();
    }
    action c27() {
        c26();
        c26();
    }
    action c28() {
        c27();
        c27();
    }
    action c29() {
        c28();
        c28();
    }
    action c30() {
        c29();
        c29();
    }
    action c31() {
        c30();
        c30();
    }
    action c32() {
        c31();
        c31();
    }
    action c33() {
        c32();
        c32();
    }
    action c34() {
        c33();
        c33();
    }
    action c35() {
        c34();
        c34();
    }
    action c36() {
        c35();
        c35();
    }
    action c37() {
        c36();
        c36();
    }
    action c38() {
        c37();
        c37();
    }
    action c39() {
        c38();
        c38();
    }
    action c40() {
        c39();
        c39();
    }

    apply {
        standard.egress_spec = 1;
        if (headers.probe.kind == 12) {
            c12();
        } else if (headers.probe.kind == 40) {
            c40();
        }
    }
}

#include "../include/switch.p4"
