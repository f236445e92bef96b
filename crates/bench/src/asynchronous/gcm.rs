//! `siding bench async --extern aes-gcm`: packets that a running switch encrypts on its offload worker, beside what the
//! library encrypts alone.

use crate::args::BenchAsyncArgs;
use crate::examples::Example;
use crate::harness::{Goal, Report, Upwards};
use crate::report::Line;
use console::ExternArgs;
use console::compiling::{Compiling, Prepared};
use console::output::{self, Exit};
use control::Schema;
use dataplane::{Compiled, Options, Switch};
use native::AsyncMode;
use packet_io::{BufPool, PacketBuf, Port, PortError, PortId, PortStats};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const NAME: &str = "async_gcm.p4";
const P4: &str = include_str!("../../programs/async_gcm.p4");
const HEADER_BYTES: usize = 14;
const TAG_BYTES: usize = 16;
/// Bytes of plaintext packets, with their Ethernet headers.
const LENGTHS: [usize; 5] = [64, 128, 512, 1024, 1500];
const QUICK_LENGTHS: [usize; 2] = [64, 1024];
/// Maximum ratio of the offload worker's time per packet to that of the library.
const OFFLOAD_OVER_LIBRARY_MAX: f64 = 1.1;
const RUN: Duration = Duration::from_millis(300);
/// Until a switch that has just started is in its stride.
const WARM: Duration = Duration::from_millis(100);
const KEY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// Gives as many packets as the switch takes, and takes what it gives.
#[derive(Debug)]
struct Endless {
    id: PortId,
    packet: Vec<u8>,
    stats: PortStats,
}

impl Port for Endless {
    fn id(&self) -> PortId {
        self.id
    }

    fn rx_burst(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<usize, PortError> {
        if self.packet.is_empty() {
            return Ok(0);
        }
        let mut n = 0;
        while n < n_max
            && let Some(mut buf) = pool.take()
        {
            buf.port = self.id;
            if !buf.set_data(&self.packet) {
                pool.give_back(buf);
                break;
            }
            burst.push(buf);
            n += 1;
        }
        self.stats.rx_packets += n as u64;
        Ok(n)
    }

    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError> {
        let n = burst.len();
        self.stats.tx_packets += n as u64;
        burst.drain(..).for_each(|buf| pool.give_back(buf));
        Ok(n)
    }

    fn stats(&mut self) -> PortStats {
        self.stats
    }
}

fn failed(what: impl std::fmt::Display) -> Exit {
    output::error_line(&format!("the switch of the benchmark failed: {what}"));
    Exit::Failed
}

fn compiled(args: &BenchAsyncArgs, library: Option<&Path>) -> Result<Compiled, Exit> {
    let mut loaded = Example { name: NAME, text: P4 }.load()?;
    if let Some(library) = library {
        loaded.externs =
            console::externs::load(&ExternArgs { libraries: vec![library.into()], ..ExternArgs::default() })?;
    }
    let schema = Schema::new(&loaded.runnable.control_plane.p4info).map_err(failed)?;
    let prepared = Prepared::new(&loaded, NAME)?;
    Ok(Compiled {
        name: NAME.to_owned(),
        pipeline: prepared.pipeline(&Compiling::new(&args.measure.cc)?)?,
        program: prepared.program,
        schema: Arc::new(schema),
        sources: Some(prepared.sources),
    })
}

/// Seconds for each packet that comes back encrypted.
fn by_switch(program: &Compiled, length: usize) -> Result<f64, Exit> {
    let options = Options {
        async_mode: Some(AsyncMode::Suspend),
        cores: vec![0],
        offload_cores: vec![1],
        ..Options::default()
    };
    let switch = Switch::start(options).map_err(failed)?;
    switch.replace(program.clone()).map_err(failed)?;
    // The output port is opened first, because packets arrive as soon as the input port is open.
    for (number, packet) in [(1, Vec::new()), (0, vec![0x5a; length])] {
        let port = Endless { id: PortId(number), packet, stats: PortStats::default() };
        switch.add_open_port(number, format!("memory {number}"), Box::new(port)).map_err(failed)?;
    }
    std::thread::sleep(WARM);
    let sent = || switch.report().map(|report| (Instant::now(), report.n_sent)).map_err(failed);
    let (begin, n_before) = sent()?;
    std::thread::sleep(RUN);
    let (end, n_after) = sent()?;
    let report = switch.shut_down().map_err(failed)?;
    let n_done: u64 = report.asyncs.iter().map(|block| block.n_done).sum();
    if n_done < n_after || report.n_dropped.values().sum::<u64>() > 0 {
        return Err(failed(format!("{n_done} packets came back, {:?} were dropped", report.n_dropped)));
    }
    Ok((end - begin).as_secs_f64() / n_after.saturating_sub(n_before).max(1) as f64)
}

/// Seconds per packet of the library alone, one packet after the other.
fn by_library(length: usize) -> Result<f64, Exit> {
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &KEY).map_err(failed)?);
    let mut packet = vec![0x5a; length + TAG_BYTES];
    let (begin, mut n) = (Instant::now(), 0u64);
    while begin.elapsed() < RUN {
        for _ in 0..64 {
            let (text, room) = packet[HEADER_BYTES..].split_at_mut(length - HEADER_BYTES);
            let nonce = Nonce::assume_unique_for_key([0x5a; 12]);
            let tag = key.seal_in_place_separate_tag(nonce, Aad::empty(), text).map_err(failed)?;
            room.copy_from_slice(tag.as_ref());
            n += 1;
        }
    }
    std::hint::black_box(&packet);
    Ok(begin.elapsed().as_secs_f64() / n as f64)
}

fn line(peer: &str, path: &str, length: usize, mut seconds: Vec<f64>) -> Line {
    seconds.sort_by(f64::total_cmp);
    // There is no counter of cycles here: a nanosecond is one.
    let ns = |at: usize| seconds.get(at).copied().unwrap_or(0.0) * 1e9;
    let (median, n) = (ns(seconds.len() / 2), seconds.len());
    let bytes = length - HEADER_BYTES;
    let all = json!({
        "peer": peer, "version": env!("CARGO_PKG_VERSION"), "work": "aes-gcm", "path": path, "size": length,
        "cycles": median, "cycles_min": ns(0), "cycles_max": ns(n - 1), "mpps": 1e3 / median, "runs": n, "tsc_ghz": 1.0,
        "unit": "packet", "encrypted_bytes": bytes, "gigabytes_per_second": bytes as f64 / median,
    });
    let (peer, work) = (peer.to_owned(), "aes-gcm".to_owned());
    Line { peer, work, size: length as u64, cycles: median, cycles_min: ns(0), all }
}

pub fn measure(args: &BenchAsyncArgs) -> Result<(), Exit> {
    let mut programs = vec![("suspend".to_owned(), compiled(args, None)?)];
    if let Some(library) = &args.other_extern {
        let name = library.file_stem().unwrap_or_default().to_string_lossy();
        programs.push((format!("suspend, {name}"), compiled(args, Some(library))?));
    }
    let lengths: &[usize] = if args.measure.quick { &QUICK_LENGTHS } else { &LENGTHS };
    let mut report = Report {
        title: "Packets encrypted with AES-GCM, 128 bits".to_string(),
        size_is: "bytes",
        notes: vec!["Cycles stand for nanoseconds here.".to_string()],
        upwards: Upwards::Rate,
        ..Report::default()
    };
    let mut ratios = Vec::new();
    for length in lengths {
        let (mut by_us, mut alone) = (vec![Vec::new(); programs.len()], Vec::new());
        for _ in 0..args.measure.n_runs() {
            alone.push(by_library(*length)?);
            for (seconds, (_, program)) in by_us.iter_mut().zip(&programs) {
                seconds.push(by_switch(program, *length)?);
            }
        }
        let theirs = line("ring", "alone", *length, alone);
        let ours: Vec<Line> = programs
            .iter()
            .zip(by_us)
            .map(|((path, _), seconds)| line("siding", path, *length, seconds))
            .collect();
        // The goal is the built-in extern's.
        ratios.extend(ours.first().map(|ours| (*length as u64, ours.cycles / theirs.cycles)));
        report.lines.extend(ours);
        report.lines.push(theirs);
    }
    report.judge("offload_over_library", ratios, Goal::AtMost(OFFLOAD_OVER_LIBRARY_MAX));
    report.show("async", "path", &args.measure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_median_of_its_runs() {
        let line = line("siding", "suspend", 64, vec![3e-7, 1e-7, 2e-7]);
        assert!((line.cycles - 200.0).abs() < 1e-6 && (line.cycles_min - 100.0).abs() < 1e-6);
        assert!((line.number("mpps").unwrap() - 5.0).abs() < 1e-6);
        assert!((line.number("gigabytes_per_second").unwrap() - 0.25).abs() < 1e-6);
    }
}
