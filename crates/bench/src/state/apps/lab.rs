//! The network of a comparison: a client, a server, and the middle between them, each in a namespace of its own.

use super::{Side, failed, missing};
use crate::network::{ip, run};
use console::CcArgs;
use console::output::Exit;
use nix::sched::{CloneFlags, setns};
use packet_io::{AfPacketOptions, AfPacketPort, PortId};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Interfaces of the middle. Those of client and server are called `eth0`.
pub const INSIDE: &str = "inside";
pub const OUTSIDE: &str = "outside";

/// Stations. The servers of the balancer are 02:00:00:00:02:01 and so on.
pub const CLIENT: [u8; 6] = [2, 0, 0, 0, 1, 0];
pub const SERVER: [u8; 6] = [2, 0, 0, 0, 2, 0];
const MIDDLE_INSIDE: [u8; 6] = [2, 0, 0, 0, 0, 1];
const MIDDLE_OUTSIDE: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Namespaces, which go with this.
pub struct Lab {
    name: String,
}

impl Drop for Lab {
    fn drop(&mut self) {
        for namespace in self.namespaces() {
            let _ = Command::new("ip").args(["netns", "del", &namespace]).stderr(Stdio::null()).status();
        }
    }
}

impl Lab {
    pub fn new() -> Result<Lab, Exit> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let lab = Lab { name: format!("sdapp{}x{serial}", std::process::id()) };
        for namespace in lab.namespaces() {
            let made = run(Command::new("ip").args(["netns", "add", &namespace]), "ip netns add", "");
            made.map_err(|why| missing(&format!("network namespaces cannot be made here: {why}")))?;
        }
        let [client, middle, server] = lab.namespaces();
        let cable = |end: &str, mac: [u8; 6], host: &str, host_mac: [u8; 6]| {
            ip(&format!("link add {end} netns {middle} type veth peer name eth0 netns {host}"))?;
            lab.in_middle(&format!("echo 1 > /proc/sys/net/ipv6/conf/{end}/disable_ipv6 || true"))?;
            ip(&format!("-n {middle} link set {end} address {} up", station(mac)))?;
            ip(&format!("-n {host} link set eth0 address {} addrgenmode none arp off up", station(host_mac)))
        };
        cable(INSIDE, MIDDLE_INSIDE, &client, CLIENT)?;
        cable(OUTSIDE, MIDDLE_OUTSIDE, &server, SERVER)?;
        Ok(lab)
    }

    fn namespaces(&self) -> [String; 3] {
        ["c", "m", "s"].map(|suffix| format!("{}{suffix}", self.name))
    }

    /// A command that starts this program as a switch in the middle, with compiled code and this control socket.
    pub fn switch(&self, cc: &CcArgs, ctl_socket: &Path) -> std::io::Result<Command> {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.middle()])
            .arg(std::env::current_exe()?)
            .args([
                "switch",
                "--json",
                "--metrics-addr",
                "off",
                "--backend",
                "native",
                "--log-level",
                "error",
            ])
            .args(["-O", &cc.optimise.to_string(), "--ctl-socket"])
            .arg(ctl_socket);
        Ok(command)
    }

    /// The namespace of what is compared.
    pub fn middle(&self) -> String {
        format!("{}m", self.name)
    }

    /// Runs a shell command in the middle.
    pub fn in_middle(&self, command: &str) -> Result<(), Exit> {
        run(Command::new("ip").args(["netns", "exec", &self.middle(), "sh", "-c", command]), command, "")
            .map_err(|why| failed(&why))
    }

    /// `ip` in the middle.
    pub fn ip_in_middle(&self, command: &str) -> Result<(), Exit> {
        ip(&format!("-n {} {command}", self.middle()))
    }

    /// Gives a text to a program that runs in the middle; the error says why it did not take it.
    pub fn tell_middle(&self, program: &[&str], text: &str) -> Result<(), String> {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.middle()]).args(program);
        run(&mut command, &program.join(" "), text)
    }

    /// Opens the host's end of a cable.
    pub fn open(&self, side: Side) -> Result<AfPacketPort, Exit> {
        let [client, _, server] = self.namespaces();
        let (namespace, id) = match side {
            Side::Inside => (client, PortId(1)),
            Side::Outside => (server, PortId(2)),
        };
        // The socket stays in the namespace of the thread that has opened it.
        let opened = std::thread::spawn(move || {
            let file = File::open(format!("/run/netns/{namespace}")).map_err(|error| error.to_string())?;
            setns(file, CloneFlags::CLONE_NEWNET).map_err(|error| error.to_string())?;
            let options = AfPacketOptions { is_qdisc_bypassed: true, ..AfPacketOptions::JUMBO };
            AfPacketPort::open(id, "eth0", options).map_err(|error| error.to_string())
        });
        let opened = opened.join().unwrap_or_else(|_| Err("the thread has panicked".to_owned()));
        opened.map_err(|error| failed(&format!("cannot open an interface in a namespace: {error}")))
    }

    /// The station that a frame from a side is sent to: the middle's interface there.
    pub fn gateway(side: Side) -> [u8; 6] {
        match side {
            Side::Inside => MIDDLE_INSIDE,
            Side::Outside => MIDDLE_OUTSIDE,
        }
    }
}

pub fn station(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}
