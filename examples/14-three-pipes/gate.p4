// A gate between networks: an architecture with three pipelines in a row, which gate.toml describes. The first finds the
// port, the second looks into the packet, the third writes what the port wants. Each parses the packet anew.

#include <core.p4>
#include "../include/headers.p4"

// What the architecture declares.

match_kind {
    range
}

struct gate_in_t {
    bit<16> port; // The port of arrival.
    bit<16> length; // Bytes of the packet.
}

struct gate_out_t {
    bit<16> port; // The port to send to; 0 drops.
    bit<8> class; // The queue.
}

struct gate_verdict_t {
    bool refused;
}

struct gate_leave_t {
    bit<16> port; // The port of the queue.
    bit<32> waited; // Microseconds in the queue.
}

// What packets carry from the second pipeline to the third. The architecture reads it.
struct gate_finding_t {
    bit<16> port;
    bit<8> class;
    bit<16> reason;
}

/// `size` counters of packets.
extern Tally {
    Tally(bit<32> size);
    void add(in bit<32> index);
}

parser EnterParser<H>(packet_in packet, out H headers);
control Enter<H>(inout H headers, in gate_in_t arrival, inout gate_out_t departure);
control EnterDeparser<H, L>(packet_out packet, in H headers, in gate_out_t departure, out L label);
parser InspectParser<H>(packet_in packet, out H headers);
control Inspect<H, L>(inout H headers, in L label, inout gate_verdict_t verdict);
control InspectDeparser<H, L>(
    packet_out packet,
    in H headers,
    in L label,
    in gate_verdict_t verdict,
    out gate_finding_t finding
);
parser LeaveParser<H>(packet_in packet, out H headers, in gate_finding_t finding);
control Leave<H>(inout H headers, in gate_finding_t finding, in gate_leave_t leave);
control LeaveDeparser<H>(packet_out packet, in H headers);
package Gate<H1, H2, H3, L>(
    EnterParser<H1> enter_parser,
    Enter<H1> enter,
    EnterDeparser<H1, L> enter_deparser,
    InspectParser<H2> inspect_parser,
    Inspect<H2, L> inspect,
    InspectDeparser<H2, L> inspect_deparser,
    LeaveParser<H3> leave_parser,
    Leave<H3> leave,
    LeaveDeparser<H3> leave_deparser
);

// A program for it.

struct Frame {
    Ethernet ethernet;
}

struct Inspected {
    Ethernet ethernet;
    Ipv4 ipv4;
    Ports ports;
}

// Between the pipelines.
struct Label {
    bit<16> port;
    bit<8> class;
}

// In front of frames for the monitor.
header Report {
    bit<16> reason;
    bit<16> port;
}

struct Leaving {
    Report report;
}

parser ReadFrame(packet_in packet, out Frame frame) {
    state start {
        packet.extract(frame.ethernet);
        transition accept;
    }
}

control FindPort(inout Frame frame, in gate_in_t arrival, inout gate_out_t departure) {
    Tally(64) received;

    action forward(bit<16> port, bit<8> class) {
        departure.port = port;
        departure.class = class;
    }

    table stations {
        key = {
            frame.ethernet.destination: exact;
        }
        actions = {
            forward;
            NoAction;
        }
        default_action = NoAction();
        size = 4096;
    }

    apply {
        received.add((bit<32>)arrival.port);
        stations.apply();
    }
}

control WriteFrame(packet_out packet, in Frame frame, in gate_out_t departure, out Label label) {
    apply {
        packet.emit(frame.ethernet);
        label = { departure.port, departure.class };
    }
}

parser ReadInspected(packet_in packet, out Inspected headers) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            0x0800: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        transition select(headers.ipv4.protocol) {
            6: ports;
            17: ports;
            default: accept;
        }
    }

    state ports {
        packet.extract(headers.ports);
        transition accept;
    }
}

control FindReason(inout Inspected headers, in Label label, inout gate_verdict_t verdict) {
    action refuse() {
        verdict.refused = true;
    }

    table rules {
        key = {
            headers.ipv4.source: ternary;
            headers.ipv4.destination: ternary;
            headers.ports.destination: range;
            label.port: ternary;
        }
        actions = {
            refuse;
            NoAction;
        }
        default_action = NoAction();
        size = 256;
    }

    apply {
        if (headers.ipv4.isValid()) {
            rules.apply();
        }
    }
}

control WriteInspected(
    packet_out packet,
    in Inspected headers,
    in Label label,
    in gate_verdict_t verdict,
    out gate_finding_t finding
) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
        packet.emit(headers.ports);
        bit<16> reason = headers.ports.isValid() ? headers.ports.destination : 0;
        finding = { label.port, label.class, reason };
    }
}

parser ReadNothing(packet_in packet, out Leaving headers, in gate_finding_t finding) {
    state start {
        transition accept;
    }
}

control Tag(inout Leaving headers, in gate_finding_t finding, in gate_leave_t leave) {
    apply {
        // Port 63 is the monitor's.
        if (leave.port == 63) {
            headers.report.setValid();
            headers.report = { finding.reason, leave.port };
        }
    }
}

control WriteLeaving(packet_out packet, in Leaving headers) {
    apply {
        packet.emit(headers.report);
    }
}

Gate(
    ReadFrame(),
    FindPort(),
    WriteFrame(),
    ReadInspected(),
    FindReason(),
    WriteInspected(),
    ReadNothing(),
    Tag(),
    WriteLeaving()
) main;
