//! Devices: plugged in, started, and unplugged with their last queue.

use crate::error::{DpdkError, Failure};
use crate::host::{self, Host};
use crate::shim::{RawDevice, RawFailure, RawQueue, RawStats};
use std::ffi::{CStr, CString};
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::ptr::{self, NonNull};

/// Virtual devices of these drivers change on the interrupt thread.
const EVENT_DRIVERS: &str = "net_memif";

/// Arguments of the memif driver. With any other word it ignores all of them.
const MEMIF_ARGUMENTS: [&str; 11] = [
    "id",
    "role",
    "bsize",
    "rsize",
    "socket",
    "socket-abstract",
    "owner-uid",
    "owner-gid",
    "mac",
    "zero-copy",
    "secret",
];

/// Virtual devices of these drivers take packets while nobody is at the other end, until their rings are full.
const BLIND_DRIVERS: &str = "net_virtio_user";

/// Virtual devices of these drivers take the rings away from their peers when they close, with the packets in them.
const RING_DRIVERS: [&str; 2] = ["net_memif", "net_virtio_user"];

/// A device that is started. Closes with its last port.
#[derive(Debug)]
pub(crate) struct Device {
    host: &'static Host,
    raw: NonNull<RawDevice>,
    is_blind: bool,
    takes_rings_away: bool,
}

// SAFETY: functions of the shim for devices may be called by any thread, and those that change it are called with the lock.
unsafe impl Send for Device {}
// SAFETY: see above.
unsafe impl Sync for Device {}

impl Device {
    /// `device` is in DPDK's syntax: a name, then arguments after commas.
    pub(crate) fn open(device: &str, n_queues: u32) -> Result<Device, DpdkError> {
        let failed = |failure| DpdkError::Device { device: device.to_owned(), failure };
        let name = device.split(',').next().unwrap_or_default();
        let c_string = |text: &str| CString::new(text).map_err(|_| failed(Failure::BadName));
        let (c_device, c_name) = (c_string(device)?, c_string(name)?);
        if name.is_empty() {
            return Err(failed(Failure::BadName));
        }
        let host = host::get()?;
        if let Some(argument) = unknown_argument(device) {
            return Err(failed(Failure::UnknownArgument { argument, known: &MEMIF_ARGUMENTS }));
        }
        let is_pci = is_pci_address(name);
        if is_pci && !is_pci_device(name) {
            return Err(failed(Failure::NoPciDevice { log: String::new() }));
        }
        if is_pci && !host.has_huge_pages {
            return Err(failed(Failure::NoHugePages));
        }
        let _control = host.control();
        host.take_log();
        if let Some(path) = served_socket(device) {
            claim_socket(Path::new(path)).map_err(failed)?;
        }
        // SAFETY: a string that ends with a null.
        if unsafe { (host.shim.find_driver)(c_name.as_ptr()) } != 0 {
            host.take_log();
            return Err(failed(Failure::UnknownDriver { drivers: drivers_like(host, name) }));
        }
        let mut raw = ptr::null_mut();
        let mut failure = RawFailure { step: ptr::null(), n_queues_max: 0, reserved: 0 };
        // SAFETY: strings that end with a null, and places for the results; the lock is held.
        let result = unsafe {
            (host.shim.open_device)(
                c_device.as_ptr(),
                c_name.as_ptr(),
                n_queues,
                &raw mut raw,
                &raw mut failure,
            )
        };
        if name.starts_with(EVENT_DRIVERS) {
            host.serve_events();
        }
        let log = host.take_log();
        match NonNull::new(raw) {
            Some(raw) if result == 0 => {
                let takes_rings_away = RING_DRIVERS.iter().any(|driver| name.starts_with(driver));
                Ok(Device { host, raw, is_blind: name.starts_with(BLIND_DRIVERS), takes_rings_away })
            }
            _ => Err(failed(cause(result, &failure, log, host, is_pci, n_queues))),
        }
    }

    pub(crate) fn queue(&self, queue: u32) -> *mut RawQueue {
        // SAFETY: the device is open, and has so many queues as it was opened with.
        unsafe { (self.host.shim.queue_of)(self.raw.as_ptr(), queue) }
    }

    pub(crate) fn tx_bytes_max(&self) -> usize {
        // SAFETY: the device is open.
        unsafe { (self.host.shim.tx_limit)(self.raw.as_ptr()) as usize }
    }

    pub(crate) fn is_link_up(&self) -> bool {
        // SAFETY: the device is open.
        unsafe { (self.host.shim.is_link_up)(self.raw.as_ptr()) != 0 }
    }

    /// The driver takes packets although the link is down.
    pub(crate) fn is_blind(&self) -> bool {
        self.is_blind
    }

    /// The peer loses what it has not taken when the device closes.
    pub(crate) fn takes_rings_away(&self) -> bool {
        self.takes_rings_away
    }

    /// Zeros if the driver has no counts.
    pub(crate) fn stats(&self) -> RawStats {
        let mut stats = RawStats::default();
        // SAFETY: the device is open, and `stats` a place for the result. A failure leaves it as it is.
        unsafe { (self.host.shim.get_stats)(self.raw.as_ptr(), &raw mut stats) };
        stats
    }

    pub(crate) fn host(&self) -> &'static Host {
        self.host
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _control = self.host.control();
        // SAFETY: all ports of the device are gone, so nobody uses its queues; the lock is held.
        unsafe { (self.host.shim.close_device)(self.raw.as_ptr()) }
    }
}

/// The first argument of a memif device that its driver does not know.
fn unknown_argument(device: &str) -> Option<String> {
    let mut words = device.split(',');
    if !words.next()?.starts_with("net_memif") {
        return None;
    }
    let keys = words.map(|word| word.split('=').next().unwrap_or_default());
    keys.filter(|key| !key.is_empty() && !MEMIF_ARGUMENTS.contains(key)).map(str::to_owned).next()
}

/// The path of the socket that the device makes and listens on, if it does.
fn served_socket(device: &str) -> Option<&str> {
    let driver = device.split(',').next()?;
    let value = |name: &str| device.split(',').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let path = if driver.starts_with("net_memif") {
        let is_server = matches!(value("role"), Some("server" | "master"));
        (is_server && value("socket-abstract") == Some("no")).then(|| value("socket"))?
    } else if driver.starts_with("net_vhost") {
        (value("client") != Some("1")).then(|| value("iface"))?
    } else {
        None
    };
    path.filter(|path| path.starts_with('/'))
}

/// Removes a socket that a killed program has left, which drivers do not. Fails if somebody listens there: drivers would remove the
/// socket of another program.
fn claim_socket(path: &Path) -> Result<(), Failure> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if !is_socket {
        return Ok(());
    }
    // A socket of another type than those of drivers finds out whether somebody listens, and is never accepted.
    let probed = UnixDatagram::unbound().and_then(|probe| probe.connect(path));
    match probed.err().map(|error| error.kind()) {
        Some(ErrorKind::ConnectionRefused) => {
            // A failure is the driver's to report.
            let _ = std::fs::remove_file(path);
            Ok(())
        }
        Some(ErrorKind::PermissionDenied) => Err(Failure::NotPermitted { log: path.display().to_string() }),
        _ => Err(Failure::Busy { log: format!("a program listens on {}", path.display()) }),
    }
}

/// `0000:00:04.0` or `00:04.0`, also with `pci:` before it.
pub(crate) fn is_pci_address(name: &str) -> bool {
    let name = name.strip_prefix("pci:").unwrap_or(name);
    let mut parts: Vec<&str> = name.split([':', '.']).collect();
    let is_hex = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_hexdigit());
    let has_domain = parts.len() == 4 && parts.remove(0).len() >= 4;
    (has_domain || name.matches(':').count() == 1)
        && parts.len() == 3
        && parts.iter().all(is_hex)
        && name.contains('.')
        && (parts[0].len(), parts[1].len(), parts[2].len()) == (2, 2, 1)
}

/// Returns whether the system has a device of that PCI address.
fn is_pci_device(address: &str) -> bool {
    let address = address.strip_prefix("pci:").unwrap_or(address);
    let domain = if address.matches(':').count() == 1 { "0000:" } else { "" };
    Path::new("/sys/bus/pci/devices").join(format!("{domain}{address}").to_lowercase()).exists()
}

/// Drivers of virtual network devices whose names are like the one of `device`, or all of them.
fn drivers_like(host: &Host, device: &str) -> Vec<String> {
    let all = drivers(host);
    let wanted = device.trim_end_matches(|c: char| c.is_ascii_digit()).trim_start_matches("net_");
    let is_like = |driver: &&String| {
        let name = driver.trim_start_matches("net_");
        let n_same = name.bytes().zip(wanted.bytes()).take_while(|(one, other)| one == other).count();
        n_same >= 2 || (wanted.len() >= 3 && name.contains(wanted))
    };
    let like: Vec<String> = all.iter().filter(is_like).cloned().collect();
    if like.is_empty() { all } else { like }
}

/// Names of drivers of virtual network devices, by the files of drivers.
fn drivers(host: &Host) -> Vec<String> {
    let entries =
        |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let dirs = entries(&host.libdir.join("dpdk"));
    let mut names: Vec<String> = dirs
        .flat_map(|dir| entries(&dir).collect::<Vec<_>>())
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_prefix("librte_")?.strip_suffix(".so")?.to_owned();
            let is_network = name.starts_with("net_");
            // One library has two drivers, of which the one for this process has a longer name.
            is_network.then(|| if name == "net_virtio" { "net_virtio_user".to_owned() } else { name })
        })
        .filter(|name| {
            let device = CString::new(format!("{name}0")).unwrap_or_default();
            // SAFETY: a string that ends with a null.
            unsafe { (host.shim.find_driver)(device.as_ptr()) == 0 }
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The failure that a negative errno value, the step and the log tell of.
fn cause(result: i32, raw: &RawFailure, log: String, host: &Host, is_pci: bool, n_wanted: u32) -> Failure {
    let says = |text: &str| log.contains(text);
    // SAFETY: the step is null or a string constant of the shim.
    let step = if raw.step.is_null() { c"open it" } else { unsafe { CStr::from_ptr(raw.step) } };
    let step = step.to_string_lossy().into_owned();
    let is_plugging = step == "plug it in";
    match -result {
        libc::ERANGE if raw.n_queues_max > 0 => Failure::TooManyQueues { n_wanted, n_max: raw.n_queues_max },
        libc::EEXIST => Failure::InUse,
        libc::EACCES => Failure::NotPermitted { log },
        _ if says("Operation not permitted") || says("Permission denied") => Failure::NotPermitted { log },
        libc::EBUSY => Failure::Busy { log },
        _ if says("resource busy") || says("in use") => Failure::Busy { log },
        libc::ENOMEM if step == "make buffers" => Failure::NoMemory { has_huge_pages: host.has_huge_pages },
        _ if is_pci && is_plugging => Failure::NoPciDevice { log },
        _ if is_plugging => Failure::BadArguments { log },
        _ => Failure::Other { step, reason: host::reason(result), log },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_of_killed_programs_are_removed() {
        let dir = std::env::temp_dir().join(format!("siding-dpdk-sockets-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("socket");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(matches!(claim_socket(&path), Err(Failure::Busy { log }) if log.contains("listens")));
        assert!(path.exists());
        // Nobody has been let in.
        listener.set_nonblocking(true).unwrap();
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        drop(listener);
        assert_eq!(claim_socket(&path), Ok(()));
        assert!(!path.exists());
        // Other files are left alone.
        std::fs::write(&path, "text").unwrap();
        assert_eq!(claim_socket(&path), Ok(()));
        assert!(path.exists());
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn devices_that_listen() {
        for (device, path) in [
            ("net_memif0,role=server,socket=/run/m,socket-abstract=no", Some("/run/m")),
            ("net_memif0,role=server,socket=/run/m", None),
            ("net_memif0,role=client,socket=/run/m,socket-abstract=no", None),
            ("net_vhost0,iface=/run/v", Some("/run/v")),
            ("net_vhost0,iface=/run/v,client=1", None),
            ("net_af_packet0,iface=veth0", None),
        ] {
            assert_eq!(served_socket(device), path, "{device}");
        }
    }

    #[test]
    fn arguments_of_memif_are_known() {
        for (device, unknown) in [
            ("net_memif0,role=server,socket=/run/m,socket-abstract=no,id=3,rsize=11,bsize=2048", None),
            ("net_memif0", None),
            ("net_memif0,role=server,sockt=/run/m", Some("sockt")),
            ("net_memif0,server", Some("server")),
            ("net_vhost0,sockt=/run/m", None),
        ] {
            assert_eq!(unknown_argument(device).as_deref(), unknown, "{device}");
        }
    }

    #[test]
    fn pci_addresses_are_told_from_names() {
        for address in ["0000:00:04.0", "00:04.0", "pci:0000:af:1f.7"] {
            assert!(is_pci_address(address), "{address}");
        }
        for name in ["net_memif0", "00:04", "0000:00:04", "0:4.0", "net:00:04.0", "", "0000:00:04.00"] {
            assert!(!is_pci_address(name), "{name}");
        }
    }
}
