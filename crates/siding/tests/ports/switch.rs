//! `siding switch` as a process in a network namespace.

use crate::net::Lab;
use crate::patience::{PATIENCE, until};
use ctl::{Request, What, ask};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

/// Packets to this port go to the controller.
pub const CPU_PORT: u32 = 63;

/// The root of the repository.
pub fn siding_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn siding() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siding"));
    command.current_dir(siding_root()).env("NO_COLOR", "1");
    command
}

/// A process that is killed with the test.
pub struct Process(Child);

impl Process {
    /// Starts a program in a namespace.
    pub fn start(namespace: &str, mut command: Command) -> Process {
        Process(Lab::inside(namespace, move || command.spawn().unwrap()).join().unwrap())
    }

    /// A signal, by its name.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.0.id().to_string()]).status().unwrap();
        assert!(sent.success(), "kill -s {name}");
    }

    /// The end by SIGKILL.
    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub struct Switch {
    process: Process,
    out: BufReader<ChildStdout>,
    pub socket: PathBuf,
}

impl Switch {
    /// Waits until the switch is ready. `ports` are written as after `-i`.
    pub fn start(namespace: &str, socket: PathBuf, program: &str, ports: &[String]) -> Switch {
        let mut command = siding();
        command.args("switch --json --metrics-addr off -O 0 --backend native --cpu-port".split(' '));
        command.arg(CPU_PORT.to_string()).arg("--ctl-socket").arg(&socket);
        command.args(ports.iter().flat_map(|port| ["-i", port]));
        command.arg(program).stdout(Stdio::piped());
        let mut process = Process::start(namespace, command);
        let out = BufReader::new(process.0.stdout.take().unwrap());
        let mut switch = Switch { process, out, socket };
        switch.event("ready");
        switch
    }

    /// The next event of that name.
    fn event(&mut self, name: &str) -> Value {
        loop {
            let mut line = String::new();
            self.out.read_line(&mut line).unwrap();
            let event: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?}: {e}"));
            if event["event"] == name {
                return event;
            }
        }
    }

    /// Reads the log up to where the link of a port is told to be up, or not.
    pub fn until_told_of_link(&mut self, port: u64, is_up: bool) {
        loop {
            let event = self.event("link");
            if event["port"] == port && (event["link"] == "up") == is_up {
                return;
            }
        }
    }

    pub fn ask(&self, request: &Request) -> Value {
        tell(&self.socket, request)
    }

    pub fn commands(&self, text: &str) {
        self.ask(&Request::Commands { text: text.to_owned() });
    }

    pub fn totals(&self) -> Value {
        self.ask(&Request::Show { what: What::Totals, name: None })
    }

    pub fn port(&self, number: u32) -> Value {
        let ports = self.ask(&Request::Show { what: What::Ports, name: None });
        ports.as_array().unwrap().iter().find(|port| port["port"] == number).unwrap().clone()
    }

    pub fn is_up(&self, number: u32) -> bool {
        self.port(number)["link"] == "up"
    }

    pub fn signal(&self, name: &str) {
        self.process.signal(name);
    }

    pub fn kill(self) {
        self.process.kill();
    }

    /// Does something over and over while the switch ends, and returns its last counts.
    pub fn end(mut self, mut meanwhile: impl FnMut()) -> Value {
        self.ask(&Request::Shutdown);
        let begin = Instant::now();
        let code = loop {
            meanwhile();
            match self.process.0.try_wait().unwrap() {
                Some(status) => break status.code(),
                None => assert!(begin.elapsed() < PATIENCE, "the switch does not end"),
            }
        };
        assert_eq!(code, Some(0));
        self.event("end")["totals"].clone()
    }
}

/// The answer to a request, which has to succeed.
pub fn tell(socket: &Path, request: &Request) -> Value {
    let answer = ask(socket, request).unwrap_or_else(|error| panic!("{request:?}: {error}"));
    assert!(answer.error.is_none(), "{request:?}: {:?}", answer.error);
    answer.result.unwrap_or_default()
}

/// A number of an answer.
pub fn n(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The sum of an object's numbers.
pub fn sum(object: &Value) -> u64 {
    object.as_object().unwrap().values().map(n).sum()
}

/// Waits for links of ports.
pub fn until_up(switch: &Switch, numbers: &[u32]) {
    until("links", || numbers.iter().all(|number| switch.is_up(*number)));
}
