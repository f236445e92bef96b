//! ESP in packets: RFC 4303 with AES-GCM (RFC 4106), over IPv4 and IPv6.
//!
//! ```text
//! transport   | before | IP header                | ESP, IV | encrypted: payload, trailer    | tag |
//! tunnel      | before | outer IP header          | ESP, IV | encrypted: IP packet, trailer  | tag |
//! ```
//!
//! Bytes in front of the IP header stay as they are, and those behind the packet's own length (Ethernet's padding) are cut off.

use super::associations::{Association, Role, Tunnel};
use core::net::IpAddr;
use ring::aead::{Aad, LessSafeKey, Nonce};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Security parameters index and sequence number.
const ESP_BYTES: usize = 8;
const VECTOR_BYTES: usize = 8;
/// Length of the bytes in front of the encrypted ones.
const HEAD_BYTES: usize = ESP_BYTES + VECTOR_BYTES;
const TAG_BYTES: usize = 16;
/// The length of padding and the next header, at the end of what is encrypted.
const TRAILER_BYTES: usize = 2;

const V4_BYTES: usize = 20;
const V6_BYTES: usize = 40;

/// Protocol numbers.
const HOP_BY_HOP: u8 = 0;
const IN_V4: u8 = 4;
const IN_V6: u8 = 41;
const ROUTING: u8 = 43;
const ESP: u8 = 50;
const DESTINATION_OPTIONS: u8 = 60;

/// Encrypts or decrypts the packet in the first `length` bytes of `room`, whose IP header begins at `at`. Returns its new
/// length; `None` leaves the packet unchanged. `before` is memory for a copy.
pub(super) fn apply(
    association: &Association,
    room: &mut [u8],
    length: usize,
    at: usize,
    before: &mut Vec<u8>,
) -> Option<usize> {
    let ip = Ip::read(room.get(..length)?.get(at..)?)?;
    match &association.role {
        Role::Encrypt { tunnel, sequence, vector } => {
            let room = room.get_mut(at..)?;
            let cipher = Cipher { association, sequence, vector };
            let n = match tunnel {
                Some(tunnel) => cipher.through_tunnel(tunnel, &ip, room)?,
                None => cipher.in_transport(&ip, room)?,
            };
            Some(at + n)
        }
        Role::Decrypt { is_tunnel, window } => {
            let packet = room.get_mut(at..at + ip.length)?;
            before.clear();
            before.extend_from_slice(packet);
            match open(association, *is_tunnel, window, &ip, packet) {
                Some(n) => Some(at + n),
                None => {
                    packet.copy_from_slice(before);
                    None
                }
            }
        }
    }
}

/// The contents of an IP header.
struct Ip {
    is_v4: bool,
    /// The packet with its header, in bytes.
    length: usize,
    /// Length of the header with the extensions in front of ESP.
    header: usize,
    /// Offset of the number of the protocol behind the header.
    protocol_at: usize,
    protocol: u8,
    is_fragment: bool,
}

impl Ip {
    /// Reads the header of a packet, which may be followed by padding. Extension headers of IPv6 that every router
    /// looks at come before ESP (RFC 4303, section 3.1).
    fn read(bytes: &[u8]) -> Option<Ip> {
        let ip = match bytes.first()? >> 4 {
            4 => {
                let header = usize::from(bytes[0] & 0xf) * 4;
                let length = usize::from(be16(bytes, 2)?);
                let is_fragment = be16(bytes, 6)? & 0x3fff != 0;
                let protocol = *bytes.get(9)?;
                Ip { is_v4: true, length, header, protocol_at: 9, protocol, is_fragment }
            }
            6 => {
                let length = V6_BYTES + usize::from(be16(bytes, 4)?);
                let (mut header, mut protocol_at, mut protocol) = (V6_BYTES, 6, *bytes.get(6)?);
                while matches!(protocol, HOP_BY_HOP | ROUTING)
                    || protocol == DESTINATION_OPTIONS && leads_to_esp(bytes, header)
                {
                    (protocol, protocol_at) = (*bytes.get(header)?, header);
                    header += (usize::from(*bytes.get(header + 1)?) + 1) * 8;
                }
                let is_fragment = protocol == 44;
                Ip { is_v4: false, length, header, protocol_at, protocol, is_fragment }
            }
            _ => return None,
        };
        let minimum = if ip.is_v4 { V4_BYTES } else { V6_BYTES };
        (ip.header >= minimum && ip.header <= ip.length && ip.length <= bytes.len()).then_some(ip)
    }

    /// Writes length, protocol and checksum of the packet's new form.
    fn write(&self, packet: &mut [u8], length: usize, protocol: u8) -> Option<()> {
        let total = u16::try_from(if self.is_v4 { length } else { length - V6_BYTES }).ok()?;
        let at = if self.is_v4 { 2 } else { 4 };
        packet[at..at + 2].copy_from_slice(&total.to_be_bytes());
        packet[self.protocol_at] = protocol;
        if self.is_v4 {
            write_checksum(&mut packet[..self.header]);
        }
        Some(())
    }
}

/// Options for the destination stand before ESP in some packets, and behind it in others.
fn leads_to_esp(bytes: &[u8], at: usize) -> bool {
    bytes.get(at) == Some(&ESP)
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Computes the checksum of an IPv4 header.
fn write_checksum(header: &mut [u8]) {
    header[10..12].fill(0);
    let words = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    header[10..12].copy_from_slice(&(!sum as u16).to_be_bytes());
}

fn nonce(salt: [u8; 4], vector: &[u8]) -> Option<Nonce> {
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&salt);
    nonce[4..].copy_from_slice(vector.get(..VECTOR_BYTES)?);
    Some(Nonce::assume_unique_for_key(nonce))
}

/// An association that encrypts.
struct Cipher<'a> {
    association: &'a Association,
    sequence: &'a AtomicU32,
    vector: &'a [u8; 4],
}

impl Cipher<'_> {
    /// Encrypts what follows the IP header. `room` begins with the packet.
    fn in_transport(&self, ip: &Ip, room: &mut [u8]) -> Option<usize> {
        // Fragments have no payload of their own (RFC 4303, section 3.3.4).
        if ip.is_fragment {
            return None;
        }
        let n = ip.length - ip.header;
        let length = esp_length(ip.header, n)?;
        let (packet, sequence) = self.begin(room, length, ip.is_v4)?;
        packet.copy_within(ip.header..ip.length, ip.header + HEAD_BYTES);
        self.seal(&mut packet[ip.header..], n, ip.protocol, sequence)?;
        ip.write(packet, length, ESP)?;
        Some(length)
    }

    /// Encrypts the packet behind a new IP header.
    fn through_tunnel(&self, tunnel: &Tunnel, ip: &Ip, room: &mut [u8]) -> Option<usize> {
        let is_v4 = tunnel.source.is_ipv4();
        let header = if is_v4 { V4_BYTES } else { V6_BYTES };
        let length = esp_length(header, ip.length)?;
        let traffic_class = if ip.is_v4 { room[1] } else { room[0] << 4 | room[1] >> 4 };
        let may_not_fragment = ip.is_v4 && room[6] & 0x40 != 0;
        let (packet, sequence) = self.begin(room, length, is_v4)?;
        packet.copy_within(..ip.length, header + HEAD_BYTES);
        let next = if ip.is_v4 { IN_V4 } else { IN_V6 };
        self.seal(&mut packet[header..], ip.length, next, sequence)?;
        let outer = &mut packet[..header];
        outer.fill(0);
        match (tunnel.source, tunnel.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                // The traffic class is that of the packet within (RFC 4301, section 5.1.2.1; RFC 6040).
                outer[..2].copy_from_slice(&[0x45, traffic_class]);
                outer[2..4].copy_from_slice(&u16::try_from(length).ok()?.to_be_bytes());
                outer[4..6].copy_from_slice(&(sequence as u16).to_be_bytes());
                outer[6] = if may_not_fragment { 0x40 } else { 0 };
                outer[8..10].copy_from_slice(&[tunnel.hop_limit, ESP]);
                outer[12..16].copy_from_slice(&source.octets());
                outer[16..].copy_from_slice(&destination.octets());
                write_checksum(outer);
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                outer[..2].copy_from_slice(&[0x60 | traffic_class >> 4, traffic_class << 4]);
                outer[4..6].copy_from_slice(&u16::try_from(length - V6_BYTES).ok()?.to_be_bytes());
                outer[6..8].copy_from_slice(&[ESP, tunnel.hop_limit]);
                outer[8..24].copy_from_slice(&source.octets());
                outer[24..].copy_from_slice(&destination.octets());
            }
            // Files with such tunnels are refused.
            _ => return None,
        }
        Some(length)
    }

    /// The bytes of the new packet and its sequence number, if there is room. Nothing fails from here on. Sequence numbers
    /// end at the last one (RFC 4303, section 3.3.3).
    fn begin<'r>(&self, room: &'r mut [u8], length: usize, is_v4: bool) -> Option<(&'r mut [u8], u32)> {
        let longest = usize::from(u16::MAX) + if is_v4 { 0 } else { V6_BYTES };
        let packet = room.get_mut(..length).filter(|_| length <= longest)?;
        let (order, next) = (Ordering::Relaxed, |last: u32| last.checked_add(1));
        Some((packet, self.sequence.fetch_update(order, order, next).ok()? + 1))
    }

    /// Encrypts the `n` bytes that begin `HEAD_BYTES` behind the start of `esp`, to its end.
    fn seal(&self, esp: &mut [u8], n: usize, next: u8, sequence: u32) -> Option<()> {
        let (head, rest) = esp.split_at_mut(HEAD_BYTES);
        let (text, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
        let n_padding = text.len() - n - TRAILER_BYTES;
        let (padding, trailer) = text[n..].split_at_mut(n_padding);
        padding.iter_mut().zip(1_u8..).for_each(|(byte, number)| *byte = number);
        trailer.copy_from_slice(&[n_padding as u8, next]);
        head[..4].copy_from_slice(&self.association.spi.to_be_bytes());
        head[4..8].copy_from_slice(&sequence.to_be_bytes());
        head[8..12].copy_from_slice(self.vector);
        head[12..].copy_from_slice(&sequence.to_be_bytes());
        let (esp, vector) = head.split_at(ESP_BYTES);
        let nonce = nonce(self.association.salt, vector)?;
        let made = self.association.key.seal_in_place_separate_tag(nonce, Aad::from(esp), text).ok()?;
        tag.copy_from_slice(made.as_ref());
        Some(())
    }
}

/// The length of a packet whose `n` bytes behind the header are encrypted. What is encrypted ends at a multiple of four bytes
/// (RFC 4303, section 2.4).
fn esp_length(header: usize, n: usize) -> Option<usize> {
    Some(header + HEAD_BYTES + n.checked_add(TRAILER_BYTES)?.next_multiple_of(4) + TAG_BYTES)
}

/// Decrypts a packet in its place, and returns its new length. A failure leaves any bytes.
fn open(
    association: &Association,
    is_tunnel: bool,
    window: &Mutex<super::window::Window>,
    ip: &Ip,
    packet: &mut [u8],
) -> Option<usize> {
    if ip.protocol != ESP || ip.is_fragment {
        return None;
    }
    let esp = packet.get_mut(ip.header..)?;
    let (spi, sequence) = (be32(esp, 0)?, be32(esp, 4)?);
    let lock = || window.lock().unwrap_or_else(PoisonError::into_inner);
    if spi != association.spi || !lock().is_new(sequence) {
        return None;
    }
    let n = decrypt(&association.key, association.salt, esp)?;
    let (text, trailer) =
        esp.get(HEAD_BYTES..HEAD_BYTES + n)?.split_at_checked(n.checked_sub(TRAILER_BYTES)?)?;
    let (n_padding, next) = (usize::from(trailer[0]), trailer[1]);
    let n = text.len().checked_sub(n_padding)?;
    if !text[n..].iter().zip(1_u8..).all(|(byte, number)| *byte == number) {
        return None;
    }
    // Another thread may have received a copy meanwhile.
    if !is_tunnel {
        let length = ip.header + n;
        let (from, to) = (ip.header + HEAD_BYTES, ip.header);
        if !lock().mark(sequence) {
            return None;
        }
        packet.copy_within(from..from + n, to);
        ip.write(packet, length, next)?;
        return Some(length);
    }
    let inner = Ip::read(&text[..n])?;
    if next != if inner.is_v4 { IN_V4 } else { IN_V6 } {
        return None;
    }
    let congestion = congestion(if ip.is_v4 { packet[1] } else { packet[1] >> 4 });
    let from = ip.header + HEAD_BYTES;
    // The length within counts: senders may append bytes that hide it (RFC 4303, section 2.7).
    let moved = from..from + inner.length;
    let own = congestion_of(packet.get(moved.clone())?);
    // RFC 6040: congestion on the way shows within, and packets that cannot show it are lost.
    if congestion == CONGESTED && own == 0 {
        return None;
    }
    if !lock().mark(sequence) {
        return None;
    }
    packet.copy_within(moved, 0);
    if congestion == CONGESTED && own != CONGESTED {
        if inner.is_v4 {
            packet[1] |= CONGESTED;
            write_checksum(&mut packet[..inner.header]);
        } else {
            packet[1] |= CONGESTED << 4;
        }
    }
    Some(inner.length)
}

/// Congestion has been experienced (RFC 3168).
const CONGESTED: u8 = 3;

fn congestion(traffic_class: u8) -> u8 {
    traffic_class & 3
}

fn congestion_of(packet: &[u8]) -> u8 {
    match packet[0] >> 4 {
        4 => congestion(packet[1]),
        _ => congestion(packet[1] >> 4),
    }
}

/// Decrypts what follows ESP header and vector; returns its length without the tag.
fn decrypt(key: &LessSafeKey, salt: [u8; 4], esp: &mut [u8]) -> Option<usize> {
    let (head, text) = esp.split_at_mut_checked(HEAD_BYTES)?;
    let (esp, vector) = head.split_at(ESP_BYTES);
    // The text ends at a multiple of four bytes.
    if text.len() < TAG_BYTES + 4 || text.len() % 4 != 0 {
        return None;
    }
    let nonce = nonce(salt, vector)?;
    let opened = key.open_in_place(nonce, Aad::from(esp), text).ok()?;
    Some(opened.len())
}
