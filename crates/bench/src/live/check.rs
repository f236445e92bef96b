//! Packets that come through are looked at before anything is measured: addresses, ports, time to live, checksums, and that
//! denied flows are absent.

use super::program::Headers;
use crate::args::LiveProgramArg;
use crate::ports::Pair;
use packet_io::Port;
use std::collections::HashSet;
use std::time::Duration;
use traffic::{
    ChecksumCheck, Content, Control, FlowOptions, FlowOrder, Found, Generator, GeneratorOptions, IdleMode,
    Rate, Receiver, Sender, Signature, Sink, Sizes, Station, Totals, Trial,
};

/// Flows whose packets are looked at.
const N_FLOWS_MAX: u32 = 10_000;
/// Slow enough for every subject.
const RATE: Rate = Rate::PacketsPerS(10_000);
/// A busy machine loses packets.
const N_TRIES: usize = 10;
const DRAIN: Duration = Duration::from_millis(300);
const STREAM: u8 = 1;

/// Sends packets of each flow, and fails if what arrives is not what the program makes of it.
pub(super) fn check(
    pair: &mut Pair,
    program: LiveProgramArg,
    n_entries: u32,
    expected: &dyn Fn(u32) -> Headers,
    core: usize,
) -> Result<(), String> {
    let flows = program.flows(n_entries)?;
    let n_flows = flows.n_flows.min(N_FLOWS_MAX);
    let mut arrived = HashSet::new();
    for _ in 0..N_TRIES {
        let (totals, frames) = send(pair, flows.clone(), n_flows, core)?;
        judge(&frames, expected, &mut arrived)?;
        if totals.n_wrong_checksums > 0 {
            let n = totals.n_wrong_checksums;
            return Err(format!("{n} of {} packets have wrong checksums", totals.n_received));
        }
        if arrived.len() == n_flows as usize {
            break;
        }
    }
    let n_missing = n_flows as usize - arrived.len();
    if n_missing > 0 {
        return Err(format!("of {n_flows} flows {n_missing} do not come through"));
    }
    if let Some(denied) = program.denied_flows(n_entries)? {
        let n_denied = denied.n_flows.min(N_FLOWS_MAX);
        let (totals, _) = send(pair, denied, n_denied, core)?;
        if totals.n_received > 0 {
            return Err(format!("{} packets of {n_denied} denied flows come through", totals.n_received));
        }
    }
    Ok(())
}

/// Adds the flows of frames from the generator to those that have arrived. Fails if one has other headers than expected.
fn judge(
    frames: &[Vec<u8>],
    expected: &dyn Fn(u32) -> Headers,
    arrived: &mut HashSet<u32>,
) -> Result<(), String> {
    for frame in frames {
        let Found::Valid(signature) = Signature::find(frame) else { continue };
        // Packets that were on their way before belong to another stream, and to any flow.
        if signature.stream != STREAM {
            continue;
        }
        let (found, expected) = (Headers::of(frame), expected(signature.flow));
        if found != Some(expected) {
            let flow = signature.flow;
            return Err(format!("a packet of flow {flow} has wrong headers: {found:?}, not {expected:?}"));
        }
        arrived.insert(signature.flow);
    }
    Ok(())
}

/// Sends a packet of each of the first flows. Returns copies of the frames that arrive.
fn send(
    pair: &mut Pair,
    flows: FlowOptions,
    n_flows: u32,
    core: usize,
) -> Result<(Totals, Vec<Vec<u8>>), String> {
    let generator = GeneratorOptions {
        content: Content::Flows {
            flows: FlowOptions { order: FlowOrder::RoundRobin, ..flows },
            sizes: Sizes::fixed(64),
        },
        rate: RATE,
        n_packets: Some(n_flows.into()),
        duration: None,
        stream: STREAM,
        burst_max: 32,
    };
    let generator = Generator::new(generator, pair.frame_bytes_max()).map_err(|error| error.to_string())?;
    pair.recorded = Some(Vec::new());
    let station = Station {
        port: pair,
        sender: Some(Sender::Generator(Box::new(generator))),
        receiver: Some(Receiver::Sink(Box::new(Sink::new(ChecksumCheck::On)))),
        core: Some(core),
        idle: IdleMode::Spin,
    };
    let mut trial = Trial::new(vec![station]);
    trial.drain = DRAIN;
    let result = trial.run(&Control::new(1)).map_err(|error| error.to_string());
    let frames = pair.recorded.take().unwrap_or_default();
    Ok((result?.totals, frames))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame as the generator sends it, with a signature of this flow.
    fn frame(flow: u32) -> Vec<u8> {
        frame_of(STREAM, flow)
    }

    fn frame_of(stream: u8, flow: u32) -> Vec<u8> {
        let mut bytes = [
            &[2, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 1, 8, 0][..],
            &[0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 1, 10, 0, 0, 0],
            &[0xc0, 0, 0, 9, 0, 26, 0, 0],
            &[0; 18],
        ]
        .concat();
        (bytes[5], bytes[33]) = (flow as u8, flow as u8);
        let signature =
            Signature { payload: traffic::Payload::Filled, time_ns: 1, seq: flow, stream, flow, flow_seq: 0 };
        signature.write(bytes.last_chunk_mut().unwrap());
        bytes
    }

    #[test]
    fn right_headers_are_accepted_and_wrong_ones_told() {
        let expected = |flow| LiveProgramArg::L2.expected(flow);
        let mut arrived = HashSet::new();
        let foreign = vec![0; 60];
        judge(&[frame(0), foreign, frame(3), frame(3)], &expected, &mut arrived).unwrap();
        assert_eq!(arrived, HashSet::from([0, 3]));
        // A packet of an earlier stream is none of these.
        judge(&[frame_of(0, 5)], &expected, &mut arrived).unwrap();
        assert_eq!(arrived, HashSet::from([0, 3]));
        let mut wrong = frame(1);
        wrong[22] = 63;
        let error = judge(&[frame(2), wrong], &expected, &mut arrived).unwrap_err();
        assert!(error.contains("flow 1 has wrong headers"), "{error}");
    }
}
