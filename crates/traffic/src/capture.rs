//! Frames of a capture as the content of a stream.

use crate::frames::{CapturedFrame, Frames};
use crate::layers::Layers;
use crate::signature::{N_FLOWS_MAX, SIGNATURE_BYTES};
use crate::{OptionsError, TrafficError};
use packet_io::PacketReader;
use std::collections::HashMap;
use std::path::Path;

/// Bytes of packets that are kept in memory, at most.
const CAPTURE_BYTES_MAX: usize = 1 << 30;

/// Frames of a capture whose UDP or TCP payload has room for a signature.
#[derive(Clone, Debug)]
pub struct CapturedFrames {
    frames: Vec<CapturedFrame>,
    n_flows: u32,
    n_left_out: u64,
}

impl CapturedFrames {
    /// Reads a pcap or pcapng file of Ethernet. A signature replaces the last bytes of each payload, and the UDP or TCP checksum
    /// is set accordingly. Other packets, fragments, and packets that were cut are left out.
    pub fn read(path: &Path) -> Result<CapturedFrames, TrafficError> {
        let mut reader = PacketReader::open(path)?.ethernet_only();
        let (mut frames, mut n_bytes, mut n_left_out) = (Vec::new(), 0, 0);
        let mut flows: HashMap<Vec<u8>, u32> = HashMap::new();
        while let Some(packet) = reader.lend() {
            let packet = packet?;
            let layers =
                Layers::find(packet.data).filter(|layers| layers.end - layers.payload_at >= SIGNATURE_BYTES);
            let Some(layers) = layers.filter(|_| flows.len() < N_FLOWS_MAX as usize) else {
                n_left_out += 1;
                continue;
            };
            let n_flows = flows.len() as u32;
            let flow = *flows.entry(layers.tuple(packet.data)).or_insert(n_flows);
            let mut bytes = packet.data[..layers.end].to_vec();
            n_bytes += bytes.len();
            if n_bytes > CAPTURE_BYTES_MAX {
                return Err(too_large(path).into());
            }
            // A signature adds nothing to the checksum; nor do zeros.
            bytes[layers.end - SIGNATURE_BYTES..].fill(0);
            layers.set_l4_checksum(&mut bytes);
            frames.push(CapturedFrame { bytes, flow });
        }
        if frames.is_empty() {
            return Err(OptionsError(format!(
                "{}: none of its {n_left_out} packets is a whole UDP or TCP packet with {SIGNATURE_BYTES} bytes of \
                 payload, which sequence number and time need; `siding traffic replay` sends any packets",
                path.display()
            ))
            .into());
        }
        Ok(CapturedFrames { frames, n_flows: flows.len() as u32, n_left_out })
    }

    /// Number of packets that cannot carry a signature.
    pub fn n_left_out(&self) -> u64 {
        self.n_left_out
    }

    pub(crate) fn frames(&self) -> Frames {
        Frames::captured(self.frames.clone(), self.n_flows)
    }
}

pub(crate) fn too_large(path: &Path) -> OptionsError {
    OptionsError(format!("{}: it has more than 1 GiB of packets, which are kept in memory", path.display()))
}
