//! Windows of a run: some packets simulated by themselves, from an empty switch on.

use super::grid::Frame;
use super::output::result_json;
use hazard::traffic::Batch;
use hazard::{ConfigError, Setup, Simulation};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Numbers of a result that say nothing about a window.
const NOT_SHOWN: &[&str] = &["packets", "input_cycles"];

/// The windows of one point.
pub struct Windows {
    setup: Setup,
    packets: u64,
    /// Packets of all windows so far.
    n_taken: u64,
    now: Simulation,
    /// Each number of a result, for all windows that are done.
    numbers: BTreeMap<String, Vec<f64>>,
    n_windows: u64,
}

impl Windows {
    /// `packets` of a window; from 1.
    pub fn new(setup: &Setup, packets: u64) -> Result<Windows, ConfigError> {
        Ok(Windows {
            setup: setup.clone(),
            packets,
            n_taken: 0,
            now: Simulation::new(setup)?,
            numbers: BTreeMap::new(),
            n_windows: 0,
        })
    }

    pub fn take(&mut self, batch: &Batch, frame: &Frame) -> Result<(), ConfigError> {
        let mut at = 0;
        while at < batch.len() {
            let left = self.packets - self.n_taken % self.packets;
            let n = left.min((batch.len() - at) as u64);
            self.now.take_range(batch, at..at + n as usize);
            at += n as usize;
            self.n_taken += n;
            if n == left {
                let next = Simulation::new(&self.setup)?.from_packet(self.n_taken);
                let done = std::mem::replace(&mut self.now, next).finish();
                self.note(&result_json(&done, frame));
            }
        }
        Ok(())
    }

    fn note(&mut self, result: &Value) {
        self.n_windows += 1;
        for (name, value) in result.as_object().into_iter().flatten() {
            if let (Some(value), false) = (value.as_f64(), NOT_SHOWN.contains(&name.as_str())) {
                self.numbers.entry(name.clone()).or_default().push(value);
            }
        }
    }

    /// Smallest, 99th percentile and largest of each number. Packets after the last whole window do not count.
    pub fn finish(self) -> Value {
        let mut value = json!({ "packets": self.packets, "windows": self.n_windows });
        for (name, mut all) in self.numbers {
            all.sort_by(f64::total_cmp);
            let p99 = all[(all.len() * 99).div_ceil(100) - 1];
            value[name] = json!({ "min": all.first(), "p99": p99, "max": all.last() });
        }
        value
    }
}

/// Says what is wrong if not a single window is whole.
pub fn check(packets: u64, n_packets: u64) -> Result<(), String> {
    if packets <= n_packets {
        return Ok(());
    }
    Err(format!("--window {packets}: there are only {n_packets} packets, fewer than a window has"))
}
