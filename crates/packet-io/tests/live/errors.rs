//! What is said when an interface cannot be opened.

use crate::namespace::{DEADLINE, in_namespace, ip, open, veth_pair};
use packet_io::{AfPacketOptions, AfPacketPort, PortError, PortId, TapOptions, TapPort};
use std::thread;
use std::time::{Duration, Instant};

fn packet_error(interface: &str) -> String {
    message(AfPacketPort::open(PortId(1), interface, AfPacketOptions::JUMBO))
}

fn tap_error(interface: &str) -> String {
    message(TapPort::open(PortId(1), interface, TapOptions::JUMBO))
}

fn message<P: std::fmt::Debug>(opened: Result<P, PortError>) -> String {
    opened.unwrap_err().to_string()
}

#[test]
fn the_interfaces_there_are_are_named() {
    in_namespace(|| {
        assert_eq!(
            packet_error("veth0"),
            "there is no interface `veth0`; there is only lo. \
             To make a pair of virtual interfaces, type: sudo ip link add veth0 type veth peer name veth0-peer"
        );
        veth_pair("va", "vb", 1500);
        let error = packet_error("a-rather-long-n");
        assert!(error.contains("there are lo, va, vb. "), "{error}");
        // The command works.
        let (_, command) = error.split_once("sudo ip ").unwrap();
        ip(command);
        open(1, "va");
    });
}

#[test]
fn names_that_cannot_be() {
    for name in ["", "0123456789abcdef", "a/b", "a b", "a:b", "..", "a\0", "tap%d"] {
        for error in [packet_error(name), tap_error(name)] {
            assert!(
                error.starts_with(&format!("`{name}` cannot be the name of an interface: 1 to 15")),
                "{error}"
            );
        }
    }
    let options = AfPacketOptions { packet_bytes_max: 65_536, ..AfPacketOptions::JUMBO };
    let error = message(AfPacketPort::open(PortId(1), "lo", options));
    assert_eq!(error, "interface `lo`: the longest packet is 65536; it can be 64 to 65535");
}

#[test]
fn what_is_no_tap_interface_or_in_use() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        let expected = "interface `va` is no TAP interface, or another program uses it. Take another name, or end \
                        that program; `ip -d link show va` tells what it is";
        assert_eq!(tap_error("va"), expected);
        let first = TapPort::open(PortId(1), "tap1", TapOptions::JUMBO).unwrap();
        assert_eq!(tap_error("tap1"), expected.replace("va", "tap1"));
        drop(first);
        // A program that another test starts right now holds this process's descriptors until it is loaded.
        let begin = Instant::now();
        while let Err(error) = TapPort::open(PortId(1), "tap1", TapOptions::JUMBO) {
            assert!(begin.elapsed() < DEADLINE, "{error}");
            thread::sleep(Duration::from_millis(10));
        }
    });
}

#[test]
fn what_is_not_ethernet() {
    in_namespace(|| {
        ip("tuntap add dev tun1 mode tun");
        let error = packet_error("tun1");
        assert_eq!(
            error,
            "interface `tun1` does not carry Ethernet (its ARP hardware type is 65534, not 1); \
             `ip link` shows as link/ether those that do"
        );
        AfPacketPort::open(PortId(1), "lo", AfPacketOptions::JUMBO).unwrap();
    });
}

#[test]
fn without_privilege_it_says_how_to_get_it() {
    in_namespace(|| {
        veth_pair("va", "vb", 1500);
        const NOBODY: libc::c_long = 65_534;
        // SAFETY: without pointers. Directly, because the library's function changes all threads.
        let result = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
        assert_eq!(result, 0);
        let program = std::env::current_exe().unwrap();
        let hint = |capabilities: &str| {
            format!(
                "Run as root, or allow it to this program once and for all: sudo setcap {capabilities}+ep {}",
                program.display()
            )
        };
        assert_eq!(
            packet_error("va"),
            format!(
                "interface `va`: not permitted to open a packet socket. {}",
                hint("cap_net_raw,cap_net_admin")
            )
        );
        let error = tap_error("tap1");
        assert!(error.starts_with("interface `tap1`: not permitted to "), "{error}");
        assert!(error.ends_with(&hint("cap_net_admin")), "{error}");
    });
}
