// SPDX-License-Identifier: Apache-2.0
//
// PNA, the Portable NIC Architecture, in the generic form that no target
// customises: a main parser, a pre control that may ask for decryption, a main
// control and a main deparser, which packets of both directions go through.

#ifndef __PNA_P4__
#define __PNA_P4__

#include <core.p4>

// ---------------------------------------------------------------------------
// Types of the data plane
// ---------------------------------------------------------------------------

// Each notion has two names. `<Name>_t` is a distinct type: the P4Runtime
// server may translate its values between data plane and controller, and the
// compiler keeps them apart from other numbers. `<Name>Uint_t` is the plain
// bit<W> beneath; cast to it for arithmetic. The widths are placeholders: every
// target has its own.

typedef bit<32> PortIdUint_t;
typedef bit<32> InterfaceIdUint_t;
typedef bit<32> MulticastGroupUint_t;
typedef bit<16> MirrorSessionIdUint_t;
typedef bit<8>  MirrorSlotIdUint_t;
typedef bit<8>  ClassOfServiceUint_t;
typedef bit<16> PacketLengthUint_t;
typedef bit<16> MulticastInstanceUint_t;
typedef bit<64> TimestampUint_t;
typedef bit<32> FlowIdUint_t;
typedef bit<8>  ExpireTimeProfileIdUint_t;
typedef bit<3>  PassNumberUint_t;
typedef bit<32> SecurityAssocIdUint_t;

/// A network port, or a port towards the host (vport).
@p4runtime_translation("p4.org/pna/v1/PortId_t", 32)
type PortIdUint_t PortId_t;
/// A port of either side.
@p4runtime_translation("p4.org/pna/v1/InterfaceId_t", 32)
type InterfaceIdUint_t InterfaceId_t;
/// A group of copies to make, set up by the control plane.
@p4runtime_translation("p4.org/pna/v1/MulticastGroup_t", 32)
type MulticastGroupUint_t MulticastGroup_t;
/// Tells where mirrored packets go; set up by the control plane.
@p4runtime_translation("p4.org/pna/v1/MirrorSessionId_t", 16)
type MirrorSessionIdUint_t MirrorSessionId_t;
/// One of the few mirror requests that a packet can carry.
@p4runtime_translation("p4.org/pna/v1/MirrorSlotId_t", 8)
type MirrorSlotIdUint_t MirrorSlotId_t;
/// What a packet may expect of the queues.
@p4runtime_translation("p4.org/pna/v1/ClassOfService_t", 8)
type ClassOfServiceUint_t ClassOfService_t;
/// Length of a packet in bytes.
@p4runtime_translation("p4.org/pna/v1/PacketLength_t", 16)
type PacketLengthUint_t PacketLength_t;
/// Tells apart the copies of one packet.
@p4runtime_translation("p4.org/pna/v1/MulticastInstance_t", 16)
type MulticastInstanceUint_t MulticastInstance_t;
/// A reading of the clock of the NIC; the unit is up to the target.
@p4runtime_translation("p4.org/pna/v1/Timestamp_t", 64)
type TimestampUint_t Timestamp_t;
/// A number that the target hands out to a new flow.
@p4runtime_translation("p4.org/pna/v1/FlowId_t", 32)
type FlowIdUint_t FlowId_t;
/// Index of an idle time; the times are set by the control plane.
@p4runtime_translation("p4.org/pna/v1/ExpireTimeProfileId_t", 8)
type ExpireTimeProfileIdUint_t ExpireTimeProfileId_t;
/// How often the packet has been through the pipeline: 0 at first.
@p4runtime_translation("p4.org/pna/v1/PassNumber_t", 8)
type PassNumberUint_t PassNumber_t;
/// A security association, i.e. the keys and state of a decryption.
@p4runtime_translation("p4.org/pna/v1/SecurityAssocId_t", 64)
type SecurityAssocIdUint_t SecurityAssocId_t;

/// How a parser ended.
typedef error ParserError_t;

/// A packet sent here goes to the control plane.
const InterfaceId_t PNA_PORT_CPU = (InterfaceId_t) 0xfffffffd;

/// The mirror session whose packets go to the control plane.
const MirrorSessionId_t PNA_MIRROR_SESSION_TO_CPU = (MirrorSessionId_t) 0;

// ---------------------------------------------------------------------------
// The same types inside packet headers
// ---------------------------------------------------------------------------

// Fields of headers that pass between data plane and P4Runtime server have
// `InHeader` types. Their widths are whole bytes and enough for any PNA target.

typedef bit<32> PortIdInHeaderUint_t;
typedef bit<32> InterfaceIdInHeaderUint_t;
typedef bit<32> MulticastGroupInHeaderUint_t;
typedef bit<16> MirrorSessionIdInHeaderUint_t;
typedef bit<8>  MirrorSlotIdInHeaderUint_t;
typedef bit<8>  ClassOfServiceInHeaderUint_t;
typedef bit<16> PacketLengthInHeaderUint_t;
typedef bit<16> MulticastInstanceInHeaderUint_t;
typedef bit<64> TimestampInHeaderUint_t;
typedef bit<32> FlowIdInHeaderUint_t;
typedef bit<8>  ExpireTimeProfileIdInHeaderUint_t;
typedef bit<8>  PassNumberInHeaderUint_t;
typedef bit<32> SecurityAssocIdInHeaderUint_t;

@p4runtime_translation("p4.org/pna/v1/PortIdInHeader_t", 32)
type PortIdInHeaderUint_t PortIdInHeader_t;
@p4runtime_translation("p4.org/pna/v1/InterfaceIdInHeader_t", 32)
type InterfaceIdInHeaderUint_t InterfaceIdInHeader_t;
@p4runtime_translation("p4.org/pna/v1/MulticastGroupInHeader_t", 32)
type MulticastGroupInHeaderUint_t MulticastGroupInHeader_t;
@p4runtime_translation("p4.org/pna/v1/MirrorSessionIdInHeader_t", 16)
type MirrorSessionIdInHeaderUint_t MirrorSessionIdInHeader_t;
@p4runtime_translation("p4.org/pna/v1/MirrorSlotIdInHeader_t", 8)
type MirrorSlotIdInHeaderUint_t MirrorSlotIdInHeader_t;
@p4runtime_translation("p4.org/pna/v1/ClassOfServiceInHeader_t", 8)
type ClassOfServiceInHeaderUint_t ClassOfServiceInHeader_t;
@p4runtime_translation("p4.org/pna/v1/PacketLengthInHeader_t", 16)
type PacketLengthInHeaderUint_t PacketLengthInHeader_t;
@p4runtime_translation("p4.org/pna/v1/MulticastInstanceInHeader_t", 16)
type MulticastInstanceInHeaderUint_t MulticastInstanceInHeader_t;
@p4runtime_translation("p4.org/pna/v1/TimestampInHeader_t", 64)
type TimestampInHeaderUint_t TimestampInHeader_t;
@p4runtime_translation("p4.org/pna/v1/FlowIdInHeader_t", 32)
type FlowIdInHeaderUint_t FlowIdInHeader_t;
@p4runtime_translation("p4.org/pna/v1/ExpireTimeProfileIdInHeader_t", 8)
type ExpireTimeProfileIdInHeaderUint_t ExpireTimeProfileIdInHeader_t;
@p4runtime_translation("p4.org/pna/v1/PassNumberInHeader_t", 8)
type PassNumberInHeaderUint_t PassNumberInHeader_t;
@p4runtime_translation("p4.org/pna/v1/SecurityAssocIdInHeader_t", 64)
type SecurityAssocIdInHeaderUint_t SecurityAssocIdInHeader_t;

// Conversions between the two families. A cast between two distinct types has
// to pass through the bit<W> beneath each of them, hence three casts; the
// middle one changes the width, cutting or zero-filling at the top.

PortIdInHeader_t pna_PortId_int_to_header(in PortId_t x) {
    return (PortIdInHeader_t) (PortIdInHeaderUint_t) (PortIdUint_t) x;
}
PortId_t pna_PortId_header_to_int(in PortIdInHeader_t x) {
    return (PortId_t) (PortIdUint_t) (PortIdInHeaderUint_t) x;
}

InterfaceIdInHeader_t pna_InterfaceId_int_to_header(in InterfaceId_t x) {
    return (InterfaceIdInHeader_t) (InterfaceIdInHeaderUint_t) (InterfaceIdUint_t) x;
}
InterfaceId_t pna_InterfaceId_header_to_int(in InterfaceIdInHeader_t x) {
    return (InterfaceId_t) (InterfaceIdUint_t) (InterfaceIdInHeaderUint_t) x;
}

MulticastGroupInHeader_t pna_MulticastGroup_int_to_header(in MulticastGroup_t x) {
    return (MulticastGroupInHeader_t) (MulticastGroupInHeaderUint_t) (MulticastGroupUint_t) x;
}
MulticastGroup_t pna_MulticastGroup_header_to_int(in MulticastGroupInHeader_t x) {
    return (MulticastGroup_t) (MulticastGroupUint_t) (MulticastGroupInHeaderUint_t) x;
}

MirrorSessionIdInHeader_t pna_MirrorSessionId_int_to_header(in MirrorSessionId_t x) {
    return (MirrorSessionIdInHeader_t) (MirrorSessionIdInHeaderUint_t) (MirrorSessionIdUint_t) x;
}
MirrorSessionId_t pna_MirrorSessionId_header_to_int(in MirrorSessionIdInHeader_t x) {
    return (MirrorSessionId_t) (MirrorSessionIdUint_t) (MirrorSessionIdInHeaderUint_t) x;
}

ClassOfServiceInHeader_t pna_ClassOfService_int_to_header(in ClassOfService_t x) {
    return (ClassOfServiceInHeader_t) (ClassOfServiceInHeaderUint_t) (ClassOfServiceUint_t) x;
}
ClassOfService_t pna_ClassOfService_header_to_int(in ClassOfServiceInHeader_t x) {
    return (ClassOfService_t) (ClassOfServiceUint_t) (ClassOfServiceInHeaderUint_t) x;
}

PacketLengthInHeader_t pna_PacketLength_int_to_header(in PacketLength_t x) {
    return (PacketLengthInHeader_t) (PacketLengthInHeaderUint_t) (PacketLengthUint_t) x;
}
PacketLength_t pna_PacketLength_header_to_int(in PacketLengthInHeader_t x) {
    return (PacketLength_t) (PacketLengthUint_t) (PacketLengthInHeaderUint_t) x;
}

MulticastInstanceInHeader_t pna_MulticastInstance_int_to_header(in MulticastInstance_t x) {
    return (MulticastInstanceInHeader_t) (MulticastInstanceInHeaderUint_t) (MulticastInstanceUint_t) x;
}
MulticastInstance_t pna_MulticastInstance_header_to_int(in MulticastInstanceInHeader_t x) {
    return (MulticastInstance_t) (MulticastInstanceUint_t) (MulticastInstanceInHeaderUint_t) x;
}

TimestampInHeader_t pna_Timestamp_int_to_header(in Timestamp_t x) {
    return (TimestampInHeader_t) (TimestampInHeaderUint_t) (TimestampUint_t) x;
}
Timestamp_t pna_Timestamp_header_to_int(in TimestampInHeader_t x) {
    return (Timestamp_t) (TimestampUint_t) (TimestampInHeaderUint_t) x;
}

FlowIdInHeader_t pna_FlowId_int_to_header(in FlowId_t x) {
    return (FlowIdInHeader_t) (FlowIdInHeaderUint_t) (FlowIdUint_t) x;
}
FlowId_t pna_FlowId_header_to_int(in FlowIdInHeader_t x) {
    return (FlowId_t) (FlowIdUint_t) (FlowIdInHeaderUint_t) x;
}

ExpireTimeProfileIdInHeader_t pna_ExpireTimeProfileId_int_to_header(in ExpireTimeProfileId_t x) {
    return (ExpireTimeProfileIdInHeader_t) (ExpireTimeProfileIdInHeaderUint_t) (ExpireTimeProfileIdUint_t) x;
}
ExpireTimeProfileId_t pna_ExpireTimeProfileId_header_to_int(in ExpireTimeProfileIdInHeader_t x) {
    return (ExpireTimeProfileId_t) (ExpireTimeProfileIdUint_t) (ExpireTimeProfileIdInHeaderUint_t) x;
}

PassNumberInHeader_t pna_PassNumber_int_to_header(in PassNumber_t x) {
    return (PassNumberInHeader_t) (PassNumberInHeaderUint_t) (PassNumberUint_t) x;
}
PassNumber_t pna_PassNumber_header_to_int(in PassNumberInHeader_t x) {
    return (PassNumber_t) (PassNumberUint_t) (PassNumberInHeaderUint_t) x;
}

// ---------------------------------------------------------------------------
// Tables
// ---------------------------------------------------------------------------

match_kind {
    range,     /// Between two bounds, both inclusive.
    selector,  /// Not compared: input to the hash of an `ActionSelector`.
    optional   /// Either exactly the value of the entry or anything at all.
}

/// Values of the table property `pna_idle_timeout`.
enum PNA_IdleTimeout_t {
    NO_TIMEOUT,     /// Entries stay until removed.
    NOTIFY_CONTROL  /// The control plane hears of entries that were not hit for long.
#ifdef __PNA_BMV2__
    , AUTO_DELETE   /// Entries that were not hit for long are removed.
#endif
}

/// Actions with data that the entries of a table share; at most `size` members.
extern ActionProfile {
    ActionProfile(bit<32> size);
}

// ---------------------------------------------------------------------------
// Metadata
// ---------------------------------------------------------------------------

#ifdef __PNA_BMV2__

/// The side that a packet comes from.
enum PNA_Source_t {
    FROM_HOST,
    FROM_NET
}

struct pna_main_parser_input_metadata_t {
    bool             recirculated;
    PortId_t         input_port;
}

struct pna_main_input_metadata_t {
    bool             recirculated;
    Timestamp_t      timestamp;
    ParserError_t    parser_error;
    ClassOfService_t class_of_service;
    PortId_t         input_port;
}

/// True for ports of the host.
extern bool is_host_port(in PortId_t p);

/// True for network ports.
extern bool is_net_port(in PortId_t p);

#else

/// Which way a packet goes.
enum PNA_Direction_t {
    NET_TO_HOST,
    HOST_TO_NET
}

/// How a packet came to where it is.
enum PNA_PacketPath_t {
    FROM_NET_PORT,           /// From a network port.
    FROM_NET_LOOPEDBACK,
    FROM_NET_RECIRCULATED,
    FROM_HOST,               /// From a port of the host.
    FROM_HOST_LOOPEDBACK,
    FROM_HOST_RECIRCULATED
}

struct pna_pre_input_metadata_t {
    PortId_t         input_port;
    ParserError_t    parser_error;
    PNA_Direction_t  direction;
    PassNumber_t     pass;
    bool             loopedback;
}

/// What the pre control decides: whether, with which association and from where
/// on the packet is decrypted before the main control sees it.
struct pna_pre_output_metadata_t {
    bool              decrypt;
    SecurityAssocId_t said;                  /// Finds algorithm, key and anti-replay state.
    bit<16>           decrypt_start_offset;  /// From the start of the packet; presumably in bytes.
}

struct pna_main_parser_input_metadata_t {
    PNA_Direction_t  direction;
    PassNumber_t     pass;
    bool             loopedback;
    PortId_t         input_port;  /// A network port (NET_TO_HOST) or a vport (HOST_TO_NET).
}

struct pna_main_input_metadata_t {
    PNA_Direction_t  direction;
    PassNumber_t     pass;
    bool             loopedback;
    Timestamp_t      timestamp;
    ParserError_t    parser_error;
    ClassOfService_t class_of_service;
    PortId_t         input_port;  /// As in the parser.
}

#endif

struct pna_main_output_metadata_t {
    ClassOfService_t class_of_service;  /// Initially 0.
}

// ---------------------------------------------------------------------------
// Deciding the fate of a packet, in the main control
// ---------------------------------------------------------------------------

// `drop_packet` and `send_to_port` replace each other: the last call counts.

/// Lets the packet end here.
extern void drop_packet();

/// Sends the packet to `dest_port`, on either side.
extern void send_to_port(PortId_t dest_port);

/// Asks for a copy by way of a mirror session; one request per slot.
extern void mirror_packet(MirrorSlotId_t mirror_slot_id,
                          MirrorSessionId_t mirror_session_id);

#ifndef __PNA_BMV2__
/// Sends the packet through the pipeline once more.
extern void recirculate();
#endif

/// Returns the value for the direction at hand. An extern, so that targets can
/// see it, say in table keys that swap source and destination.
@pure
extern T SelectByDirection<T>(
#ifdef __PNA_BMV2__
    in bool is_network_port,
    in T from_net_value,
    in T from_host_value);
#else
    in PNA_Direction_t direction,
    in T n2h_value,
    in T h2n_value);
#endif

// ---------------------------------------------------------------------------
// Tables that the data plane fills
// ---------------------------------------------------------------------------

#ifdef __PNA_BMV2__

typedef bit<1> AddEntryErrorStatus_t;
const AddEntryErrorStatus_t ADD_ENTRY_SUCCESS = 0;
const AddEntryErrorStatus_t ADD_ENTRY_NOT_DONE = 1;

/// In the miss action of a table with `add_on_miss`: adds an entry with the key
/// just looked up, action `action_name` and the arguments `action_params`, a
/// struct with the fields of the action.
extern AddEntryErrorStatus_t add_entry<T>(
    string action_name,
    in T action_params,
    in ExpireTimeProfileId_t expire_time_profile_id);

/// The same if `do_add_entry` is true.
extern AddEntryErrorStatus_t add_entry_if<T>(
    in bool do_add_entry,
    string action_name,
    in T action_params,
    in ExpireTimeProfileId_t expire_time_profile_id);

/// In a hit action: restarts the idle time of the matched entry if
/// `update_aging_info`, and gives it another one if `update_expire_time`.
extern void update_expire_info(
    in bool update_aging_info,
    in bool update_expire_time,
    in ExpireTimeProfileId_t expire_time_profile_id);

/// In a hit action: gives the matched entry another idle time if `condition`.
extern void set_entry_expire_time_if(
    in bool condition,
    in ExpireTimeProfileId_t expire_time_profile_id);

#else

/// In the miss action of a table with `add_on_miss`: adds an entry with the key
/// just looked up, action `action_name` and the arguments `action_params`, a
/// struct with the fields of the action. False if it could not be added.
extern bool add_entry<T>(string action_name,
                         in T action_params,
                         in ExpireTimeProfileId_t expire_time_profile_id);

#endif

/// Returns a number that no live flow has.
extern FlowId_t allocate_flow_id();

// Both of the following are for hit actions of tables with idle time.

/// Gives the matched entry another idle time.
extern void set_entry_expire_time(
    in ExpireTimeProfileId_t expire_time_profile_id);

/// Lets the idle time of the matched entry start afresh.
extern void restart_expire_timer();

// ---------------------------------------------------------------------------
// Hashes, checksums and random numbers
// ---------------------------------------------------------------------------

/// Hash and checksum functions; PNA has yet to name them.
enum PNA_HashAlgorithm_t {
#if defined(__PNA_DPDK__) || defined(__PNA_BMV2__)
    IDENTITY,
    CRC32,
    CRC32_CUSTOM,
    CRC16,
    CRC16_CUSTOM,
    ONES_COMPLEMENT16,
#endif
#ifdef __PNA_DPDK__
    TOEPLITZ,
#endif
    TARGET_DEFAULT  /// Whatever the target does best.
}

/// A hash function with results of type `O`.
extern Hash<O> {
    Hash(PNA_HashAlgorithm_t algo);

    /// Returns h, the hash of `data`.
    O get_hash<D>(in D data);

    /// Returns `base` + h mod `max`. Portable programs keep `max` a small power
    /// of 2.
    O get_hash<T, D>(in T base, in D data, in T max);
}

/// A checksum over data given in pieces. It starts cleared each time the parser
/// or control around it is applied.
extern Checksum<W> {
    Checksum(PNA_HashAlgorithm_t hash);

    /// Forgets all data.
    void clear();

    /// Appends `data`.
    void update<T>(in T data);

    /// Returns the checksum of the data since the last `clear`.
    W get();
}

/// The 16-bit checksum of IPv4, TCP and UDP, which can also be updated
/// incrementally (RFC 1624). It starts cleared each time the parser or control
/// around it is applied. All data are multiples of 16 bits.
extern InternetChecksum {
    InternetChecksum();

    /// Forgets all data.
    void clear();

    /// Adds `data` to the sum.
    void add<T>(in T data);

    /// Takes `data` out of the sum.
    void subtract<T>(in T data);

    /// Returns the checksum of the data in the sum.
    bit<16> get();

    /// Returns the state, good for nothing but `set_state`.
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
    ActionSelector(PNA_HashAlgorithm_t algo, bit<32> size, bit<32> outputWidth);
}

// ---------------------------------------------------------------------------
// Counters, meters, registers, digests
// ---------------------------------------------------------------------------

/// What a counter counts.
enum PNA_CounterType_t {
    PACKETS,
    BYTES,
    PACKETS_AND_BYTES
}

/// An array of `n_counters` counters of type `W`, indexed by `S`. `increment`,
/// if given, is how much to add.
@noWarn("unused")
extern Counter<W, S> {
    Counter(bit<32> n_counters, PNA_CounterType_t type);
#ifdef __PNA_DPDK__
    void count(in S index);
    void count(in S index, in bit<32> pkt_len);
#else
    void count(in S index, @optional in bit<32> increment);
#endif
}

/// A counter per entry of the table whose `pna_direct_counter` names it; the
/// actions of that table update it.
@noWarn("unused")
extern DirectCounter<W> {
    DirectCounter(PNA_CounterType_t type);
#ifdef __PNA_DPDK__
    void count();
    void count(in bit<32> pkt_len);
#else
    void count(@optional in bit<32> increment);
#endif
}

/// What a meter measures the rate of.
enum PNA_MeterType_t {
    PACKETS,
    BYTES
}

/// Result of a meter (RFC 2698).
enum PNA_MeterColor_t { RED, GREEN, YELLOW }

/// An array of `n_meters` meters, indexed by `S`.
extern Meter<S> {
    Meter(bit<32> n_meters, PNA_MeterType_t type);

    /// Colour-aware: `color` is what the packet has had so far.
    PNA_MeterColor_t execute(in S index, in PNA_MeterColor_t color);

    /// Colour-blind, as if the packet had been green.
    PNA_MeterColor_t execute(in S index);
#ifdef __PNA_DPDK__
    /// The same for `pkt_len` bytes instead of the packet's length.
    PNA_MeterColor_t dpdk_execute(in S index, in PNA_MeterColor_t color, in bit<32> pkt_len);
    PNA_MeterColor_t dpdk_execute(in S index, in bit<32> pkt_len);
#endif
}

/// A meter per entry of the table whose `pna_direct_meter` names it; the actions
/// of that table run it, colour-aware or colour-blind. `pkt_len` is the length
/// to charge in bytes, by default that of the packet.
extern DirectMeter {
    DirectMeter(PNA_MeterType_t type);
#ifdef __PNA_DPDK__
    PNA_MeterColor_t execute(in PNA_MeterColor_t color);
    PNA_MeterColor_t execute();
    /// The same for `pkt_len` bytes instead of the packet's length.
    PNA_MeterColor_t dpdk_execute(in PNA_MeterColor_t color, in bit<32> pkt_len);
    PNA_MeterColor_t dpdk_execute(in bit<32> pkt_len);
#else
    PNA_MeterColor_t execute(in PNA_MeterColor_t color, @optional in bit<32> pkt_len);
    PNA_MeterColor_t execute(@optional in bit<32> pkt_len);
#endif
}

/// An array of `size` elements of type `T`, indexed by `S`, that live on from
/// packet to packet.
extern Register<T, S> {
    /// The elements start undefined.
    Register(bit<32> size);
    /// The elements start as `initial_value`.
    Register(bit<32> size, T initial_value);

    T read(in S index);
    void write(in S index, in T value);
}

/// A stream of messages of type `T` to the control plane.
extern Digest<T> {
    Digest();
    /// Sends one message.
    void pack(in T data);
}

// ---------------------------------------------------------------------------
// The pipeline
// ---------------------------------------------------------------------------

// PH and PM are the headers and metadata of the pre control, MH and MM those of
// the main blocks; all are structs.

parser MainParserT<MH, MM>(
    packet_in pkt,
    out   MH main_hdr,
    inout MM main_user_meta,
    in    pna_main_parser_input_metadata_t istd);

#ifndef __PNA_BMV2__
control PreControlT<PH, PM>(
    in    PH pre_hdr,
    inout PM pre_user_meta,
    in    pna_pre_input_metadata_t  istd,
    inout pna_pre_output_metadata_t ostd);
#endif

control MainControlT<MH, MM>(
    inout MH main_hdr,
    inout MM main_user_meta,
    in    pna_main_input_metadata_t  istd,
    inout pna_main_output_metadata_t ostd);

control MainDeparserT<MH, MM>(
    packet_out pkt,
#ifdef __PNA_BMV2__
    inout MH main_hdr,
#else
    in    MH main_hdr,
#endif
    in    MM main_user_meta,
    in    pna_main_output_metadata_t ostd);

#ifdef __PNA_BMV2__
package PNA_NIC<MH, MM>(
    MainParserT<MH, MM> main_parser,
    MainControlT<MH, MM> main_control,
    MainDeparserT<MH, MM> main_deparser);
#else
package PNA_NIC<PH, PM, MH, MM>(
    MainParserT<MH, MM> main_parser,
    PreControlT<PH, PM> pre_control,
    MainControlT<MH, MM> main_control,
    MainDeparserT<MH, MM> main_deparser);
#endif

#endif
