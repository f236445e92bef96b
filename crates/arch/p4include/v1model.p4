// SPDX-License-Identifier: Apache-2.0
//
// v1model: the switch of P4-14 in P4-16 dress. One parser, ingress, a queueing
// and replication stage, egress, one deparser. The behaviour described here is
// that of BMv2's simple_switch.
//
// A program chooses the version of this file by defining V1MODEL_VERSION before
// including it:
//   20180101  (default) counter, meter and register are indexed with bit<32>;
//   20200408  their index type is a type parameter, and PortId_t exists.

#ifndef _V1_MODEL_P4_
#define _V1_MODEL_P4_

#include "core.p4"

#ifndef V1MODEL_VERSION
#define V1MODEL_VERSION 20180101
#endif

/// The version in use, for the compiler and for `static_assert`.
const bit<32> __v1model_version = V1MODEL_VERSION;

match_kind {
    range,     /// Between two bounds, both inclusive.
    optional,  /// Either exactly the value of the entry or anything at all.
    selector   /// Not compared: input to the hash of an `action_selector`.
}

// ---------------------------------------------------------------------------
// Metadata
// ---------------------------------------------------------------------------

#if V1MODEL_VERSION >= 20200408
/// A port number.
typedef bit<9>  PortId_t;
#endif

/// What the switch and the program tell each other about a packet. The name
/// `standard_metadata` is reserved by the back ends. `@alias` gives the name a
/// field has inside BMv2.
@metadata @name("standard_metadata")
struct standard_metadata_t {
#if V1MODEL_VERSION >= 20200408
    PortId_t    ingress_port;  /// Port of arrival, read-only.
    PortId_t    egress_spec;   /// Set in ingress: port to send to. The drop port (511) drops, in egress too.
    PortId_t    egress_port;   /// In egress, read-only: port the packet is to leave by.
#else
    bit<9>      ingress_port;  /// Port of arrival, read-only.
    bit<9>      egress_spec;   /// Set in ingress: port to send to. The drop port (511) drops, in egress too.
    bit<9>      egress_port;   /// In egress, read-only: port the packet is to leave by.
#endif
    /// Why this copy exists: 0 new packet, 1 ingress clone, 2 egress clone,
    /// 4 recirculated, 5 multicast replica, 6 resubmitted.
    bit<32>     instance_type;
    /// Length in bytes on arrival or recirculation. In clones and resubmitted
    /// packets 0 unless preserved.
    bit<32>     packet_length;

    /// Time of entry into the egress queue, in microseconds.
    @alias("queueing_metadata.enq_timestamp")
    bit<32> enq_timestamp;
    /// Queue depth at enqueue, in packets.
    @alias("queueing_metadata.enq_qdepth")
    bit<19> enq_qdepth;
    /// Time spent in the queue, in microseconds.
    @alias("queueing_metadata.deq_timedelta")
    bit<32> deq_timedelta;
    /// Queue depth at dequeue, in packets.
    @alias("queueing_metadata.deq_qdepth")
    bit<19> deq_qdepth;

    /// Start of ingress processing, in microseconds since the switch started.
    @alias("intrinsic_metadata.ingress_global_timestamp")
    bit<48> ingress_global_timestamp;
    /// Start of egress processing, same clock.
    @alias("intrinsic_metadata.egress_global_timestamp")
    bit<48> egress_global_timestamp;
    /// Set in ingress: multicast group to replicate to; 0 is none.
    @alias("intrinsic_metadata.mcast_grp")
    bit<16> mcast_grp;
    /// In egress: which replica of a multicast packet this is.
    @alias("intrinsic_metadata.egress_rid")
    bit<16> egress_rid;
    /// 1 in ingress if a `verify_checksum` call found a wrong checksum.
    bit<1>  checksum_error;
    /// How the parser ended; error.NoError when it accepted.
    error parser_error;
    /// Set in ingress: egress queue, where the target has several per port.
    @alias("intrinsic_metadata.priority")
    bit<3> priority;
}

// ---------------------------------------------------------------------------
// Counters, meters, registers
// ---------------------------------------------------------------------------

/// What a counter counts.
enum CounterType {
    packets,
    bytes,
    packets_and_bytes
}

/// What a meter measures the rate of.
enum MeterType {
    packets,
    bytes
}

// Results of a meter, as in RFC 2697 and RFC 2698.
#define V1MODEL_METER_COLOR_GREEN  0
#define V1MODEL_METER_COLOR_YELLOW 1
#define V1MODEL_METER_COLOR_RED    2

#if V1MODEL_VERSION >= 20200408

/// An array of `size` counters. The program counts, the control plane reads.
extern counter<I> {
    counter(bit<32> size, CounterType type);
    /// Adds this packet to one counter, atomically. An index of `size` or more
    /// changes nothing.
    void count(in I index);
}

/// An array of `size` meters, configured by the control plane.
extern meter<I> {
    meter(bit<32> size, MeterType type);
    /// Passes this packet through one meter, atomically, and gives its colour
    /// (V1MODEL_METER_COLOR_*); `T` is bit<W> with W >= 2. With an index of
    /// `size` or more no meter changes and `result` is unspecified.
    void execute_meter<T>(in I index, out T result);
}

/// An array of `size` elements of type `T` (bit<W> in BMv2) that live on from
/// packet to packet. A read followed by a write is atomic only under @atomic.
extern register<T, I> {
    register(bit<32> size);
    /// Gives one element. With an index of `size` or more `result` is
    /// unspecified.
    @noSideEffects
    void read(out T result, in I index);
    /// Sets one element. An index of `size` or more changes nothing.
    void write(in I index, in T value);
}

#else

/// An array of `size` counters. The program counts, the control plane reads.
extern counter {
    counter(bit<32> size, CounterType type);
    /// Adds this packet to one counter, atomically. An index of `size` or more
    /// changes nothing.
    void count(in bit<32> index);
}

/// An array of `size` meters, configured by the control plane.
extern meter {
    meter(bit<32> size, MeterType type);
    /// Passes this packet through one meter, atomically, and gives its colour
    /// (V1MODEL_METER_COLOR_*); `T` is bit<W> with W >= 2. With an index of
    /// `size` or more no meter changes and `result` is unspecified.
    void execute_meter<T>(in bit<32> index, out T result);
}

/// An array of `size` elements of type `T` (bit<W> in BMv2) that live on from
/// packet to packet. A read followed by a write is atomic only under @atomic.
extern register<T> {
    register(bit<32> size);
    /// Gives one element. With an index of `size` or more `result` is
    /// unspecified.
    @noSideEffects
    void read(out T result, in bit<32> index);
    /// Sets one element. An index of `size` or more changes nothing.
    void write(in bit<32> index, in T value);
}

#endif

/// One counter per entry of the one table whose property `counters` names it.
extern direct_counter {
    direct_counter(CounterType type);
    /// Needless here: every hit counts, whether or not the action says so.
    void count();
}

/// One meter per entry of the one table whose property `meters` names it. A hit
/// runs the meter of the entry.
extern direct_meter<T> {
    direct_meter(MeterType type);
    /// In an action of that table: the colour the meter gave this packet, 0
    /// green, 1 yellow, 2 red; `T` is bit<W> with W >= 2.
    void read(out T result);
}

// ---------------------------------------------------------------------------
// Table implementations: for the table property `implementation`
// ---------------------------------------------------------------------------

/// Actions with data that the entries of a table share; at most `size` members.
extern action_profile {
    action_profile(bit<32> size);
}

// ---------------------------------------------------------------------------
// Hashes, random numbers and checksums
// ---------------------------------------------------------------------------

/// Hash and checksum functions. The `_custom` ones take their polynomial from
/// the control plane.
enum HashAlgorithm {
    crc32,
    crc32_custom,
    crc16,
    crc16_custom,
    random,
    identity,
    csum16,    /// Ones' complement of the ones' complement sum of 16-bit words (RFC 1071).
    xor16      /// Exclusive or of 16-bit words.
}

/// An action profile whose members also form groups. `algorithm` over the
/// `selector` keys of the table, cut to `outputWidth` bits, picks the member.
extern action_selector {
    action_selector(HashAlgorithm algorithm, bit<32> size, bit<32> outputWidth);
}

/// Gives `base` + h mod `max`, where h is the hash of the tuple `data`, or
/// `base` when `max` is 0. `O`, `T` and `M` are bit types, maybe of different
/// widths.
@pure
extern void hash<O, T, D, M>(out O result, in HashAlgorithm algo, in T base, in D data, in M max);

/// Gives a random number between `lo` and `hi`, both inclusive; unspecified if
/// `lo` > `hi`.
extern void random<T>(out T result, in T lo, in T hi);

/// The 16-bit checksum of old programs.
@deprecated("Please use verify_checksum/update_checksum instead.")
extern Checksum16 {
    Checksum16();
    bit<16> get<D>(in D data);
}

// In the four functions below `data` is a tuple whose width is a multiple of
// the width of `O`, which is a bit type, and `algo` is known at compile time.
// "Payload" is what the parser left unparsed.

/// In VerifyChecksum: where `condition` holds and `checksum` is not that of
/// `data`, sets standard_metadata.checksum_error for ingress to see.
extern void verify_checksum<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);

/// In ComputeChecksum: where `condition` holds, sets `checksum` to that of
/// `data`.
@pure
extern void update_checksum<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

/// `verify_checksum` over `data` followed by the payload.
extern void verify_checksum_with_payload<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);

/// `update_checksum` over `data` followed by the payload.
@noSideEffects
extern void update_checksum_with_payload<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

// ---------------------------------------------------------------------------
// What becomes of the packet
// ---------------------------------------------------------------------------

// The `_preserving_field_list` functions keep those user metadata fields that
// carry @field_list(...) with the given index; all others start afresh. A call
// takes effect at the end of the control, and of several calls of one kind only
// the last counts.

@deprecated("Please use mark_to_drop(standard_metadata) instead.")
extern void mark_to_drop();

/// Sets egress_spec to the drop port and mcast_grp to 0. Later assignments to
/// those fields undo it; clones and the like are not affected.
@pure
extern void mark_to_drop(inout standard_metadata_t standard_metadata);

/// Where a clone starts from.
enum CloneType {
    I2E,  /// Called in ingress: the packet as it came in, to egress.
    E2E   /// Called in egress: the packet as it will leave, to egress again.
}

/// Sends copies, to the ports that the control plane gave clone session
/// `session`, through egress. No user metadata goes along.
extern void clone(in CloneType type, in bit<32> session);

/// `clone`, with the user metadata of field list `index`.
extern void clone_preserving_field_list(in CloneType type, in bit<32> session, bit<8> index);

@deprecated("Please use 'clone_preserving_field_list' instead")
extern void clone3<T>(in CloneType type, in bit<32> session, in T data);

/// In ingress: parses the unchanged packet again instead of sending it on, with
/// the user metadata of field list `index`.
extern void resubmit_preserving_field_list(bit<8> index);

@deprecated("Please use 'resubmit_preserving_field_list' instead")
extern void resubmit<T>(in T data);

/// In egress: parses the deparsed packet again instead of transmitting it, with
/// the user metadata of field list `index`.
extern void recirculate_preserving_field_list(bit<8> index);

@deprecated("Please use 'recirculate_preserving_field_list' instead")
extern void recirculate<T>(in T data);

/// Cuts the outgoing packet to at most `length` bytes.
extern void truncate(in bit<32> length);

// ---------------------------------------------------------------------------
// Control plane and debugging
// ---------------------------------------------------------------------------

/// In ingress: sends `data`, with the values it has now, to the control plane.
/// A named struct type gives the digest its name. BMv2 ignores `receiver`.
extern void digest<T>(in bit<32> receiver, in T data);

/// Reports a failure if `check` is false; BMv2 logs it and exits. `check` should
/// have no side effects, since a compiler may be told to drop assertions.
extern void assert(in bool check);

/// As `assert` at run time. To a verifier it is a premise: packets for which
/// `check` is false are of no interest.
extern void assume(in bool check);

/// Writes `msg` to the log of the switch.
extern void log_msg(string msg);

/// Writes `msg` with each `{}` replaced by the next member of the tuple `data`.
extern void log_msg<T>(string msg, in T data);

// ---------------------------------------------------------------------------
// The pipeline, in the order of execution
// ---------------------------------------------------------------------------

// `H` is a struct of headers, header stacks and header unions; `M` is a struct.

parser Parser<H, M>(packet_in b,
                    out H parsedHdr,
                    inout M meta,
                    inout standard_metadata_t standard_metadata);

/// Holds calls of `verify_checksum` and `verify_checksum_with_payload` only.
control VerifyChecksum<H, M>(inout H hdr,
                             inout M meta);

@pipeline
control Ingress<H, M>(inout H hdr,
                      inout M meta,
                      inout standard_metadata_t standard_metadata);

@pipeline
control Egress<H, M>(inout H hdr,
                     inout M meta,
                     inout standard_metadata_t standard_metadata);

/// Holds calls of `update_checksum` and `update_checksum_with_payload` only.
control ComputeChecksum<H, M>(inout H hdr,
                              inout M meta);

/// Holds calls of `packet_out.emit` only.
@deparser
control Deparser<H>(packet_out b, in H hdr);

package V1Switch<H, M>(Parser<H, M> p,
                       VerifyChecksum<H, M> vr,
                       Ingress<H, M> ig,
                       Egress<H, M> eg,
                       ComputeChecksum<H, M> ck,
                       Deparser<H> dep
                       );

#endif
