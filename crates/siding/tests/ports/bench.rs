//! A switch with ports of one kind, and their far ends.

use crate::far::Far;
use crate::kinds::{FarEnd, Kind};
use crate::net::Lab;
use crate::patience::until;
use crate::switch::Switch;
use ctl::Request;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// The ports of the switch have their numbers in the program; namespaces, interfaces and sockets are named by their places, which
/// begin with 1.
pub struct Bench {
    pub kind: Kind,
    numbers: Vec<u32>,
    /// These end before the namespaces are deleted.
    switch: Option<Switch>,
    pub fars: BTreeMap<u32, Far>,
    pub dir: TempDir,
    pub lab: Lab,
}

impl Bench {
    /// A bench whose switch does not run yet.
    pub fn new(kind: Kind, numbers: &[u32]) -> Bench {
        let n_cables = if kind.has_cables() { numbers.len() as u32 } else { 0 };
        Bench {
            kind,
            lab: Lab::new(n_cables),
            dir: tempfile::tempdir().unwrap(),
            numbers: numbers.to_vec(),
            switch: None,
            fars: BTreeMap::new(),
        }
    }

    pub fn place(&self, number: u32) -> u32 {
        1 + self.numbers.iter().position(|n| *n == number).unwrap() as u32
    }

    /// A port as after `-i`.
    pub fn port(&self, number: u32) -> String {
        format!("{number}@{}", self.kind.port(self.dir.path(), self.place(number)))
    }

    pub fn far_end(&self, number: u32) -> FarEnd {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        self.kind.far_end(self.dir.path(), self.place(number), SERIAL.fetch_add(1, Ordering::Relaxed))
    }

    /// The namespace of a far end that is an interface.
    pub fn far_namespace(&self, number: u32) -> String {
        if self.kind.has_cables() { self.lab.host(self.place(number)) } else { self.lab.switch() }
    }

    pub fn open_far(&self, number: u32) -> Far {
        Far::open(&self.far_end(number), &self.far_namespace(number))
    }

    /// Starts a switch with the ports of these numbers, and opens the far ends that are not open.
    pub fn start(&mut self, program: &str, numbers: &[u32]) {
        if self.kind.far_end_is_first() {
            self.open_fars(numbers);
        }
        let ports: Vec<String> = numbers.iter().map(|number| self.port(*number)).collect();
        let socket = self.dir.path().join("ctl");
        let switch = Switch::start(&self.lab.switch(), socket, program, &ports);
        self.switch = Some(switch);
        self.open_fars(numbers);
        self.until_up(numbers);
    }

    fn open_fars(&mut self, numbers: &[u32]) {
        for number in numbers {
            if !self.fars.contains_key(number) {
                let far = self.open_far(*number);
                self.fars.insert(*number, far);
            }
        }
    }

    /// Waits until both ends of ports have a link.
    pub fn until_up(&mut self, numbers: &[u32]) {
        until("links", || {
            // Some ends agree on a link only while they are looked at.
            let n_far = numbers.iter().filter(|number| self.far(**number).is_up()).count();
            n_far == numbers.len() && numbers.iter().all(|number| self.switch().is_up(*number))
        });
        // Some drivers offer buffers to the switch when they are asked for packets.
        numbers.iter().for_each(|number| self.far(*number).poll(|_| ()));
        // With a setting the switch takes note of all links, and leaves no port out of its groups.
        self.switch().ask(&Request::SetPort { port: numbers[0], is_enabled: true });
    }

    pub fn far(&mut self, number: u32) -> &mut Far {
        self.fars.get_mut(&number).expect("it was opened")
    }

    pub fn switch(&self) -> &Switch {
        self.switch.as_ref().expect("it was started")
    }

    pub fn switch_mut(&mut self) -> &mut Switch {
        self.switch.as_mut().expect("it was started")
    }

    /// Gives the switch to somebody who ends it.
    pub fn take_switch(&mut self) -> Switch {
        self.switch.take().expect("it was started")
    }

    pub fn kill(&mut self) {
        self.take_switch().kill();
        if self.kind.far_end_goes_with_switch() {
            self.fars.clear();
        }
    }
}
