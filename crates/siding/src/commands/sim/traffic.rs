//! The packets that `siding sim` runs: made up, or of a capture that is read as often as it takes.

use crate::cli::SimArgs;
use crate::output::Exit;
use hazard::traffic::{
    BATCH_PACKETS, Batch, FlowFields, Flows, Generator, Key, Profile, SizeCounts, Sizes, TimeOrder,
    flow_fields,
};
use packet_io::PacketReader;
use serde_json::{Value, json};
use std::fs::File;
use std::path::PathBuf;

/// Message and exit code.
pub type Problem = (String, Exit);

/// Source of packets.
#[derive(Clone, Debug)]
pub enum Traffic {
    Made { name: String, sizes: Box<Sizes>, flows: Box<Flows>, seed: u64, n_packets: u64 },
    Trace { path: PathBuf, n_packets_max: Option<u64> },
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
            return Ok(Traffic::Trace { path: path.clone(), n_packets_max: traffic.packets });
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
        let flows = Flows::zipf(n_flows, exponent, train).ok_or_else(|| {
            let max = hazard::traffic::FLOWS_MAX;
            let expected = "--zipf from 0 to 10, and --trains from 0 to below 1";
            (format!("expected --flows from 1 to {max}, {expected}"), Exit::Usage)
        })?;
        Ok(Traffic::Made {
            name: format!("{name}, {n_flows} flows (Zipf {exponent}, trains {train})"),
            sizes: Box::new(sizes),
            flows: Box::new(flows),
            seed: traffic.seed,
            n_packets: traffic.packets.unwrap_or(n_packets),
        })
    }

    pub fn open(&self, keys: &[Key]) -> Result<Source, Problem> {
        match self {
            Traffic::Made { sizes, flows, seed, n_packets, .. } => {
                let packets = Generator::new((**sizes).clone(), (**flows).clone(), keys, *seed);
                Ok(Source::Made { packets: Box::new(packets), n_left: *n_packets })
            }
            Traffic::Trace { path, n_packets_max } => {
                let reader = PacketReader::open(path).map_err(|e| (e.to_string(), Exit::Environment))?;
                let reader = reader.ethernet_only();
                Ok(Source::Trace {
                    name: path.display().to_string(),
                    reader: Box::new(reader),
                    order: TimeOrder::default(),
                    n_left: n_packets_max.unwrap_or(u64::MAX),
                    keys: keys.to_vec(),
                    n_other: 0,
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
        if let Source::Trace { order, n_other, .. } = source {
            survey.duration_ns = order.duration_ns();
            survey.n_other = n_other;
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
        let (kind, seed) = match self {
            Traffic::Made { seed, .. } => ("made", Some(seed)),
            Traffic::Trace { .. } => ("trace", None),
        };
        json!({
            "kind": kind,
            "name": self.name(),
            "seed": seed,
            "packets": survey.sizes.n(),
            "mean_bytes": survey.sizes.mean_bytes(),
            "duration_ns": survey.duration_ns,
            "packets_not_ip": survey.n_other,
        })
    }
}

/// Packets from the first to the last.
pub enum Source {
    Made {
        packets: Box<Generator>,
        n_left: u64,
    },
    Trace {
        name: String,
        reader: Box<PacketReader<File>>,
        order: TimeOrder,
        n_left: u64,
        keys: Vec<Key>,
        n_other: u64,
    },
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
            Source::Trace { name, reader, order, n_left, keys, n_other } => {
                batch.clear();
                while batch.len() < BATCH_PACKETS && *n_left > 0 {
                    let Some(packet) = reader.next() else { break };
                    let packet = packet.map_err(|e| (e.to_string(), Exit::Environment))?;
                    order
                        .check(packet.timestamp_ns)
                        .map_err(|e| (format!("{name}: {e}"), Exit::Environment))?;
                    *n_left -= 1;
                    let link_type = reader.interfaces().get(packet.interface as usize).map(|i| i.link_type);
                    let fields: FlowFields = flow_fields(&packet.data, link_type.unwrap_or(0));
                    *n_other += u64::from(fields.address_bits == 0);
                    batch.push(packet.original_len_bytes, packet.timestamp_ns, &fields, keys);
                }
            }
        }
        Ok(!batch.is_empty())
    }
}
