// SPDX-License-Identifier: Apache-2.0
//
// PSA, the Portable Switch Architecture 1.2, with the type widths of BMv2
// psa_switch. An ingress and an egress pipeline, each of parser, control and
// deparser, with a packet replication engine between them and a buffering and
// queueing engine behind.

#ifndef __PSA_P4__
#define __PSA_P4__

#include <core.p4>

// ---------------------------------------------------------------------------
// Types of the data plane
// ---------------------------------------------------------------------------

// Each notion has two names. `<Name>_t` is a distinct type: the P4Runtime
// server may translate its values between data plane and controller, and the
// compiler keeps them apart from other numbers. `<Name>Uint_t` is the plain
// bit<W> beneath; cast to it for arithmetic.

typedef bit<32> PortIdUint_t;
typedef bit<32> MulticastGroupUint_t;
typedef bit<16> CloneSessionIdUint_t;
typedef bit<8>  ClassOfServiceUint_t;
typedef bit<16> PacketLengthUint_t;
typedef bit<16> EgressInstanceUint_t;
typedef bit<64> TimestampUint_t;

/// A port of the switch.
@p4runtime_translation("p4.org/psa/v1/PortId_t", 32)
type PortIdUint_t         PortId_t;
/// A group known to the packet replication engine; 0 is no group.
@p4runtime_translation("p4.org/psa/v1/MulticastGroup_t", 32)
type MulticastGroupUint_t MulticastGroup_t;
/// Tells where clones go and how long they may be; set up by the control plane.
@p4runtime_translation("p4.org/psa/v1/CloneSessionId_t", 16)
type CloneSessionIdUint_t CloneSessionId_t;
/// What a packet may expect of the queues.
@p4runtime_translation("p4.org/psa/v1/ClassOfService_t", 8)
type ClassOfServiceUint_t ClassOfService_t;
/// Length of a packet in bytes.
@p4runtime_translation("p4.org/psa/v1/PacketLength_t", 16)
type PacketLengthUint_t   PacketLength_t;
/// Tells apart the copies of one packet.
@p4runtime_translation("p4.org/psa/v1/EgressInstance_t", 16)
type EgressInstanceUint_t EgressInstance_t;
/// A reading of the clock of the switch; the unit is up to the target.
@p4runtime_translation("p4.org/psa/v1/Timestamp_t", 64)
type TimestampUint_t      Timestamp_t;

/// How a parser ended.
typedef error   ParserError_t;

/// A packet sent here starts over at the ingress parser.
const PortId_t PSA_PORT_RECIRCULATE = (PortId_t) 0xfffffffa;
/// A packet sent here goes to the control plane.
const PortId_t PSA_PORT_CPU = (PortId_t) 0xfffffffd;

/// The clone session whose copies go to the control plane.
const CloneSessionId_t PSA_CLONE_SESSION_TO_CPU = (CloneSessionId_t) 0;

// ---------------------------------------------------------------------------
// The same types inside packet headers
// ---------------------------------------------------------------------------

// Fields of headers that pass between data plane and P4Runtime server have
// `InHeader` types. Their widths are whole bytes, the same on every PSA target,
// and enough for any of them.

typedef bit<32> PortIdInHeaderUint_t;
typedef bit<32> MulticastGroupInHeaderUint_t;
typedef bit<16> CloneSessionIdInHeaderUint_t;
typedef bit<8>  ClassOfServiceInHeaderUint_t;
typedef bit<16> PacketLengthInHeaderUint_t;
typedef bit<16> EgressInstanceInHeaderUint_t;
typedef bit<64> TimestampInHeaderUint_t;

@p4runtime_translation("p4.org/psa/v1/PortIdInHeader_t", 32)
type PortIdInHeaderUint_t         PortIdInHeader_t;
@p4runtime_translation("p4.org/psa/v1/MulticastGroupInHeader_t", 32)
type MulticastGroupInHeaderUint_t MulticastGroupInHeader_t;
@p4runtime_translation("p4.org/psa/v1/CloneSessionIdInHeader_t", 16)
type CloneSessionIdInHeaderUint_t CloneSessionIdInHeader_t;
@p4runtime_translation("p4.org/psa/v1/ClassOfServiceInHeader_t", 8)
type ClassOfServiceInHeaderUint_t ClassOfServiceInHeader_t;
@p4runtime_translation("p4.org/psa/v1/PacketLengthInHeader_t", 16)
type PacketLengthInHeaderUint_t   PacketLengthInHeader_t;
@p4runtime_translation("p4.org/psa/v1/EgressInstanceInHeader_t", 16)
type EgressInstanceInHeaderUint_t EgressInstanceInHeader_t;
@p4runtime_translation("p4.org/psa/v1/TimestampInHeader_t", 64)
type TimestampInHeaderUint_t      TimestampInHeader_t;

// Conversions between the two families. A cast between two distinct types has
// to pass through the bit<W> beneath each of them, hence three casts; the
// middle one changes the width, cutting or zero-filling at the top.

PortIdInHeader_t psa_PortId_int_to_header(in PortId_t x) {
    return (PortIdInHeader_t) (PortIdInHeaderUint_t) (PortIdUint_t) x;
}
PortId_t psa_PortId_header_to_int(in PortIdInHeader_t x) {
    return (PortId_t) (PortIdUint_t) (PortIdInHeaderUint_t) x;
}

MulticastGroupInHeader_t psa_MulticastGroup_int_to_header(in MulticastGroup_t x) {
    return (MulticastGroupInHeader_t) (MulticastGroupInHeaderUint_t) (MulticastGroupUint_t) x;
}
MulticastGroup_t psa_MulticastGroup_header_to_int(in MulticastGroupInHeader_t x) {
    return (MulticastGroup_t) (MulticastGroupUint_t) (MulticastGroupInHeaderUint_t) x;
}

CloneSessionIdInHeader_t psa_CloneSessionId_int_to_header(in CloneSessionId_t x) {
    return (CloneSessionIdInHeader_t) (CloneSessionIdInHeaderUint_t) (CloneSessionIdUint_t) x;
}
CloneSessionId_t psa_CloneSessionId_header_to_int(in CloneSessionIdInHeader_t x) {
    return (CloneSessionId_t) (CloneSessionIdUint_t) (CloneSessionIdInHeaderUint_t) x;
}

ClassOfServiceInHeader_t psa_ClassOfService_int_to_header(in ClassOfService_t x) {
    return (ClassOfServiceInHeader_t) (ClassOfServiceInHeaderUint_t) (ClassOfServiceUint_t) x;
}
ClassOfService_t psa_ClassOfService_header_to_int(in ClassOfServiceInHeader_t x) {
    return (ClassOfService_t) (ClassOfServiceUint_t) (ClassOfServiceInHeaderUint_t) x;
}

PacketLengthInHeader_t psa_PacketLength_int_to_header(in PacketLength_t x) {
    return (PacketLengthInHeader_t) (PacketLengthInHeaderUint_t) (PacketLengthUint_t) x;
}
PacketLength_t psa_PacketLength_header_to_int(in PacketLengthInHeader_t x) {
    return (PacketLength_t) (PacketLengthUint_t) (PacketLengthInHeaderUint_t) x;
}

EgressInstanceInHeader_t psa_EgressInstance_int_to_header(in EgressInstance_t x) {
    return (EgressInstanceInHeader_t) (EgressInstanceInHeaderUint_t) (EgressInstanceUint_t) x;
}
EgressInstance_t psa_EgressInstance_header_to_int(in EgressInstanceInHeader_t x) {
    return (EgressInstance_t) (EgressInstanceUint_t) (EgressInstanceInHeaderUint_t) x;
}

TimestampInHeader_t psa_Timestamp_int_to_header(in Timestamp_t x) {
    return (TimestampInHeader_t) (TimestampInHeaderUint_t) (TimestampUint_t) x;
}
Timestamp_t psa_Timestamp_header_to_int(in TimestampInHeader_t x) {
    return (Timestamp_t) (TimestampUint_t) (TimestampInHeaderUint_t) x;
}

// ---------------------------------------------------------------------------
// Tables
// ---------------------------------------------------------------------------

match_kind {
    range,     /// Between two bounds, both inclusive.
    selector,  /// Not compared: input to the hash of an `ActionSelector`.
    optional   /// Either exactly the value of the entry or anything at all.
}

/// Values of the table property `psa_idle_timeout`.
enum PSA_IdleTimeout_t {
    NO_TIMEOUT,     /// Entries stay until removed; the default.
    NOTIFY_CONTROL  /// The control plane hears of entries that were not hit for long.
}

/// Actions with data that the entries of a table share; at most `size` members.
extern ActionProfile {
    ActionProfile(bit<32> size);
}

// ---------------------------------------------------------------------------
// Metadata
// ---------------------------------------------------------------------------

/// How a packet came to where it is.
enum PSA_PacketPath_t {
    NORMAL,            /// In ingress: from a port.
    NORMAL_UNICAST,    /// In egress: from ingress, to one port.
    NORMAL_MULTICAST,  /// In egress: a copy made for a multicast group.
    CLONE_I2E,         /// In egress: a clone made in ingress.
    CLONE_E2E,         /// In egress: a clone made in egress.
    RESUBMIT,          /// In ingress: sent back from ingress.
    RECIRCULATE        /// In ingress: sent back from egress.
}

struct psa_ingress_parser_input_metadata_t {
    PortId_t         ingress_port;  /// PSA_PORT_RECIRCULATE if recirculated; kept when resubmitted.
    PSA_PacketPath_t packet_path;
}

struct psa_ingress_input_metadata_t {
    PortId_t         ingress_port;
    PSA_PacketPath_t packet_path;
    Timestamp_t      ingress_timestamp;  /// When the ingress parser began with the packet.
    ParserError_t    parser_error;
}

/// What ingress decides. Checked in this order: `clone` (besides all else),
/// then `drop`, `resubmit`, `multicast_group` other than 0, `egress_port`.
struct psa_ingress_output_metadata_t {
    ClassOfService_t class_of_service;  /// Initially 0.
    bool             clone;             /// Initially false.
    CloneSessionId_t clone_session_id;  /// Initially undefined; read if `clone`.
    bool             drop;              /// Initially true.
    bool             resubmit;          /// Initially false.
    MulticastGroup_t multicast_group;   /// Initially 0, which is no multicast.
    PortId_t         egress_port;       /// Initially undefined.
}

struct psa_egress_parser_input_metadata_t {
    PortId_t         egress_port;
    PSA_PacketPath_t packet_path;
}

struct psa_egress_input_metadata_t {
    ClassOfService_t class_of_service;
    PortId_t         egress_port;
    PSA_PacketPath_t packet_path;
    EgressInstance_t instance;           /// From the replica list of the group or session.
    Timestamp_t      egress_timestamp;   /// When the egress parser began with the packet.
    ParserError_t    parser_error;
}

/// What egress decides. The port is settled before egress starts.
struct psa_egress_output_metadata_t {
    bool             clone;             /// Initially false.
    CloneSessionId_t clone_session_id;  /// Initially undefined; read if `clone`.
    bool             drop;              /// Initially false.
}

/// Lets the egress deparser see whether the packet recirculates.
struct psa_egress_deparser_input_metadata_t {
    PortId_t         egress_port;
}

// ---------------------------------------------------------------------------
// Deciding the fate of a packet
// ---------------------------------------------------------------------------

/// Sends one packet towards `egress_port`. Clone and resubmit stay as they are.
@noWarn("unused")
action send_to_port(inout psa_ingress_output_metadata_t meta,
                    in PortId_t egress_port)
{
    meta.drop = false;
    meta.multicast_group = (MulticastGroup_t) 0;
    meta.egress_port = egress_port;
}

/// Sends a copy to each member of `multicast_group`. Clone and resubmit stay as
/// they are.
@noWarn("unused")
action multicast(inout psa_ingress_output_metadata_t meta,
                 in MulticastGroup_t multicast_group)
{
    meta.drop = false;
    meta.multicast_group = multicast_group;
}

/// Sends nothing to egress and resubmits nothing; a clone is still made.
@noWarn("unused")
action ingress_drop(inout psa_ingress_output_metadata_t meta)
{
    meta.drop = true;
}

/// Transmits nothing; a clone is still made.
@noWarn("unused")
action egress_drop(inout psa_egress_output_metadata_t meta)
{
    meta.drop = true;
}

// A deparser may assign an out parameter of metadata only in an `if` on the
// function here that belongs to it.

/// In the ingress deparser, for `clone_i2e_meta`: istd.clone.
@pure
extern bool psa_clone_i2e(in psa_ingress_output_metadata_t istd);

/// In the ingress deparser, for `resubmit_meta`: !istd.drop && istd.resubmit.
@pure
extern bool psa_resubmit(in psa_ingress_output_metadata_t istd);

/// In the ingress deparser, for `normal_meta`: !istd.drop && !istd.resubmit.
@pure
extern bool psa_normal(in psa_ingress_output_metadata_t istd);

/// In the egress deparser, for `clone_e2e_meta`: istd.clone.
@pure
extern bool psa_clone_e2e(in psa_egress_output_metadata_t istd);

/// In the egress deparser, for `recirculate_meta`: !istd.drop and the port is
/// PSA_PORT_RECIRCULATE.
@pure
extern bool psa_recirculate(in psa_egress_output_metadata_t istd,
                            in psa_egress_deparser_input_metadata_t edstd);

// ---------------------------------------------------------------------------
// Hashes, checksums and random numbers
// ---------------------------------------------------------------------------

/// Hash and checksum functions. The `_CUSTOM` ones take their polynomial from
/// the control plane.
enum PSA_HashAlgorithm_t {
    IDENTITY,
    CRC32,
    CRC32_CUSTOM,
    CRC16,
    CRC16_CUSTOM,
    ONES_COMPLEMENT16,  /// Internet checksum: that of IPv4, TCP and UDP.
    TARGET_DEFAULT      /// Whatever the target does best.
}

/// A hash function with results of type `O`.
extern Hash<O> {
    Hash(PSA_HashAlgorithm_t algo);

    /// Returns h, the hash of `data`.
    @pure
    O get_hash<D>(in D data);

    /// Returns `base` + h mod `max`. Portable programs keep `max` a small power
    /// of 2.
    @pure
    O get_hash<T, D>(in T base, in D data, in T max);
}

/// A checksum over data given in pieces. It starts cleared each time the parser
/// or control around it is applied.
extern Checksum<W> {
    Checksum(PSA_HashAlgorithm_t hash);

    /// Forgets all data.
    void clear();

    /// Appends `data`.
    void update<T>(in T data);

    /// Returns the checksum of the data since the last `clear`.
    @noSideEffects
    W get();
}

/// The ONES_COMPLEMENT16 checksum, which can also be updated incrementally (RFC
/// 1624). It starts cleared each time the parser or control around it is
/// applied. All data are multiples of 16 bits.
extern InternetChecksum {
    InternetChecksum();

    /// Forgets all data.
    void clear();

    /// Adds `data` to the sum.
    void add<T>(in T data);

    /// Takes `data` out of the sum.
    void subtract<T>(in T data);

    /// Returns the checksum of the data in the sum.
    @noSideEffects
    bit<16> get();

    /// Returns the state, good for nothing but `set_state`.
    @noSideEffects
    bit<16> get_state();

    /// Goes on from a state that this or another instance returned.
    void set_state(in bit<16> checksum_state);
}

/// A source of random numbers between `min` and `max`, both inclusive. Portable
/// programs let the number of values be a power of 2.
extern Random<T> {
    Random(T min, T max);
    T read();
}

/// An action profile whose members also form groups. `algo` over the `selector`
/// keys of the table, cut to `outputWidth` bits, picks the member.
extern ActionSelector {
    ActionSelector(PSA_HashAlgorithm_t algo, bit<32> size, bit<32> outputWidth);
}

// ---------------------------------------------------------------------------
// Counters, meters, registers
// ---------------------------------------------------------------------------

/// What a counter counts.
enum PSA_CounterType_t {
    PACKETS,
    BYTES,
    PACKETS_AND_BYTES
}

/// An array of `n_counters` counters of type `W`, indexed by `S`.
@noWarn("unused")
extern Counter<W, S> {
    Counter(bit<32> n_counters, PSA_CounterType_t type);
    void count(in S index);
#ifdef __PSA_DPDK__
    /// Counts `pkt_len` bytes.
    void count(in S index, in bit<32> pkt_len);
#endif
}

/// A counter per entry of the table whose `psa_direct_counter` names it; the
/// actions of that table update it.
@noWarn("unused")
extern DirectCounter<W> {
    DirectCounter(PSA_CounterType_t type);
    void count();
#ifdef __PSA_DPDK__
    /// Counts `pkt_len` bytes.
    void count(in bit<32> pkt_len);
#endif
}

/// What a meter measures the rate of.
enum PSA_MeterType_t {
    PACKETS,
    BYTES
}

/// Result of a meter (RFC 2698).
enum PSA_MeterColor_t { RED, GREEN, YELLOW }

/// An array of `n_meters` meters, indexed by `S`.
extern Meter<S> {
    Meter(bit<32> n_meters, PSA_MeterType_t type);

    /// Colour-aware: `color` is what the packet has had so far.
    PSA_MeterColor_t execute(in S index, in PSA_MeterColor_t color);

    /// Colour-blind, as if the packet had been green.
    PSA_MeterColor_t execute(in S index);
#ifdef __PSA_DPDK__
    /// The same for `pkt_len` bytes instead of the packet's length.
    PSA_MeterColor_t dpdk_execute(in S index, in PSA_MeterColor_t color, in bit<32> pkt_len);
    PSA_MeterColor_t dpdk_execute(in S index, in bit<32> pkt_len);
#endif
}

/// A meter per entry of the table whose `psa_direct_meter` names it; the actions
/// of that table run it, colour-aware or colour-blind.
extern DirectMeter {
    DirectMeter(PSA_MeterType_t type);
    PSA_MeterColor_t execute(in PSA_MeterColor_t color);
    PSA_MeterColor_t execute();
#ifdef __PSA_DPDK__
    /// The same for `pkt_len` bytes instead of the packet's length.
    PSA_MeterColor_t dpdk_execute(in PSA_MeterColor_t color, in bit<32> pkt_len);
    PSA_MeterColor_t dpdk_execute(in bit<32> pkt_len);
#endif
}

/// An array of `size` elements of type `T`, indexed by `S`, that live on from
/// packet to packet.
extern Register<T, S> {
    /// The elements start undefined.
    Register(bit<32> size);
    /// The elements start as `initial_value`.
    Register(bit<32> size, T initial_value);

    @noSideEffects
    T read(in S index);
    void write(in S index, in T value);
}

// ---------------------------------------------------------------------------
// Control plane and debugging
// ---------------------------------------------------------------------------

/// A stream of messages of type `T` to the control plane.
extern Digest<T> {
    Digest();
    /// Sends one message.
    void pack(in T data);
}

/// Reports a failure if `check` is false, in the way of the target. `check`
/// should have no side effects, since a compiler may be told to drop assertions.
extern void assert(in bool check);

/// As `assert` at run time. To a verifier it is a premise: packets for which
/// `check` is false are of no interest.
extern void assume(in bool check);

// ---------------------------------------------------------------------------
// The pipeline, in the order of execution
// ---------------------------------------------------------------------------

// `H` is a struct of headers (IH, EH in ingress and egress), `M` of metadata
// (IM, EM). What a packet takes along is
//   NM       from ingress to egress, on the normal path,
//   CI2EM    from ingress to egress, with a clone,
//   CE2EM    from egress to egress, with a clone,
//   RESUBM   from ingress to ingress, when resubmitted,
//   RECIRCM  from egress to ingress, when recirculated.

parser IngressParser<H, M, RESUBM, RECIRCM>(
    packet_in buffer,
    out H parsed_hdr,
    inout M user_meta,
    in psa_ingress_parser_input_metadata_t istd,
    in RESUBM resubmit_meta,
    in RECIRCM recirculate_meta);

control Ingress<H, M>(
    inout H hdr, inout M user_meta,
    in    psa_ingress_input_metadata_t  istd,
    inout psa_ingress_output_metadata_t ostd);

control IngressDeparser<H, M, CI2EM, RESUBM, NM>(
    packet_out buffer,
    out CI2EM clone_i2e_meta,
    out RESUBM resubmit_meta,
    out NM normal_meta,
    inout H hdr,
    in M meta,
    in psa_ingress_output_metadata_t istd);

package IngressPipeline<IH, IM, NM, CI2EM, RESUBM, RECIRCM>(
    IngressParser<IH, IM, RESUBM, RECIRCM> ip,
    Ingress<IH, IM> ig,
    IngressDeparser<IH, IM, CI2EM, RESUBM, NM> id);

/// Makes the copies for multicast groups and clone sessions. It has no methods:
/// an instance exists so that the control plane has a name for it.
extern PacketReplicationEngine {
    PacketReplicationEngine();
}

parser EgressParser<H, M, NM, CI2EM, CE2EM>(
    packet_in buffer,
    out H parsed_hdr,
    inout M user_meta,
    in psa_egress_parser_input_metadata_t istd,
    in NM normal_meta,
    in CI2EM clone_i2e_meta,
    in CE2EM clone_e2e_meta);

control Egress<H, M>(
    inout H hdr, inout M user_meta,
    in    psa_egress_input_metadata_t  istd,
    inout psa_egress_output_metadata_t ostd);

control EgressDeparser<H, M, CE2EM, RECIRCM>(
    packet_out buffer,
    out CE2EM clone_e2e_meta,
    out RECIRCM recirculate_meta,
    inout H hdr,
    in M meta,
    in psa_egress_output_metadata_t istd,
    in psa_egress_deparser_input_metadata_t edstd);

package EgressPipeline<EH, EM, NM, CI2EM, CE2EM, RECIRCM>(
    EgressParser<EH, EM, NM, CI2EM, CE2EM> ep,
    Egress<EH, EM> eg,
    EgressDeparser<EH, EM, CE2EM, RECIRCM> ed);

/// Queues what leaves egress. No methods, as above.
extern BufferingQueueingEngine {
    BufferingQueueingEngine();
}

package PSA_Switch<IH, IM, EH, EM, NM, CI2EM, CE2EM, RESUBM, RECIRCM>(
    IngressPipeline<IH, IM, NM, CI2EM, RESUBM, RECIRCM> ingress,
    PacketReplicationEngine pre,
    EgressPipeline<EH, EM, NM, CI2EM, CE2EM, RECIRCM> egress,
    BufferingQueueingEngine bqe);

#endif
