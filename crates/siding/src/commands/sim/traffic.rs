//! The packets that `siding sim` runs: made up, or of a capture that is read as often as it takes.

use crate::cli::{LengthArg, SimArgs};
use crate::output::Exit;
use hazard::traffic::{
    BATCH_PACKETS, Batch, Capture, FLOWS_MAX, Flows, Frame, Generator, Key, Length, Profile, SizeCounts,
    SizeRuns, Sizes,
};
use packet_io::{PacketReader, PacketRef};
use serde_json::{Value, json};
use std::fs::File;
use std::path::PathBuf;

/// Message and exit code.
pub type Problem = (String, Exit);

/// Source of packets.
#[derive(Clone, Debug)]
pub enum Traffic {
    Made {
        name: String,
        sizes: Box<Sizes>,
        runs: Option<Box<SizeRuns>>,
        flows: Box<Flows>,
        seed: u64,
        n_packets: u64,
    },
    Trace {
        path: PathBuf,
        length: Length,
        n_packets_max: Option<u64>,
    },
}

/// Statistics of all packets, from a first pass.
#[derive(Clone, Debug)]
pub struct Survey {
    pub sizes: SizeCounts,
    pub duration_ns: u64,
    /// Packets that are neither IPv4 nor IPv6. Their keys come from the Ethernet header, if there is one.
    pub n_other: u64,
}

impl Traffic {
    /// `n_packets` unless the options say another number.
    pub fn new(args: &SimArgs, n_packets: u64) -> Result<Traffic, Problem> {
        let traffic = &args.traffic;
        if let Some(path) = &traffic.trace {
            let (path, n_packets_max) = (path.clone(), traffic.packets);
            let length = match traffic.length {
                LengthArg::Frame => Length::Frame,
                LengthArg::Ip => Length::Ip,
            };
            return Ok(Traffic::Trace { path, length, n_packets_max });
        }
        let profile = traffic.profile.unwrap_or(Profile::Backbone);
        let (sizes, name) = match &traffic.sizes {
            Some(path) => {
                let at = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
                let text = std::fs::read_to_string(path).map_err(|e| (at(&e), Exit::Environment))?;
                let sizes = Sizes::of_cdf(&text).map_err(|e| (at(&e), Exit::Usage))?;
                (sizes, path.display().to_string())
            }
            None => (profile.sizes().map_err(|e| (e.to_string(), Exit::Usage))?, profile.to_string()),
        };
        let (n_flows, exponent, train) = profile.flow_numbers();
        let n_flows = traffic.flows.unwrap_or(n_flows);
        let (exponent, train) = (traffic.zipf.unwrap_or(exponent), traffic.trains.unwrap_or(train));
        let usage = |message: String| (message, Exit::Usage);
        if !(1..=FLOWS_MAX).contains(&n_flows) {
            return Err(usage(format!("--flows {n_flows}: expected a number from 1 to {FLOWS_MAX}")));
        }
        if !(0.0..1.0).contains(&train) {
            return Err(usage(format!("--trains {train}: expected a chance from 0 to below 1")));
        }
        let flows = Flows::zipf(n_flows, exponent, train);
        let flows =
            flows.ok_or_else(|| usage(format!("--zipf {exponent}: expected a number from 0 to 10")))?;
        let runs = match traffic.size_runs {
            None => None,
            Some(stay) => {
                let wrong = || usage(format!("--size-runs {stay}: expected a chance from 0 to below 1"));
                Some(Box::new(SizeRuns::new(&sizes, stay).ok_or_else(wrong)?))
            }
        };
        let of_runs = traffic.size_runs.map_or(String::new(), |stay| format!(", runs of sizes {stay}"));
        Ok(Traffic::Made {
            name: format!("{name}, {n_flows} flows (Zipf {exponent}, trains {train}){of_runs}"),
            sizes: Box::new(sizes),
            runs,
            flows: Box::new(flows),
            seed: traffic.seed,
            n_packets: traffic.packets.unwrap_or(n_packets),
        })
    }

    pub fn open(&self, keys: &[Key]) -> Result<Source, Problem> {
        match self {
            Traffic::Made { sizes, runs, flows, seed, n_packets, .. } => {
                let mut packets = Generator::new((**sizes).clone(), (**flows).clone(), keys, *seed);
                if let Some(runs) = runs {
                    packets = packets.with_size_runs((**runs).clone());
                }
                Ok(Source::Made { packets: Box::new(packets), n_left: *n_packets })
            }
            Traffic::Trace { path, length, n_packets_max } => {
                let reader = PacketReader::open(path).map_err(|e| (e.to_string(), Exit::Environment))?;
                Ok(Source::Trace {
                    name: path.display().to_string(),
                    reader: Box::new(reader),
                    capture: Capture::new(*length, keys),
                    n_left: n_packets_max.unwrap_or(u64::MAX),
                })
            }
        }
    }

    /// Looks at every packet: so a fault anywhere in a trace is known before anything is simulated.
    pub fn survey(&self) -> Result<Survey, Problem> {
        let mut survey = Survey { sizes: SizeCounts::default(), duration_ns: 0, n_other: 0 };
        let mut source = self.open(&[])?;
        let mut batch = Batch::new(0);
        while source.fill(&mut batch)? {
            batch.len_bytes.iter().for_each(|len| survey.sizes.record(*len));
        }
        if let Source::Trace { capture, .. } = source {
            survey.duration_ns = capture.duration_ns();
            survey.n_other = capture.n_not_ip();
        }
        if survey.sizes.n() == 0 {
            let name = self.name();
            return Err((format!("{name}: there is no packet in it"), Exit::Environment));
        }
        Ok(survey)
    }

    pub fn name(&self) -> String {
        match self {
            Traffic::Made { name, .. } => name.clone(),
            Traffic::Trace { path, .. } => path.display().to_string(),
        }
    }

    pub fn json(&self, survey: &Survey) -> Value {
        let (kind, seed, length) = match self {
            Traffic::Made { seed, .. } => ("made", Some(seed), None),
            Traffic::Trace { length, .. } => ("trace", None, Some(length_name(*length))),
        };
        json!({
            "kind": kind,
            "name": self.name(),
            "seed": seed,
            "length": length,
            "packets": survey.sizes.n(),
            "mean_bytes": survey.sizes.mean_bytes(),
            "duration_ns": survey.duration_ns,
            "packets_not_ip": survey.n_other,
        })
    }
}

fn length_name(length: Length) -> &'static str {
    match length {
        Length::Frame => "frame",
        Length::Ip => "ip",
    }
}

/// Packets from the first to the last.
pub enum Source {
    Made { packets: Box<Generator>, n_left: u64 },
    Trace { name: String, reader: Box<PacketReader<File>>, capture: Capture, n_left: u64 },
}

impl Source {
    /// The next packets; false at the end.
    pub fn fill(&mut self, batch: &mut Batch) -> Result<bool, Problem> {
        match self {
            Source::Made { packets, n_left } => {
                let n = (*n_left).min(BATCH_PACKETS as u64);
                *n_left -= n;
                packets.fill(batch, n as usize);
            }
            Source::Trace { name, reader, capture, n_left } => {
                batch.clear();
                let mut refused = None;
                if *n_left > 0 {
                    let mut take = |packet: PacketRef<'_>| {
                        let frame = Frame {
                            data: packet.data,
                            len_bytes: packet.original_len_bytes,
                            time_ns: packet.timestamp_ns,
                            link_type: packet.link_type,
                        };
                        *n_left -= 1;
                        match capture.push(batch, frame) {
                            Ok(()) => *n_left > 0 && batch.len() < BATCH_PACKETS,
                            Err(error) => {
                                refused = Some(error);
                                false
                            }
                        }
                    };
                    reader.visit(&mut take).map_err(|e| (e.to_string(), Exit::Environment))?;
                }
                if let Some(error) = refused {
                    return Err((format!("{name}: {error}"), Exit::Environment));
                }
            }
        }
        Ok(!batch.is_empty())
    }
}
