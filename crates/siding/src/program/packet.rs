//! Packets that the command line names.

use crate::output::{self, Exit};
use packet_io::PacketReader;

/// The bytes of a packet: hexadecimal digits, layers with fields (crate `craft`), or `FILE.pcap:N` for the `N`th packet of
/// a capture, counted from 1. Says what is wrong on standard error.
pub fn read_packet(text: &str) -> Result<Vec<u8>, Exit> {
    let (exit, message) = match capture_place(text) {
        Some(place) => match place.and_then(|(file, number)| packet_of(file, number)) {
            Ok(bytes) => return Ok(bytes),
            Err(fault) => fault,
        },
        None => match craft::bytes(text) {
            Ok(bytes) if bytes.is_empty() => (Exit::Usage, "the packet has no bytes".to_string()),
            Ok(bytes) => return Ok(bytes),
            Err(fault) => (Exit::Usage, format!("the packet: {}", fault.render(text))),
        },
    };
    output::error_line(&message);
    Err(exit)
}

type Fault = (Exit, String);

/// The file and the number of the packet in it; `None` if the text names no capture.
///
/// Neither digits nor layers can end in a colon and a number outside of parentheses.
fn capture_place(text: &str) -> Option<Result<(&str, u64), Fault>> {
    let is_capture = |name: &str| [".pcap", ".pcapng", ".cap", ".ntar"].iter().any(|end| name.ends_with(end));
    if is_capture(text) {
        let message = format!("{text} is a capture; say which of its packets, counted from 1: {text}:1");
        return Some(Err((Exit::Usage, message)));
    }
    let (file, number) = text.rsplit_once(':')?;
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    match number.parse() {
        _ if !is_number && !is_capture(file) => None,
        Ok(n) if n > 0 => Some(Ok((file, n))),
        Ok(_) | Err(_) => {
            let message = format!("`{number}` is no packet of {file}; packets are counted from 1: {file}:1");
            Some(Err((Exit::Usage, message)))
        }
    }
}

fn packet_of(file: &str, number: u64) -> Result<Vec<u8>, Fault> {
    let reader = PacketReader::open(file).map_err(|error| (Exit::Environment, error.to_string()))?;
    let reader = reader.ethernet_only();
    let mut n_packets = 0;
    for packet in reader {
        let packet = packet.map_err(|error| (Exit::Environment, error.to_string()))?;
        n_packets += 1;
        if n_packets < number {
            continue;
        }
        let (captured, original) = (packet.data.len(), packet.original_len_bytes as usize);
        if captured < original {
            let message = format!("{file} has only {captured} of the {original} bytes of packet {number}");
            output::warning_line(&message);
        }
        return Ok(packet.data);
    }
    let packets = match n_packets {
        0 => "no packets".to_string(),
        1 => "1 packet".to_string(),
        n => format!("{n} packets"),
    };
    Err((Exit::Usage, format!("{file} has {packets}, and no packet {number}")))
}
