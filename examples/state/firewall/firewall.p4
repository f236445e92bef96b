// A stateful firewall between an inside (port 1) and an outside (port 2): packets belong to connections, and the inside may
// open any, the outside only those to services that the configuration allows.
//
//     siding stf examples/state/firewall
//
// A connection is one entry for both directions, with the inside's address and port first. The entry holds the number of a
// cell with the state of the connection, because a program cannot change the arguments of an entry. The states of TCP and
// their times are those of Linux (nf_conntrack_proto_tcp.c), without the pickup of connections that are under way.

#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>
// The options of a SYN are read.
#define READS_OPTIONS
#include "../include/segments.p4"
#include "windows.p4"

#ifndef N_CONNECTIONS
#define N_CONNECTIONS 32768
#endif

const bit<9> INSIDE = 1;
const bit<9> OUTSIDE = 2;

// A power of two, so that the low bits of a number are the cell.
#ifndef N_CELLS
#define N_CELLS 32w65536
#endif

// Times that the profiles have unless the configuration changes them: 10, 30, 60, 120 and 43200 seconds.
const ExpireTimeProfileId_t PROFILE_10 = 0;
const ExpireTimeProfileId_t PROFILE_30 = 1;
const ExpireTimeProfileId_t PROFILE_60 = 2;
const ExpireTimeProfileId_t PROFILE_120 = 3;
const ExpireTimeProfileId_t PROFILE_12_HOURS = 5;
// The configuration gives this profile no time at all: an entry with it has ended.
const ExpireTimeProfileId_t PROFILE_GONE = 255;

struct Flow {
    bit<32> id;
    bool opened_inside;
}

control Track(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    // The number of the connection that owns the cell, and the state.
    register<bit<40>>(N_CELLS) cells;
    // What is known beside the state of TCP.
    register<Tracking>(N_CELLS) windows;
    @name("invalid")
    counter(1, CounterType.packets) invalid_packets;

    bool from_inside = standard.ingress_port == INSIDE;
    Ipv4Address inside_address = 0;
    Ipv4Address outside_address = 0;
    bit<16> inside_port = 0;
    bit<16> outside_port = 0;

    // The first lookup finds these.
    bool is_known = false;
    bit<32> number = 0;
    bool inside_is_opener = false;

    // These tell the next lookup what to do.
    bool may_add = false;
    bool may_update = false;
    ExpireTimeProfileId_t profile = PROFILE_10;
    bool is_added = false;

    Kind kind = Kind.INVALID;
    Segment segment = {
        kind = Kind.INVALID,
        is_of_opener = false,
        flags = 0,
        sequence = 0,
        end = 0,
        acknowledgement = 0,
        window = 0,
        has_options = false,
        has_scale = false,
        scale = 0
    };
    State state = State.NONE;
    bool is_valid = false;
    // The numbers of the segment are to be compared with those of its connection.
    bool is_followed = false;
    bool is_reopened = false;
    bool begins_anew = false;

    action connection(bit<32> id, bool opened_inside) {
        is_known = true;
        number = id;
        inside_is_opener = opened_inside;
        update_expire_info(may_update, true, profile);
    }

    action unknown() {
        is_known = false;
        if (may_add) {
            number = allocate_flow_id();
            is_added = add_entry(
                "connection",
                (Flow){ id = number, opened_inside = from_inside },
                profile
            );
        }
    }

    table connections {
        key = {
            headers.ipv4.protocol: exact @name("protocol");
            inside_address: exact @name("inside_address");
            outside_address: exact @name("outside_address");
            inside_port: exact @name("inside_port");
            outside_port: exact @name("outside_port");
        }
        actions = {
            @tableonly connection;
            @defaultonly unknown;
        }
        const default_action = unknown();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = N_CONNECTIONS;
    }

    action become(State next, ExpireTimeProfileId_t time) {
        is_valid = true;
        is_followed = true;
        may_update = true;
        state = next;
        profile = time;
    }

    // The same, but the entry ends no later than before.
    action keep(State next) {
        is_valid = true;
        is_followed = true;
        state = next;
    }

    // The packet passes and changes nothing, also not the time: the other side may answer that it is out of date.
    action ignore() {
        is_valid = true;
    }

    // The old connection is over and the same addresses begin another. If it has not ended in order, the other side has to
    // say first that it knows nothing of it.
    action begin_anew() {
        is_valid = true;
        is_reopened = true;
    }

    action refuse() {
        is_valid = false;
    }

    table transitions {
        key = {
            from_inside == inside_is_opener: exact @name("from_opener");
            kind: exact @name("kind");
            state: exact @name("state");
        }
        actions = {
            become;
            keep;
            ignore;
            begin_anew;
            refuse;
        }
        const default_action = refuse();
        const entries = {
            // A first SYN, again, or after the end.
            (true, Kind.SYN, State.NONE): become(State.SYN_SENT, PROFILE_120);
            (true, Kind.SYN, State.SYN_SENT): keep(State.SYN_SENT);
            (true, Kind.SYN, State.SYN_RECEIVED): ignore();
            (true, Kind.SYN, State.ESTABLISHED): ignore();
            (true, Kind.SYN, State.FIN_WAIT): ignore();
            (true, Kind.SYN, State.CLOSE_WAIT): ignore();
            (true, Kind.SYN, State.LAST_ACK): ignore();
            (true, Kind.SYN, State.TIME_WAIT): begin_anew();
            (true, Kind.SYN, State.CLOSED): begin_anew();
            (true, Kind.SYN, State.SYN_SENT_TWICE): become(State.SYN_SENT_TWICE, PROFILE_120);
            (false, Kind.SYN, State.SYN_SENT): become(State.SYN_SENT_TWICE, PROFILE_120);
            (false, Kind.SYN, State.SYN_SENT_TWICE): become(State.SYN_SENT_TWICE, PROFILE_120);
            (false, Kind.SYN, State.TIME_WAIT): begin_anew();

            // The opener sends a SYN+ACK only if both have sent a SYN.
            (true, Kind.SYN_ACK, State.SYN_RECEIVED): become(State.SYN_RECEIVED, PROFILE_60);
            (true, Kind.SYN_ACK, State.SYN_SENT_TWICE): become(State.SYN_RECEIVED, PROFILE_60);
            (false, Kind.SYN_ACK, State.SYN_SENT): become(State.SYN_RECEIVED, PROFILE_60);
            (false, Kind.SYN_ACK, State.SYN_RECEIVED): ignore();
            (false, Kind.SYN_ACK, State.ESTABLISHED): ignore();
            (false, Kind.SYN_ACK, State.FIN_WAIT): ignore();
            (false, Kind.SYN_ACK, State.CLOSE_WAIT): ignore();
            (false, Kind.SYN_ACK, State.LAST_ACK): ignore();
            (false, Kind.SYN_ACK, State.TIME_WAIT): ignore();
            (false, Kind.SYN_ACK, State.CLOSED): ignore();
            (false, Kind.SYN_ACK, State.SYN_SENT_TWICE): become(State.SYN_RECEIVED, PROFILE_60);

            // The first FIN, and the second.
            (true, Kind.FIN, State.SYN_RECEIVED): become(State.FIN_WAIT, PROFILE_120);
            (true, Kind.FIN, State.ESTABLISHED): become(State.FIN_WAIT, PROFILE_120);
            (true, Kind.FIN, State.FIN_WAIT): become(State.LAST_ACK, PROFILE_30);
            (true, Kind.FIN, State.CLOSE_WAIT): become(State.LAST_ACK, PROFILE_30);
            (true, Kind.FIN, State.LAST_ACK): become(State.LAST_ACK, PROFILE_30);
            (true, Kind.FIN, State.TIME_WAIT): become(State.TIME_WAIT, PROFILE_120);
            (true, Kind.FIN, State.CLOSED): become(State.CLOSED, PROFILE_10);
            (false, Kind.FIN, State.SYN_RECEIVED): become(State.FIN_WAIT, PROFILE_120);
            (false, Kind.FIN, State.ESTABLISHED): become(State.FIN_WAIT, PROFILE_120);
            (false, Kind.FIN, State.FIN_WAIT): become(State.LAST_ACK, PROFILE_30);
            (false, Kind.FIN, State.CLOSE_WAIT): become(State.LAST_ACK, PROFILE_30);
            (false, Kind.FIN, State.LAST_ACK): become(State.LAST_ACK, PROFILE_30);
            (false, Kind.FIN, State.TIME_WAIT): become(State.TIME_WAIT, PROFILE_120);
            (false, Kind.FIN, State.CLOSED): become(State.CLOSED, PROFILE_10);

            (true, Kind.ACK, State.SYN_RECEIVED): become(State.ESTABLISHED, PROFILE_12_HOURS);
            (true, Kind.ACK, State.ESTABLISHED): become(State.ESTABLISHED, PROFILE_12_HOURS);
            (true, Kind.ACK, State.FIN_WAIT): become(State.CLOSE_WAIT, PROFILE_60);
            (true, Kind.ACK, State.CLOSE_WAIT): become(State.CLOSE_WAIT, PROFILE_60);
            (true, Kind.ACK, State.LAST_ACK): become(State.TIME_WAIT, PROFILE_120);
            (true, Kind.ACK, State.TIME_WAIT): become(State.TIME_WAIT, PROFILE_120);
            (true, Kind.ACK, State.CLOSED): become(State.CLOSED, PROFILE_10);
            (false, Kind.ACK, State.SYN_SENT): ignore();
            (false, Kind.ACK, State.SYN_RECEIVED): become(State.SYN_RECEIVED, PROFILE_60);
            (false, Kind.ACK, State.ESTABLISHED): become(State.ESTABLISHED, PROFILE_12_HOURS);
            (false, Kind.ACK, State.FIN_WAIT): become(State.CLOSE_WAIT, PROFILE_60);
            (false, Kind.ACK, State.CLOSE_WAIT): become(State.CLOSE_WAIT, PROFILE_60);
            (false, Kind.ACK, State.LAST_ACK): become(State.TIME_WAIT, PROFILE_120);
            (false, Kind.ACK, State.TIME_WAIT): become(State.TIME_WAIT, PROFILE_120);
            (false, Kind.ACK, State.CLOSED): become(State.CLOSED, PROFILE_10);
            (false, Kind.ACK, State.SYN_SENT_TWICE): ignore();

            // A reset ends every connection, but begins none.
            (true, Kind.RST, State.SYN_SENT): become(State.CLOSED, PROFILE_10);
            (true, Kind.RST, State.SYN_RECEIVED): become(State.CLOSED, PROFILE_10);
            (true, Kind.RST, State.ESTABLISHED): become(State.CLOSED, PROFILE_10);
            (true, Kind.RST, State.FIN_WAIT): become(State.CLOSED, PROFILE_10);
            (true, Kind.RST, State.CLOSE_WAIT): become(State.CLOSED, PROFILE_10);
            (true, Kind.RST, State.LAST_ACK): become(State.CLOSED, PROFILE_10);
            (true, Kind.RST, State.TIME_WAIT): become(State.CLOSED, PROFILE_10);
            (true, Kind.RST, State.CLOSED): become(State.CLOSED, PROFILE_10);
            (true, Kind.RST, State.SYN_SENT_TWICE): become(State.CLOSED, PROFILE_10);
            (false, Kind.RST, State.SYN_SENT): become(State.CLOSED, PROFILE_10);
            (false, Kind.RST, State.SYN_RECEIVED): become(State.CLOSED, PROFILE_10);
            (false, Kind.RST, State.ESTABLISHED): become(State.CLOSED, PROFILE_10);
            (false, Kind.RST, State.FIN_WAIT): become(State.CLOSED, PROFILE_10);
            (false, Kind.RST, State.CLOSE_WAIT): become(State.CLOSED, PROFILE_10);
            (false, Kind.RST, State.LAST_ACK): become(State.CLOSED, PROFILE_10);
            (false, Kind.RST, State.TIME_WAIT): become(State.CLOSED, PROFILE_10);
            (false, Kind.RST, State.CLOSED): become(State.CLOSED, PROFILE_10);
            (false, Kind.RST, State.SYN_SENT_TWICE): become(State.CLOSED, PROFILE_10);

            (true, Kind.ECHO, State.NONE): become(State.ONE_WAY, PROFILE_30);
            (true, Kind.ECHO, State.ONE_WAY): become(State.ONE_WAY, PROFILE_30);
            (true, Kind.ECHO, State.TWO_WAY): become(State.TWO_WAY, PROFILE_30);
            (false, Kind.ECHO_REPLY, State.ONE_WAY): become(State.TWO_WAY, PROFILE_30);
            (false, Kind.ECHO_REPLY, State.TWO_WAY): become(State.TWO_WAY, PROFILE_30);

            (true, Kind.DATAGRAM, State.NONE): become(State.ONE_WAY, PROFILE_30);
            (true, Kind.DATAGRAM, State.ONE_WAY): become(State.ONE_WAY, PROFILE_30);
            (true, Kind.DATAGRAM, State.TWO_WAY): become(State.TWO_WAY, PROFILE_120);
            (false, Kind.DATAGRAM, State.ONE_WAY): become(State.TWO_WAY, PROFILE_120);
            (false, Kind.DATAGRAM, State.TWO_WAY): become(State.TWO_WAY, PROFILE_120);
        }
    }

    action allow() {}

    // The outside may open connections to these.
    table services {
        key = {
            headers.ipv4.protocol: exact @name("protocol");
            inside_address: exact @name("address");
            inside_port: exact @name("port");
        }
        actions = {
            allow;
            refuse;
        }
        const default_action = refuse();
        size = 1024;
    }

    action classify() {
        bit<8> flags = headers.tcp.flags;
        if (headers.udp.isValid()) {
            kind = Kind.DATAGRAM;
        } else if (headers.icmp.isValid()) {
            if (headers.icmp.code == 0 && headers.icmp.type == 8) {
                kind = Kind.ECHO;
            } else if (headers.icmp.code == 0 && headers.icmp.type == 0) {
                kind = Kind.ECHO_REPLY;
            }
        } else if (!are_flags_valid(flags)) {
            kind = Kind.INVALID;
        } else if (flags & TCP_RST != 0) {
            kind = Kind.RST;
        } else if (flags & TCP_SYN != 0) {
            kind = flags & TCP_ACK != 0 ? Kind.SYN_ACK : Kind.SYN;
        } else if (flags & TCP_FIN != 0) {
            kind = Kind.FIN;
        } else {
            kind = Kind.ACK;
        }
    }

    action describe() {
        bit<16> n_header_bytes = 20 + (bit<16>)headers.tcp.words * 4;
        bit<16> n_data_bytes = headers.ipv4.total_bytes - n_header_bytes;
        if (
            headers.tcp.words < 5
            || headers.ipv4.total_bytes < n_header_bytes
            || standard.parser_error != error.NoError
        ) {
            kind = Kind.INVALID;
        }
        segment.kind = kind;
        segment.flags = headers.tcp.flags;
        segment.sequence = headers.tcp.sequence;
        segment.end = headers.tcp.sequence + (bit<32>)n_data_bytes;
        if (headers.tcp.flags & (TCP_SYN | TCP_FIN) != 0) {
            segment.end = segment.end + 1;
        }
        segment.acknowledgement = headers.tcp.acknowledgement;
        segment.window = headers.tcp.window;
        segment.has_options = headers.tcp.words > 5;
        segment.has_scale = false;
        segment.scale = 0;
        if (segment.has_options && headers.tcp.flags & TCP_SYN != 0) {
            read_scale(meta.options, ((bit<8>)headers.tcp.words - 5) * 4, segment);
        }
    }

    apply {
        if (!headers.tcp.isValid() && !headers.udp.isValid() && !headers.icmp.isValid()) {
            mark_to_drop(standard);
            exit;
        }
        if (from_inside) {
            inside_address = headers.ipv4.source;
            inside_port = meta.source_port;
            outside_address = headers.ipv4.destination;
            outside_port = meta.destination_port;
        } else {
            inside_address = headers.ipv4.destination;
            inside_port = meta.destination_port;
            outside_address = headers.ipv4.source;
            outside_port = meta.source_port;
        }
        classify();
        if (headers.tcp.isValid()) {
            describe();
        } else if (headers.icmp.isValid()) {
            // Requests have their identifier in place of the opener's port: both ends may ask each other at a time.
            bool is_of_inside = from_inside == (headers.icmp.type == 8);
            inside_port = is_of_inside ? headers.icmp.identifier : 0;
            outside_port = is_of_inside ? 0 : headers.icmp.identifier;
        }

        connections.apply();
        // Two packets of one connection must not both read before one of them writes.
        @atomic {
            bit<40> cell = 0;
            if (is_known) {
                cells.read(cell, number & (N_CELLS - 1));
                if (cell[39:8] == number) {
                    state = (State)cell[7:0];
                } else {
                    // A later connection has taken the cell. This one ends and may begin anew.
                    begins_anew = true;
                }
            } else {
                inside_is_opener = from_inside;
            }
            State old = state;
            if (!begins_anew) {
                transitions.apply();
            }
            if (is_known && is_valid && headers.tcp.isValid()) {
                Tracking tracking;
                windows.read(tracking, number & (N_CELLS - 1));
                segment.is_of_opener = from_inside == inside_is_opener;
                bool is_other_side = tracking.last_is_of_opener != segment.is_of_opener;
                if (
                    is_reopened
                    && (tracking.is_closing || (!is_other_side && tracking.last_kind == Kind.RST))
                ) {
                    begins_anew = true;
                } else if (
                    kind == Kind.SYN_ACK
                    && !is_followed
                    && is_other_side
                    && tracking.last_kind == Kind.SYN
                    && segment.acknowledgement == tracking.last_end
                ) {
                    // The SYN before it was let through although it did not fit, and here is its answer.
                    resynchronise(tracking);
                    old = State.SYN_SENT;
                    state = State.SYN_RECEIVED;
                    profile = PROFILE_60;
                    is_followed = true;
                    may_update = true;
                }
                if (is_followed) {
                    Verdict verdict = follow(tracking, segment, old, state);
                    is_valid = verdict != Verdict.REFUSE;
                    if (verdict != Verdict.BECOME) {
                        may_update = false;
                    } else if (kind == Kind.RST && !tracking.is_answered) {
                        // There was no connection yet.
                        profile = PROFILE_GONE;
                    } else if (kind == Kind.ACK && state == State.ESTABLISHED) {
                        profile = PROFILE_12_HOURS;
                    }
                } else if (!begins_anew) {
                    note(tracking, segment, old);
                }
                tracking.is_answered = tracking.is_answered || (is_valid && !segment.is_of_opener);
                windows.write(number & (N_CELLS - 1), tracking);
            }
            if (is_known && may_update) {
                cells.write(number & (N_CELLS - 1), number ++ (bit<8>)state);
            }
        }

        if (begins_anew) {
            may_update = true;
            profile = PROFILE_GONE;
            connections.apply();
            may_update = false;
            is_valid = false;
            inside_is_opener = from_inside;
            state = State.NONE;
            is_known = false;
            transitions.apply();
        }
        if (is_valid && !is_known && !from_inside) {
            services.apply();
        }
        if (is_valid && (may_update || !is_known)) {
            may_add = !is_known;
            connections.apply();
            if (may_add) {
                // No entry, no packet: its answers would be refused.
                is_valid = is_added;
                cells.write(number & (N_CELLS - 1), number ++ (bit<8>)state);
                segment.is_of_opener = true;
                windows.write(number & (N_CELLS - 1), opened_by(segment));
            }
        }

        if (is_valid) {
            standard.egress_spec = from_inside ? OUTSIDE : INSIDE;
        } else {
            invalid_packets.count(0);
            mark_to_drop(standard);
        }
    }
}

V1Switch(ReadSegment(), NoVerify(), Track(), NoEgress(), NoCompute(), WriteSegment()) main;
