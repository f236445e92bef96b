//! TAP devices: the kernel's network stack at the other end of the port
//! (Documentation/networking/tuntap.rst, drivers/net/tun.c).

use super::interface::InterfaceControl;
use crate::limits::JUMBO_BYTES_MAX;
use crate::{
    BufPool, InterfaceCause, InterfaceError, LinkState, PacketBuf, Port, PortError, PortId, PortStats,
};
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

const CAPABILITIES: &str = "cap_net_admin";

/// Options of a [`TapPort`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapOptions {
    /// Longest packet, 64 to 65,535; longer packets are dropped and counted. The buffers of the pool limit it
    /// too.
    pub packet_bytes_max: usize,
}

impl TapOptions {
    /// Jumbo packets.
    pub const JUMBO: TapOptions = TapOptions { packet_bytes_max: JUMBO_BYTES_MAX };
}

/// A port whose other end is an interface of this machine's own network stack: packets that the system sends
/// there are received here, and the reverse.
///
/// The kernel completes checksums, cuts segments and puts VLAN tags in their place before it hands packets over.
/// Packets that it drops because the port does not receive them fast enough are counted by the interface
/// (`ip -s link`) only.
#[derive(Debug)]
pub struct TapPort {
    id: PortId,
    control: InterfaceControl,
    options: TapOptions,
    /// The device is one of several queues of the interface.
    has_queues: bool,
    /// The device and the number of the interface that it belongs to.
    device: Option<(File, i32)>,
    state: LinkState,
    stats: PortStats,
}

impl TapPort {
    /// Opens an existing TAP interface, or creates one and switches it on; a created interface vanishes with
    /// the port.
    pub fn open(id: PortId, interface: &str, options: TapOptions) -> Result<TapPort, PortError> {
        TapPort::open_queue(id, interface, options, false)
    }

    /// Opens an interface with several queues, for a worker each. The kernel chooses the queue of a packet by a hash of its
    /// flow; a flow whose packets are sent here through one queue comes back through the same one. An existing
    /// interface must have been made with `multi_queue`.
    pub fn open_queues(
        id: PortId,
        interface: &str,
        options: TapOptions,
        n_queues: usize,
    ) -> Result<Vec<TapPort>, PortError> {
        let open = |_| TapPort::open_queue(id, interface, options, n_queues > 1);
        (0..n_queues).map(open).collect()
    }

    fn open_queue(
        id: PortId,
        interface: &str,
        options: TapOptions,
        has_queues: bool,
    ) -> Result<TapPort, PortError> {
        let control = InterfaceControl::new(interface)?;
        control.check_packet_bytes_max(options.packet_bytes_max)?;
        let (device, state, stats) = (None, LinkState::Gone, PortStats::default());
        let mut port = TapPort { id, control, options, has_queues, device, state, stats };
        let is_new = port.control.index()?.is_none();
        port.attach()?;
        if is_new {
            port.control.set_up()?;
        }
        port.look()?;
        Ok(port)
    }

    /// The interface's name.
    pub fn interface(&self) -> &str {
        self.control.name()
    }

    /// Opens the device, which creates the interface if there is none.
    fn attach(&mut self) -> Result<(), InterfaceError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")
            .map_err(|error| match error.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => {
                    self.control.failed("open /dev/net/tun", CAPABILITIES, error)
                }
                _ => self.control.error(InterfaceCause::NoTunDevice { error }),
            })?;
        let result = match (self.set_interface(&file, self.has_queues), self.has_queues) {
            // An interface with several queues may be used with one.
            (Err(error), false) if error.raw_os_error() == Some(libc::EINVAL) => {
                self.set_interface(&file, true)
            }
            (Err(error), true) if error.raw_os_error() == Some(libc::EINVAL) => {
                match self.set_interface(&file, false) {
                    Ok(()) => return Err(self.control.error(InterfaceCause::OneQueue)),
                    Err(_) => Err(error),
                }
            }
            (result, _) => result,
        };
        result.map_err(|error| match error.raw_os_error() {
            Some(libc::EBUSY | libc::EINVAL) => self.control.error(InterfaceCause::Busy),
            _ => self.control.failed("make a TAP interface", CAPABILITIES, error),
        })?;
        if let Some(index) = self.control.index()? {
            self.device = Some((file, index));
        }
        Ok(())
    }

    /// Makes `file` a queue of the interface.
    fn set_interface(&self, file: &File, has_queues: bool) -> io::Result<()> {
        let mut request = self.control.request();
        let queues = if has_queues { libc::IFF_MULTI_QUEUE } else { 0 };
        request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI | queues) as libc::c_short;
        // SAFETY: TUNSETIFF takes a pointer to an `ifreq`, which outlives the call.
        let result =
            unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as libc::Ioctl, &raw mut request) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Updates the state of the interface. A deleted interface is not created again, because its deletion was
    /// intended; if a new one of that name appears, the port takes it.
    fn look(&mut self) -> Result<(), InterfaceError> {
        match self.control.index()? {
            Some(index) if self.device.as_ref().is_some_and(|(_, bound)| *bound == index) => {
                self.state = self.control.link_state();
            }
            Some(_) => {
                self.device = None;
                self.attach()?;
                self.state = self.control.link_state();
            }
            None => {
                self.device = None;
                self.state = LinkState::Gone;
            }
        }
        Ok(())
    }
}

/// Returns whether the error means that the interface is down or has vanished.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::EBADFD | libc::ENODEV | libc::ENETDOWN))
}

impl Port for TapPort {
    fn id(&self) -> PortId {
        self.id
    }

    fn rx_burst(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<usize, PortError> {
        let (mut n, mut timestamp_ns) = (0, None);
        // The limit includes dropped packets: a flood of them must not keep the worker here.
        for _ in 0..n_max {
            let Some((device, _)) = &mut self.device else { break };
            let Some(mut buf) = pool.take() else { break };
            let room_bytes = buf.tailroom().min(self.options.packet_bytes_max);
            let Some(place) = buf.append(room_bytes) else { break };
            // One extra byte behind the buffer detects packets that are too long.
            let mut behind = [0];
            let result = device.read_vectored(&mut [IoSliceMut::new(place), IoSliceMut::new(&mut behind)]);
            match result {
                Ok(n_bytes) if n_bytes > room_bytes => {
                    self.stats.rx_too_long += 1;
                    pool.give_back(buf);
                }
                Ok(n_bytes) => {
                    buf.truncate(n_bytes);
                    buf.port = self.id;
                    buf.timestamp_ns = *timestamp_ns.get_or_insert_with(crate::time::now_ns);
                    self.stats.received(n_bytes);
                    burst.push(buf);
                    n += 1;
                }
                Err(error) => {
                    pool.give_back(buf);
                    if is_gone(&error) {
                        self.look()?;
                    } else if !matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) {
                        return Err(self.control.failed("receive", CAPABILITIES, error).into());
                    }
                    break;
                }
            }
        }
        if n > 0 && self.state != LinkState::Up {
            self.look()?;
        }
        Ok(n)
    }

    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError> {
        let mut result = Ok(());
        if self.state != LinkState::Up && self.control.is_time_to_look() {
            result = self.look();
        }
        let mut n_sent = 0;
        for buf in burst.drain(..) {
            let written = match &mut self.device {
                Some((device, _)) if self.state == LinkState::Up => {
                    device.write_vectored(&[IoSlice::new(buf.data())])
                }
                Some(_) | None => Err(io::Error::from_raw_os_error(libc::ENETDOWN)),
            };
            match written {
                Ok(_) => {
                    self.stats.sent(buf.len());
                    n_sent += 1;
                }
                Err(error) => {
                    let count = match error.raw_os_error() {
                        Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => &mut self.stats.tx_dropped_full,
                        Some(libc::EMSGSIZE) => &mut self.stats.tx_too_long,
                        _ if is_gone(&error) => {
                            self.state = LinkState::Down;
                            &mut self.stats.tx_dropped_down
                        }
                        _ => &mut self.stats.tx_errors,
                    };
                    *count += 1;
                }
            }
            pool.give_back(buf);
        }
        result?;
        Ok(n_sent)
    }

    fn idle(&mut self) -> Result<(), PortError> {
        if self.control.is_time_to_look() {
            self.look()?;
        }
        Ok(())
    }

    fn link_state(&self) -> LinkState {
        self.state
    }

    fn frame_bytes_max(&self) -> Option<usize> {
        self.control.frame_bytes_max()
    }

    fn fd(&self) -> Option<RawFd> {
        self.device.as_ref().map(|(device, _)| device.as_raw_fd())
    }

    fn stats(&mut self) -> PortStats {
        self.stats
    }
}
