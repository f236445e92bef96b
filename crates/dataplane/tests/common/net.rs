//! Networks of the test's own: namespaces, and cables between them.
#![allow(dead_code, reason = "each test uses a part")]

use std::env;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

/// For answers.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Whether networks can be made here. Prints the reason when not; with SIDING_REQUIRE_NET=1 that is a failure.
pub fn is_possible() -> bool {
    let probe = format!("sdprobe{}x{}", std::process::id(), serial());
    let why = match Command::new("ip").args(["netns", "add", &probe]).output() {
        Ok(made) if made.status.success() => {
            run(&format!("netns del {probe}"));
            match Command::new("ping").arg("-V").output() {
                Ok(_) => return true,
                Err(error) => format!("ping: {error}"),
            }
        }
        Ok(made) => String::from_utf8_lossy(&made.stderr).trim().to_owned(),
        Err(error) => format!("ip: {error}"),
    };
    assert!(env::var("SIDING_REQUIRE_NET").is_err(), "no network namespaces: {why}");
    println!("skipped, without network namespaces: {why}");
    false
}

fn serial() -> u32 {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    SERIAL.fetch_add(1, Ordering::Relaxed)
}

/// `ip ...`
pub fn run(command: &str) {
    let made = Command::new("ip").args(command.split_whitespace()).output().unwrap();
    assert!(made.status.success(), "ip {command}: {}", String::from_utf8_lossy(&made.stderr));
}

/// Namespaces that go with the test: one for the switch, and one for each host.
pub struct Lab {
    name: String,
    n_hosts: u32,
    /// Queues of each interface, in each direction.
    n_queues: u32,
}

impl Lab {
    /// Host `n` is at port `n` of the switch, by a cable from its `eth0` to the switch's `port<n>`.
    pub fn new(n_hosts: u32) -> Lab {
        Lab::with_queues(n_hosts, 1)
    }

    pub fn with_queues(n_hosts: u32, n_queues: u32) -> Lab {
        let lab = Lab { name: format!("sd{}x{}", std::process::id(), serial()), n_hosts, n_queues };
        for namespace in (1..=n_hosts).map(|n| lab.host(n)).chain([lab.switch()]) {
            run(&format!("netns add {namespace}"));
            // Nobody but the test talks.
            for key in ["all", "default"] {
                let off = format!("net.ipv6.conf.{key}.disable_ipv6=1");
                let _ =
                    Command::new("ip").args(["netns", "exec", &namespace, "sysctl", "-qw", &off]).output();
            }
            run(&format!("-n {namespace} link set lo up"));
        }
        (1..=n_hosts).for_each(|n| lab.plug(n));
        lab
    }

    pub fn host(&self, n: u32) -> String {
        format!("{}h{n}", self.name)
    }

    pub fn switch(&self) -> String {
        format!("{}s", self.name)
    }

    /// The cable of a host; its station is 02:00:00:00:00:0n.
    pub fn plug(&self, n: u32) {
        let (host, switch) = (self.host(n), self.switch());
        let queues = format!("numrxqueues {0} numtxqueues {0}", self.n_queues);
        run(&format!(
            "link add port{n} netns {switch} {queues} type veth peer name eth0 netns {host} {queues}"
        ));
        run(&format!("-n {host} link set eth0 address 02:00:00:00:00:0{n} up"));
        run(&format!("-n {switch} link set port{n} up"));
    }

    pub fn unplug(&self, n: u32) {
        run(&format!("-n {} link del port{n}", self.switch()));
    }

    pub fn address(&self, n: u32, address: &str) {
        run(&format!("-n {} addr add {address} dev eth0", self.host(n)));
    }

    /// Does something in a namespace.
    pub fn inside<T: Send + 'static>(
        namespace: &str,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let file = File::open(format!("/var/run/netns/{namespace}")).unwrap();
        std::thread::spawn(move || {
            // SAFETY: takes two numbers, of which the first is an open file.
            #[expect(unsafe_code, reason = "a system call")]
            let result = unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) };
            assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
            f()
        })
    }

    /// What is wrong when no answer comes.
    pub fn ping(&self, from: u32, to: &str) -> Result<(), String> {
        let host = self.host(from);
        let made = Command::new("ip")
            .args(["netns", "exec", &host, "ping", "-c", "3", "-i", "0.1", "-W", "5", to])
            .output();
        match made {
            Ok(made) => {
                let said = String::from_utf8_lossy(&made.stdout);
                if made.status.success() { Ok(()) } else { Err(said.into_owned()) }
            }
            Err(error) => {
                println!("no ping here: {error}");
                Ok(())
            }
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for namespace in (1..=self.n_hosts).map(|n| self.host(n)).chain([self.switch()]) {
            let _ = Command::new("ip").args(["netns", "del", &namespace]).output();
        }
    }
}

/// Bytes that depend on where they are.
pub fn pattern(n_bytes: usize) -> Vec<u8> {
    (0..n_bytes).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 13) as u8).collect()
}

/// Sends some MiB by TCP, which have to arrive as they are.
pub fn transfer(lab: &Lab, from: u32, to: u32, to_address: &'static str, n_bytes: usize) {
    let (ready, is_ready) = channel();
    let receiver = Lab::inside(&lab.host(to), move || {
        let listener = TcpListener::bind((to_address, 5001)).unwrap();
        ready.send(()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        stream.write_all(b"thanks").unwrap();
        all
    });
    is_ready.recv_timeout(PATIENCE).unwrap();
    let sender = Lab::inside(&lab.host(from), move || {
        let mut stream = TcpStream::connect((to_address, 5001)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&pattern(n_bytes)).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    assert_eq!(sender.join().unwrap(), "thanks");
    assert!(receiver.join().unwrap() == pattern(n_bytes), "the bytes are others");
}
