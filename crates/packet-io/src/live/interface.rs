//! Network interfaces by name: queries and settings.

use crate::limits::FRAME_BYTES_MAX;
use crate::{InterfaceCause, InterfaceError, LinkState};
use std::ffi::CStr;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Interval between two checks of an interface.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Length of an Ethernet header without a VLAN tag.
pub(super) const ETHERNET_BYTES: usize = 14;

/// Commands of `ETHTOOL_*` and `ETH_FLAG_*` in linux/ethtool.h.
const ETHTOOL_GDRVINFO: u32 = 0x3;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const ETHTOOL_GGRO: u32 = 0x2b;
const ETHTOOL_SGRO: u32 = 0x2c;
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_SFLAGS: u32 = 0x26;
const ETH_FLAG_LRO: u32 = 1 << 15;

/// Returns the names of all interfaces.
pub fn interface_names() -> Vec<String> {
    let mut names = Vec::new();
    // SAFETY: without arguments; the result is null or an array that ends with index 0 and a null name, valid
    // until it is freed, which happens once, after the last use. Names are strings that end with 0.
    unsafe {
        let first = libc::if_nameindex();
        if first.is_null() {
            return names;
        }
        let mut at = first;
        while (*at).if_index != 0 && !(*at).if_name.is_null() {
            names.push(CStr::from_ptr((*at).if_name).to_string_lossy().into_owned());
            at = at.add(1);
        }
        libc::if_freenameindex(first);
    }
    names.sort();
    names
}

/// Returns the number of queues in which packets arrive at an interface of the calling thread's network namespace; 1 if it does not
/// say, or does not exist.
pub fn n_rx_queues(interface: &str) -> usize {
    InterfaceControl::new(interface).map_or(1, |control| control.n_rx_queues() as usize)
}

/// An interface name in the network namespace of the creating thread. The interface may not exist at the
/// moment.
#[derive(Debug)]
pub(super) struct InterfaceControl {
    name: String,
    socket: OwnedFd,
    last_look: Option<Instant>,
}

impl InterfaceControl {
    pub(super) fn new(name: &str) -> Result<InterfaceControl, InterfaceError> {
        let is_valid = (1..libc::IFNAMSIZ).contains(&name.len())
            && name != "."
            && name != ".."
            && !name.contains(|c: char| c.is_whitespace() || matches!(c, '/' | ':' | '\0' | '%'));
        if !is_valid {
            return Err(InterfaceError { interface: name.to_string(), cause: InterfaceCause::BadName });
        }
        // Any socket can answer these requests; this kind needs no privilege.
        // SAFETY: without pointers.
        let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            let cause = InterfaceCause::System { step: "open a socket", error: io::Error::last_os_error() };
            return Err(InterfaceError { interface: name.to_string(), cause });
        }
        // SAFETY: `fd` was just opened and has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(InterfaceControl { name: name.to_string(), socket, last_look: None })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn error(&self, cause: InterfaceCause) -> InterfaceError {
        InterfaceError { interface: self.name.clone(), cause }
    }

    /// Converts a failed system call to an error for the user.
    pub(super) fn failed(
        &self,
        step: &'static str,
        capabilities: &'static str,
        error: io::Error,
    ) -> InterfaceError {
        self.error(match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => InterfaceCause::NotPermitted { step, capabilities },
            _ => InterfaceCause::System { step, error },
        })
    }

    pub(super) fn not_found(&self) -> InterfaceError {
        self.error(InterfaceCause::NotFound { interfaces: interface_names() })
    }

    /// Fails if ports have no packets of that length.
    pub(super) fn check_packet_bytes_max(&self, n_bytes: usize) -> Result<(), InterfaceError> {
        let (min, max) = (64, FRAME_BYTES_MAX);
        if (min..=max).contains(&n_bytes) {
            return Ok(());
        }
        Err(self.error(InterfaceCause::BadOption { option: "the longest packet", value: n_bytes, min, max }))
    }

    /// Returns true at most every 100 ms, which limits system calls when idle calls are frequent.
    pub(super) fn is_time_to_look(&mut self) -> bool {
        let now = Instant::now();
        let is_time = self.last_look.is_none_or(|last| now.duration_since(last) >= LOOK_INTERVAL);
        if is_time {
            self.last_look = Some(now);
        }
        is_time
    }

    /// Creates an empty request for this interface.
    pub(super) fn request(&self) -> libc::ifreq {
        // SAFETY: numbers, arrays of them, and pointers that may be null.
        let mut request: libc::ifreq = unsafe { mem::zeroed() };
        // Shorter than the field (checked by `new`), so a 0 remains at its end.
        for (to, from) in request.ifr_name.iter_mut().zip(self.name.bytes()) {
            *to = from as libc::c_char;
        }
        request
    }

    fn ioctl(&self, command: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: all commands used in this file take a pointer to an `ifreq`; where that holds a pointer in
        // turn, the caller keeps what it points to alive and exclusive during this call.
        let result = unsafe { libc::ioctl(self.socket.as_raw_fd(), command, request) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Returns the interface's index if the interface exists.
    pub(super) fn index(&self) -> Result<Option<i32>, InterfaceError> {
        let mut request = self.request();
        match self.ioctl(libc::SIOCGIFINDEX as libc::Ioctl, &mut request) {
            // SAFETY: a successful SIOCGIFINDEX fills this member.
            Ok(()) => Ok(Some(unsafe { request.ifr_ifru.ifru_ifindex })),
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENODEV | libc::ENXIO)) => Ok(None),
            Err(error) => Err(self.failed("find it", "cap_net_admin", error)),
        }
    }

    fn flags(&self) -> io::Result<i32> {
        let mut request = self.request();
        self.ioctl(libc::SIOCGIFFLAGS as libc::Ioctl, &mut request)?;
        // SAFETY: a successful SIOCGIFFLAGS fills this member.
        Ok(i32::from(unsafe { request.ifr_ifru.ifru_flags }))
    }

    /// Returns the present link state.
    pub(super) fn link_state(&self) -> LinkState {
        const PASSES: i32 = libc::IFF_UP | libc::IFF_RUNNING;
        match self.flags() {
            Ok(flags) if flags & PASSES == PASSES => LinkState::Up,
            Ok(_) => LinkState::Down,
            Err(_) => LinkState::Gone,
        }
    }

    /// Returns the number of queues that packets arrive in.
    pub(super) fn n_rx_queues(&self) -> u32 {
        // `struct ethtool_channels`: the command, four maxima, then receive, transmit, other and combined queues.
        let mut channels = [0u32; 9];
        channels[0] = ETHTOOL_GCHANNELS;
        let mut request = self.request();
        request.ifr_ifru.ifru_data = channels.as_mut_ptr().cast();
        match self.ioctl(SIOCETHTOOL, &mut request) {
            Ok(()) => channels[5].saturating_add(channels[8]).max(1),
            Err(_) => 1,
        }
    }

    /// Returns the name of the driver, if it says one.
    pub(super) fn driver(&self) -> Option<String> {
        // `struct ethtool_drvinfo`, 196 bytes: the command, 32 bytes of name, and more.
        let mut info = [0u32; 49];
        info[0] = ETHTOOL_GDRVINFO;
        let mut request = self.request();
        request.ifr_ifru.ifru_data = info.as_mut_ptr().cast();
        self.ioctl(SIOCETHTOOL, &mut request).ok()?;
        let name: Vec<u8> = info[1..9].iter().flat_map(|word| word.to_ne_bytes()).collect();
        CStr::from_bytes_until_nul(&name).ok().map(|name| name.to_string_lossy().into_owned())
    }

    /// The MTU and an Ethernet header; `None` if the interface is gone.
    pub(super) fn frame_bytes_max(&self) -> Option<usize> {
        let mut request = self.request();
        self.ioctl(libc::SIOCGIFMTU as libc::Ioctl, &mut request).ok()?;
        // SAFETY: a successful SIOCGIFMTU fills this member.
        let mtu = unsafe { request.ifr_ifru.ifru_mtu };
        usize::try_from(mtu).ok().map(|mtu| mtu + ETHERNET_BYTES)
    }

    /// Fails if packets have no Ethernet header.
    pub(super) fn check_ethernet(&self) -> Result<(), InterfaceError> {
        let mut request = self.request();
        if self.ioctl(libc::SIOCGIFHWADDR as libc::Ioctl, &mut request).is_err() {
            // The interface vanished meanwhile; the next step reports it.
            return Ok(());
        }
        // SAFETY: a successful SIOCGIFHWADDR fills this member.
        let kind = unsafe { request.ifr_ifru.ifru_hwaddr.sa_family };
        match kind {
            // The loopback interface has Ethernet headers too.
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Ok(()),
            kind => Err(self.error(InterfaceCause::NotEthernet { kind })),
        }
    }

    /// Switches the interface on.
    pub(super) fn set_up(&self) -> Result<(), InterfaceError> {
        let set = || {
            let flags = self.flags()?;
            let mut request = self.request();
            request.ifr_ifru.ifru_flags = (flags | libc::IFF_UP) as libc::c_short;
            self.ioctl(libc::SIOCSIFFLAGS as libc::Ioctl, &mut request)
        };
        set().map_err(|e| self.failed("switch it on", "cap_net_admin", e))
    }

    /// Asks the interface not to merge received packets, and returns the previous settings. Some interfaces
    /// refuse; packets that are still merged are cut again.
    pub(super) fn stop_merging(&self) -> Merging {
        let mut before = Merging::default();
        if self.ethtool(ETHTOOL_GGRO, 0).is_ok_and(|on| on != 0) {
            before.has_gro = self.ethtool(ETHTOOL_SGRO, 0).is_ok();
        }
        if let Ok(flags) = self.ethtool(ETHTOOL_GFLAGS, 0)
            && flags & ETH_FLAG_LRO != 0
        {
            before.has_lro = self.ethtool(ETHTOOL_SFLAGS, flags & !ETH_FLAG_LRO).is_ok();
        }
        before
    }

    /// Undoes [`InterfaceControl::stop_merging`] if the interface still exists.
    pub(super) fn resume_merging(&self, before: Merging) {
        // A failure is ignored: the interface has vanished or has another owner.
        if before.has_gro {
            let _ = self.ethtool(ETHTOOL_SGRO, 1);
        }
        if before.has_lro
            && let Ok(flags) = self.ethtool(ETHTOOL_GFLAGS, 0)
        {
            let _ = self.ethtool(ETHTOOL_SFLAGS, flags | ETH_FLAG_LRO);
        }
    }

    /// `struct ethtool_value` in linux/ethtool.h.
    fn ethtool(&self, command: u32, data: u32) -> io::Result<u32> {
        let mut value = [command, data];
        let mut request = self.request();
        request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
        self.ioctl(SIOCETHTOOL, &mut request)?;
        Ok(value[1])
    }
}

const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// Offloads that merged received packets before [`InterfaceControl::stop_merging`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Merging {
    has_gro: bool,
    has_lro: bool,
}
