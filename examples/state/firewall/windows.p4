// What a tracker of TCP connections knows beside the state: how far both sides have come with their sequence numbers, and
// the last packets that may tell that it is out of step. The rules are those of Linux (nf_conntrack_proto_tcp.c), without
// selective acknowledgements.

#ifndef EXAMPLES_STATE_WINDOWS_P4
#define EXAMPLES_STATE_WINDOWS_P4

enum bit<8> State {
    NONE = 0,
    SYN_SENT = 1,
    SYN_RECEIVED = 2,
    ESTABLISHED = 3,
    FIN_WAIT = 4,
    CLOSE_WAIT = 5,
    LAST_ACK = 6,
    TIME_WAIT = 7,
    CLOSED = 8,
    // Both sides have sent a SYN.
    SYN_SENT_TWICE = 9,
    // UDP and ICMP: one direction has been seen, or both.
    ONE_WAY = 10,
    TWO_WAY = 11
}

enum bit<4> Kind {
    SYN = 0,
    SYN_ACK = 1,
    FIN = 2,
    ACK = 3,
    RST = 4,
    DATAGRAM = 5,
    INVALID = 6,
    // Requests and replies of ICMP.
    ECHO = 7,
    ECHO_REPLY = 8
}

// An acknowledgement may be this old, whatever the window.
const bit<32> OLD_ACKNOWLEDGEMENT = 66000;

// One side of a connection. A window of 0 bytes means that it has sent nothing yet.
struct Window {
    // Behind the last byte that it has sent.
    bit<32> end;
    // Behind the last byte that the other side takes.
    bit<32> end_max;
    bit<32> window_max;
    // The highest acknowledgement.
    bit<32> acknowledged;
    bit<4> scale;
    bool has_scale;
    bool has_acknowledged;
}

struct Tracking {
    Window opener;
    Window other;
    // The last packet that counted, or that was let through although it did not fit.
    Kind last_kind;
    bool last_is_of_opener;
    bit<32> last_end;
    bit<32> last_acknowledgement;
    bit<16> last_window;
    bit<4> last_scale;
    bool last_has_scale;
    // A SYN while the last ACK was awaited: the next ACK may answer it.
    bool expects_challenge;
    bool is_simultaneous;
    // A FIN has come while the connection was open.
    bool is_closing;
    bool is_answered;
    // Both sides have confirmed that there is a connection.
    bool is_assured;
}

// The packet, as far as tracking looks at it.
struct Segment {
    Kind kind;
    bool is_of_opener;
    bit<8> flags;
    bit<32> sequence;
    // The sequence number behind it.
    bit<32> end;
    bit<32> acknowledgement;
    bit<16> window;
    bool has_options;
    bool has_scale;
    bit<4> scale;
}

enum bit<2> Verdict {
    REFUSE = 0,
    // It passes and changes no state.
    PASS = 1,
    // It passes and the connection has the new state.
    BECOME = 2
}

/// Sequence numbers wrap.
bool is_before(in bit<32> one, in bit<32> other) {
    bit<32> difference = one - other;
    return difference[31:31] == 1;
}

bit<32> at_least_one(in bit<32> n) {
    return n == 0 ? 1 : n;
}

/// A side that has sent nothing.
Window unseen() {
    return {
        end = 0,
        end_max = 0,
        window_max = 0,
        acknowledged = 0,
        scale = 0,
        has_scale = false,
        has_acknowledged = false
    };
}

/// A connection of which nothing is known.
Tracking untracked() {
    return {
        opener = unseen(),
        other = unseen(),
        last_kind = Kind.INVALID,
        last_is_of_opener = false,
        last_end = 0,
        last_acknowledgement = 0,
        last_window = 0,
        last_scale = 0,
        last_has_scale = false,
        expects_challenge = false,
        is_simultaneous = false,
        is_closing = false,
        is_answered = false,
        is_assured = false
    };
}

/// A side begins, or begins again, with a SYN.
void begin_side(inout Window sender, inout Window receiver, in Segment segment) {
    sender.end = segment.end;
    sender.end_max = segment.end;
    sender.window_max = at_least_one((bit<32>)segment.window);
    if (segment.has_options) {
        sender.scale = segment.scale;
        sender.has_scale = segment.has_scale;
    }
    // Windows are scaled if both sides say so.
    if (!segment.is_of_opener && !(sender.has_scale && receiver.has_scale)) {
        sender.scale = 0;
        receiver.scale = 0;
    }
}

/// Compares the numbers of a segment with those of the connection, and notes them.
Verdict in_window(inout Window sender, inout Window receiver, in Segment segment, in State state) {
    bool is_syn = segment.flags & 0x02 != 0;
    bool is_rst = segment.flags & 0x04 != 0;
    bool has_ack = segment.flags & 0x10 != 0;
    bit<32> sequence = segment.sequence;
    bit<32> end = segment.end;
    bit<32> acknowledgement = segment.acknowledgement;
    bit<32> window = (bit<32>)segment.window;

    bool is_first = sender.window_max == 0;
    bool is_repeated =
        is_before(sender.end, end) && (state == State.SYN_SENT || state == State.SYN_RECEIVED);
    if (is_syn && (is_first || is_repeated)) {
        begin_side(sender, receiver, segment);
        if (!has_ack && (is_first || !segment.is_of_opener)) {
            return Verdict.BECOME;
        }
    } else if (is_first) {
        // Its SYN was not seen.
        sender.end = end;
        sender.window_max = at_least_one(window << sender.scale);
        sender.end_max = end + sender.window_max;
        if (receiver.window_max == 0) {
            receiver.end = acknowledgement;
            receiver.end_max = acknowledgement;
        } else if (acknowledgement == receiver.end + 1) {
            receiver.end = receiver.end + 1;
        }
    }

    if (!has_ack || (is_rst && acknowledgement == 0)) {
        acknowledgement = receiver.end;
    }
    if (is_rst && sequence == 0 && state == State.SYN_SENT) {
        // The answer to a SYN.
        sequence = sender.end;
        end = sender.end;
    }

    bit<32> oldest =
        receiver.end
        - 1
        - (sender.window_max > OLD_ACKNOWLEDGEMENT ? sender.window_max : OLD_ACKNOWLEDGEMENT);
    bool is_acknowledgement_new = is_before(oldest, acknowledgement);
    bool is_acknowledgement_sent = is_before(acknowledgement, receiver.end + 1);
    bool is_end_in_window = is_before(sender.end - receiver.window_max - 1, end);

    if (!is_before(sequence, sender.end_max + 1)) {
        bit<32> excess = end - sender.end_max + 1;
        if (
            receiver.window_max != 0
            && is_end_in_window
            && is_acknowledgement_new
            && excess <= receiver.window_max
            && is_acknowledgement_sent
        ) {
            // It sends a little more than it may. The other side may acknowledge that.
            sender.end = end;
            return Verdict.PASS;
        }
        return Verdict.REFUSE;
    }
    if (!is_acknowledgement_sent) {
        return Verdict.REFUSE;
    }
    if ((receiver.window_max != 0 && !is_end_in_window) || !is_acknowledgement_new) {
        // Old, and harmless.
        return Verdict.PASS;
    }

    if (!is_syn) {
        window = window << sender.scale;
    }
    if (sender.window_max < window) {
        sender.window_max = window;
    }
    if (is_before(sender.end, end)) {
        sender.end = end;
    }
    if (has_ack && (!sender.has_acknowledged || is_before(sender.acknowledged, acknowledgement))) {
        sender.acknowledged = acknowledgement;
        sender.has_acknowledged = true;
    }
    if (receiver.window_max != 0 && is_before(sender.end_max, end)) {
        receiver.window_max = receiver.window_max + (end - sender.end_max);
    }
    if (is_before(receiver.end_max - 1, acknowledgement + window)) {
        receiver.end_max = acknowledgement + at_least_one(window);
    }
    return Verdict.BECOME;
}

/// The first SYN of a connection.
Tracking opened_by(in Segment segment) {
    Tracking tracking = untracked();
    begin_side(tracking.opener, tracking.other, segment);
    tracking.last_kind = Kind.SYN;
    tracking.last_is_of_opener = true;
    return tracking;
}

/// A SYN, an answer to one, or an ACK that may show that the tracker is out of step.
void note(inout Tracking tracking, in Segment segment, in State state) {
    tracking.last_kind = segment.kind;
    tracking.last_is_of_opener = segment.is_of_opener;
    tracking.last_end = segment.end;
    tracking.last_window = segment.window;
    if (segment.kind == Kind.SYN && segment.is_of_opener) {
        tracking.last_has_scale = segment.has_scale;
        tracking.last_scale = segment.scale;
        tracking.is_simultaneous = false;
        tracking.expects_challenge = state == State.LAST_ACK;
    }
    if (state == State.SYN_SENT && segment.kind == Kind.ACK && !segment.is_of_opener) {
        tracking.last_acknowledgement = segment.acknowledgement;
    }
}

/// Both hosts are in step with each other: the connection is that of the SYN that was let through.
void resynchronise(inout Tracking tracking) {
    Window fresh = {
        end = tracking.last_end,
        end_max = tracking.last_end,
        window_max = at_least_one((bit<32>)tracking.last_window),
        acknowledged = 0,
        scale = tracking.last_scale,
        has_scale = tracking.last_has_scale,
        has_acknowledged = false
    };
    tracking.expects_challenge = false;
    if (tracking.last_is_of_opener) {
        tracking.opener = fresh;
        tracking.other = unseen();
    } else {
        tracking.other = fresh;
        tracking.opener = unseen();
    }
}

/// A reset: REFUSE if its number is wrong, PASS if it counts without a look at the window, BECOME if the window decides.
/// `next` stays the old state where the other host is to be asked by the answer.
Verdict reset(in Tracking tracking, in Segment segment, in State state, inout State next) {
    if (
        state == State.FIN_WAIT
        || state == State.CLOSE_WAIT
        || state == State.LAST_ACK
        || state == State.TIME_WAIT
        || state == State.CLOSED
    ) {
        return Verdict.PASS;
    }
    bit<32> expected =
        segment.is_of_opener ? tracking.other.acknowledged : tracking.opener.acknowledged;
    bool is_expected =
        segment.is_of_opener ? tracking.other.has_acknowledged : tracking.opener.has_acknowledged;
    bool is_established = state == State.ESTABLISHED && tracking.is_assured;
    if (is_expected && tracking.last_kind != Kind.SYN) {
        if (segment.sequence == 0 && !is_established) {
            return Verdict.BECOME;
        }
        if (is_before(segment.sequence, expected)) {
            return Verdict.REFUSE;
        }
        bool is_of_train =
            tracking.last_kind == Kind.ACK
            && tracking.last_is_of_opener == segment.is_of_opener
            && segment.sequence == tracking.last_end;
        if (!is_established || segment.sequence == expected || is_of_train) {
            return Verdict.BECOME;
        }
        next = state;
    }
    if (
        (
            (tracking.is_answered && tracking.last_kind == Kind.SYN)
            || (!tracking.is_assured && tracking.last_kind == Kind.ACK)
        )
        && segment.acknowledgement == tracking.last_end
    ) {
        return Verdict.PASS;
    }
    if (
        state == State.SYN_SENT
        && tracking.last_kind == Kind.ACK
        && !tracking.last_is_of_opener
        && segment.sequence == tracking.last_acknowledgement
    ) {
        return Verdict.PASS;
    }
    return Verdict.BECOME;
}

/// Whether a segment belongs to its connection, whose state changes from `state` to `next`. `next` may change.
Verdict follow(inout Tracking tracking, in Segment segment, in State state, inout State next) {
    bool decides_window = true;
    State before = state;
    if (next == State.TIME_WAIT && state == State.LAST_ACK && segment.kind == Kind.ACK) {
        if (
            tracking.last_is_of_opener != segment.is_of_opener
            && tracking.last_kind == Kind.SYN
            && tracking.expects_challenge
        ) {
            // It answers the SYN, not the last FIN.
            tracking.expects_challenge = false;
            return Verdict.PASS;
        }
    } else if (next == State.SYN_SENT_TWICE) {
        tracking.is_simultaneous = true;
    } else if (
        next == State.SYN_RECEIVED
        && segment.kind == Kind.ACK
        && !segment.is_of_opener
        && tracking.is_simultaneous
    ) {
        next = State.ESTABLISHED;
    } else if (segment.kind == Kind.RST) {
        Verdict verdict = reset(tracking, segment, state, next);
        if (verdict == Verdict.REFUSE) {
            return Verdict.REFUSE;
        }
        decides_window = verdict == Verdict.BECOME;
    }

    if (decides_window) {
        Window sender = tracking.opener;
        Window receiver = tracking.other;
        if (!segment.is_of_opener) {
            sender = tracking.other;
            receiver = tracking.opener;
        }
        Verdict verdict = in_window(sender, receiver, segment, before);
        if (segment.is_of_opener) {
            tracking.opener = sender;
            tracking.other = receiver;
        } else {
            tracking.other = sender;
            tracking.opener = receiver;
        }
        if (verdict == Verdict.REFUSE) {
            bool is_end = segment.kind == Kind.RST || segment.kind == Kind.FIN;
            bool was_end = tracking.last_kind == Kind.RST || tracking.last_kind == Kind.FIN;
            bool is_answer = was_end && tracking.last_is_of_opener != segment.is_of_opener;
            if (tracking.is_assured && is_end && !is_answer) {
                tracking.last_kind = segment.kind;
                tracking.last_is_of_opener = segment.is_of_opener;
            }
        }
        if (verdict != Verdict.BECOME) {
            return verdict;
        }
        if (segment.kind == Kind.ACK) {
            tracking.last_end = segment.end;
            tracking.last_acknowledgement = segment.acknowledgement;
            tracking.last_window = segment.window;
        }
    }
    tracking.last_kind = segment.kind;
    tracking.last_is_of_opener = segment.is_of_opener;
    if (next == State.FIN_WAIT && state != State.FIN_WAIT) {
        tracking.is_closing = true;
    }
    if (
        tracking.is_answered
        && next == State.ESTABLISHED
        && (state == State.SYN_RECEIVED || state == State.ESTABLISHED)
    ) {
        tracking.is_assured = true;
    }
    return Verdict.BECOME;
}

/// The window scale among the options of a SYN.
void read_scale(in bit<320> options, in bit<8> n_bytes, inout Segment segment) {
    bit<320> rest = options;
    bit<8> n_left = n_bytes;
    for (bit<8> i in 1 .. 40) {
        bit<8> kind = rest[319:312];
        bit<8> length = kind == 1 ? 1 : rest[311:304];
        if (
            n_left == 0 || kind == 0 || (kind != 1 && (n_left < 2 || length < 2)) || length > n_left
        ) {
            break;
        }
        if (kind == 3 && length == 3) {
            bit<8> scale = rest[303:296];
            segment.has_scale = true;
            segment.scale = scale > 14 ? 14 : scale[3:0];
        }
        n_left = n_left - length;
        rest = rest << ((bit<16>)length * 8);
    }
}

#endif
