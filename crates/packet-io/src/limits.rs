//! What is too much.

/// The longest packet that is read or written. Ethernet ends at about 9 KiB, offloaded segments at 256 KiB.
pub const PACKET_BYTES_MAX: u32 = 1 << 20;

/// The longest block of a pcapng file that is looked into: a packet and 64 options of full length.
/// Longer blocks of kinds that are skipped anyway do no harm.
pub const BLOCK_BYTES_MAX: u32 = PACKET_BYTES_MAX + (64 << 16);

/// Interfaces of all sections of a pcapng file together.
pub const INTERFACES_MAX: usize = 1 << 16;

/// Names of interfaces are cut after this, because all of them are kept.
pub const NAME_BYTES_MAX: usize = 256;

/// The longest Ethernet frame that live ports take unless told otherwise.
pub const JUMBO_BYTES_MAX: usize = 9216;

/// The longest frame that live ports can be told to take.
pub const FRAME_BYTES_MAX: usize = 65_535;

/// Packets that go through one system call.
pub const BURST_MAX: usize = 64;
