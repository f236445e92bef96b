//! Limits on packets, files and bursts.

/// The longest packet that is read or written. Ethernet ends at about 9 KiB, offloaded segments at 256 KiB.
pub const PACKET_BYTES_MAX: u32 = 1 << 20;

/// The longest block of a pcapng file that is parsed: a packet and 64 options of full length. Skipped blocks
/// may be longer.
pub const BLOCK_BYTES_MAX: u32 = PACKET_BYTES_MAX + (64 << 16);

/// Interfaces of all sections of a pcapng file together.
pub const INTERFACES_MAX: usize = 1 << 16;

/// Names of interfaces are cut to this length, because all names stay in memory.
pub const NAME_BYTES_MAX: usize = 256;

/// Default limit of live ports on the length of an Ethernet frame.
pub const JUMBO_BYTES_MAX: usize = 9216;

/// Largest limit that live ports accept.
pub const FRAME_BYTES_MAX: usize = 65_535;

/// Number of packets per system call at most.
pub const BURST_MAX: usize = 64;
