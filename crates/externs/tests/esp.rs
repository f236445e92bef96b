//! `ipsec_esp`: packets that another implementation has made, and all kinds of packets there and back.

use externs::{Arg, Ended, ExternSet, PacketView, Session, Signature, Value};
use std::path::PathBuf;
use std::sync::Arc;

const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const LONG_KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// A file of associations, which is removed at the end.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> File {
        let path = std::env::temp_dir().join(format!("siding-esp-{name}-{}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        File(path)
    }

    fn of(name: &str, is_repeatable: bool, associations: &[String]) -> File {
        let text =
            format!("{{\"repeatable\": {is_repeatable}, \"associations\": [{}]}}", associations.join(", "));
        File::new(name, &text)
    }

    fn session(&self) -> Session {
        Session::open(self.bound(), 0).unwrap()
    }

    fn bound(&self) -> Arc<externs::Bound> {
        let mut set = ExternSet::new();
        set.set_option("ipsec_esp", self.0.to_str().unwrap());
        let value =
            |offset, size_bytes, width_bits| Value { offset, size_bytes, width_bits, is_varbit: false };
        let args = vec![Arg::In(vec![value(0, 4, 32)]), Arg::In(vec![value(4, 2, 16)])];
        let call = Signature {
            name: "ipsec_esp".into(),
            object: None,
            args,
            args_bytes: 6,
            result: Some(value(0, 1, 1)),
        };
        Arc::new(set.bind(&[call]).unwrap())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// An association as text; `more` are further fields.
fn association(index: u32, direction: &str, spi: u32, key: &str, more: &str) -> String {
    format!(
        "{{\"index\": {index}, \"direction\": \"{direction}\", \"spi\": {spi}, \"key\": \"{key}\", \
         \"salt\": \"a1a2a3a4\"{more}}}"
    )
}

const TRANSPORT: &str = ", \"mode\": \"transport\"";
const TUNNEL_4: &str = ", \"source\": \"192.0.2.1\", \"destination\": \"192.0.2.2\"";
const TUNNEL_6: &str =
    ", \"source\": \"2001:db8:1::1\", \"destination\": \"2001:db8:1::2\", \"hop_limit\": 33";

/// Calls with a packet; the new packet, or `None` if nothing was done. A call that does nothing must change nothing.
fn call(session: &mut Session, index: u32, at: u16, packet: &[u8]) -> Option<Vec<u8>> {
    call_with_room(session, index, at, packet, 200)
}

fn call_with_room(session: &mut Session, index: u32, at: u16, packet: &[u8], room: usize) -> Option<Vec<u8>> {
    let mut args = [index.to_le_bytes().as_slice(), at.to_le_bytes().as_slice()].concat();
    let mut storage = [packet, &vec![0; room]].concat();
    let mut result = [0];
    let mut view =
        PacketView { storage: &mut storage, start: 0, length: packet.len(), payload_at: 0, ingress_port: 0 };
    assert_eq!(session.call(0, &mut args, &mut result, &mut view, 0), Ended::Next);
    let (start, length) = (view.start, view.length);
    let bytes = storage[start..start + length].to_vec();
    if result[0] == 0 {
        assert_eq!(bytes, packet, "nothing was done, and the packet is another one");
        return None;
    }
    Some(bytes)
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

const UDP_4: &str = "45000026000700003f1167b40a0100010a02000903e807d00012083268656c6c6f2c20657370";
const UDP_6: &str = "600000000018110920010db800000000000000000000000120010db8000000000000000000000002\
                     03e807d0001833ca7369787465656e20616e64206d6f7265";

/// Packets made by Scapy's `SecurityAssociation`, with sequence number 1 and the initialisation vector 1.
#[test]
fn packets_are_those_of_another_implementation() {
    let cases = [
        (
            KEY,
            TRANSPORT,
            UDP_4,
            "45000048000700003f3267710a0100010a0200090000100100000001000000000000000102050e1b76fa221e39b76625931fcfe1ee0b6c4a8121983b99cf3c161e45c92a4c560fef",
        ),
        (
            LONG_KEY,
            TRANSPORT,
            UDP_6,
            "60000000003c320920010db800000000000000000000000120010db800000000000000000000000200001002000000010000000000000001e8911f2d5ac9634c49c2390e29b0dc08b99a048432828117f638f202176f0f1a04d4f14d6b4e5e8fc7702266",
        ),
        (
            KEY,
            TUNNEL_4,
            UDP_4,
            "4500005c000100004032f66bc0000201c00002020000100300000001000000000000000144ed09ed76ef2a2c6ec36dfdf632ef8597796c52a327f4b5ba0ddfa237fec4b4628dfa4b30dd3c5b5cbac8be05703f50c7968157440fb13b",
        ),
        (
            LONG_KEY,
            TUNNEL_4,
            UDP_6,
            "45000078000100004032f64fc0000201c0000202000010040000000100000000000000018b7918fd5ac9418f1aaa4cc24cd5b228d8f460a45fedf373d73bfdab4f5a8416fe953ea7bfa72f19446d7e09760b2db395ec9d6964eb83067fbf7bb698762d73552b2b828f0700c3cf3ef4a1c353f76a061d0aac",
        ),
        (
            KEY,
            TUNNEL_6,
            UDP_4,
            "600000000048322120010db800010000000000000000000120010db80001000000000000000000020000100500000001000000000000000144ed09ed76ef2a2c6ec36dfdf632ef8597796c52a327f4b5ba0ddfa237fec4b4628dfa4b30dd3c5bf89c12aca4c74a1942b44a8d284382fe",
        ),
    ];
    for (i, (key, mode, plain, esp)) in cases.into_iter().enumerate() {
        let spi = 0x1001 + i as u32;
        let back = if mode == TRANSPORT { TRANSPORT } else { "" };
        let file = File::of(
            &format!("known{i}"),
            true,
            &[association(1, "encrypt", spi, key, mode), association(2, "decrypt", spi, key, back)],
        );
        let mut session = file.session();
        // Ethernet's padding is no part of the packet.
        let frame = [hex("0102030405060708090a0b0c0800"), hex(plain), vec![0; 5]].concat();
        let made = call(&mut session, 1, 14, &frame).unwrap();
        assert_eq!((&made[..14], &made[14..]), (&frame[..14], hex(esp).as_slice()), "case {i}");
        assert_eq!(call(&mut session, 2, 14, &made), Some(frame[..frame.len() - 5].to_vec()), "case {i}");
        assert_eq!(call(&mut session, 2, 14, &made), None, "case {i}: a replay");
    }
}

/// xorshift64*
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// A packet of either version with random options, traffic class and contents.
    fn packet(&mut self) -> Vec<u8> {
        let n = self.below(120);
        let contents: Vec<u8> = (0..n).map(|_| self.next() as u8).collect();
        if self.below(2) == 0 {
            let n_options = self.below(4) * 4;
            let mut header = vec![0; 20 + n_options];
            header[0] = 0x45 + (n_options / 4) as u8;
            header[1] = self.next() as u8;
            let total = (header.len() + n) as u16;
            header[2..4].copy_from_slice(&total.to_be_bytes());
            header[6] = if self.below(2) == 0 { 0x40 } else { 0 };
            header[9] = 17;
            let sum: u32 = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
            let sum = (sum & 0xffff) + (sum >> 16);
            header[10..12].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
            return [header, contents].concat();
        }
        let extension = if self.below(2) == 0 { vec![17, 0, 1, 4, 0, 0, 0, 0] } else { Vec::new() };
        let class = self.next() as u8;
        let mut header = vec![0; 40];
        header[..2].copy_from_slice(&[0x60 | class >> 4, class << 4]);
        header[4..6].copy_from_slice(&((extension.len() + n) as u16).to_be_bytes());
        header[6] = if extension.is_empty() { 17 } else { 0 };
        [header, extension, contents].concat()
    }
}

#[test]
fn packets_come_back_as_they_were() {
    let mut numbers = Numbers(3);
    let both = |index: u32, mode: &str| {
        let back = if mode == TRANSPORT { TRANSPORT } else { "" };
        [
            association(index, "encrypt", 300 + index, KEY, mode),
            association(100 + index, "decrypt", 300 + index, KEY, back),
        ]
    };
    let associations = [both(1, TRANSPORT), both(2, TUNNEL_4), both(3, TUNNEL_6)].concat();
    let file = File::of("round", false, &associations);
    let mut session = file.session();
    for _ in 0..2000 {
        let packet = numbers.packet();
        let index = 1 + numbers.below(3) as u32;
        let made = call(&mut session, index, 0, &packet).unwrap();
        assert_ne!(made, packet);
        // A damaged packet is refused and does not count as received.
        let mut damaged = made.clone();
        let esp = made.len() - numbers.below(16 + 1) - 1;
        damaged[esp] ^= 1 << numbers.below(8);
        assert_eq!(call(&mut session, 100 + index, 0, &damaged), None);
        assert_eq!(call(&mut session, 100 + index, 0, &made), Some(packet.clone()));
        assert_eq!(call(&mut session, 100 + index, 0, &made), None);
        assert_eq!(call(&mut session, 77, 0, &packet), None, "there is no such association");
        assert_eq!(call_with_room(&mut session, index, 0, &packet, 33), None, "there is no room");
    }
}

#[test]
fn damaged_packets_do_no_harm() {
    let mut numbers = Numbers(5);
    let associations = [
        association(0, "encrypt", 256, KEY, TUNNEL_4),
        association(1, "encrypt", 256, KEY, TRANSPORT),
        association(2, "decrypt", 256, KEY, ""),
        association(3, "decrypt", 256, KEY, TRANSPORT),
    ];
    let file = File::of("damage", false, &associations);
    let mut session = file.session();
    for _ in 0..20_000 {
        let mut packet = numbers.packet();
        if numbers.below(2) == 0 {
            packet = call(&mut session, numbers.below(2) as u32, 0, &packet).unwrap_or(packet);
        }
        for _ in 0..numbers.below(4) {
            let at = numbers.below(packet.len().min(48));
            packet[at] = numbers.next() as u8;
        }
        packet.truncate(numbers.below(packet.len() + 1));
        // `call` looks whether a refused packet is unchanged.
        let _ = call(&mut session, numbers.below(5) as u32, numbers.below(80) as u16 % 70, &packet);
    }
}

/// The traffic class of a tunnel follows that of its packets, and congestion on the way shows (RFC 6040).
#[test]
fn congestion_in_a_tunnel_shows() {
    let associations =
        [association(1, "encrypt", 256, KEY, TUNNEL_4), association(2, "decrypt", 256, KEY, "")];
    let file = File::of("congestion", false, &associations);
    let mut session = file.session();
    for (own, expected) in [(2_u8, Some(3)), (1, Some(3)), (3, Some(3)), (0, None)] {
        let mut packet = hex(UDP_4);
        packet[1] = 0xb8 | own;
        let mut made = call(&mut session, 1, 0, &packet).unwrap();
        assert_eq!(made[1], packet[1]);
        made[1] |= 3;
        let back = call(&mut session, 2, 0, &made);
        assert_eq!(back.map(|packet| packet[1]), expected.map(|ecn| 0xb8 | ecn), "{own}");
    }
}

/// Sequence numbers, with which nonces are made, are shared by all threads, but for tests that want to be repeated.
#[test]
fn no_sequence_number_is_used_twice() {
    let sequence = |packet: &[u8]| u32::from_be_bytes(packet[24..28].try_into().unwrap());
    for is_repeatable in [true, false] {
        let file = File::of(
            &format!("shared{is_repeatable}"),
            is_repeatable,
            &[association(1, "encrypt", 256, KEY, TUNNEL_4)],
        );
        let bound = file.bound();
        let mut sessions: Vec<Session> =
            (0..2).map(|thread| Session::open(Arc::clone(&bound), thread).unwrap()).collect();
        let mut other = file.session();
        let next = |session: &mut Session| sequence(&call(session, 1, 0, &hex(UDP_4)).unwrap());
        let first =
            [next(&mut sessions[0]), next(&mut sessions[1]), next(&mut sessions[0]), next(&mut other)];
        assert_eq!(first, if is_repeatable { [1, 1, 2, 1] } else { [1, 2, 3, 4] });
    }
}

#[test]
fn a_changed_file_is_read_again() {
    let one = association(1, "encrypt", 256, KEY, TUNNEL_4);
    let file = File::of("changed", false, std::slice::from_ref(&one));
    let mut session = file.session();
    let spi_and_sequence = |packet: Vec<u8>| packet[20..28].to_vec();
    let mut send = |index| call(&mut session, index, 0, &hex(UDP_4)).map(spi_and_sequence);
    assert_eq!(send(1), Some(vec![0, 0, 1, 0, 0, 0, 0, 1]));
    assert_eq!(send(2), None);
    let wait = |send: &mut dyn FnMut(u32) -> Option<Vec<u8>>, wanted: bool| {
        for _ in 0..600 {
            if send(2).is_some() == wanted {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("the file was not read again");
    };
    let two = association(2, "encrypt", 258, KEY, TUNNEL_4);
    let text = |list: &[String]| format!("{{\"associations\": [{}]}}", list.join(", "));
    std::fs::write(&file.0, text(&[one.clone(), two])).unwrap();
    wait(&mut send, true);
    // Associations that stay keep their numbers.
    assert_eq!(send(1), Some(vec![0, 0, 1, 0, 0, 0, 0, 2]));
    std::fs::write(&file.0, "{").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2500));
    assert_eq!(send(1), Some(vec![0, 0, 1, 0, 0, 0, 0, 3]), "a file with a fault changes nothing");
    std::fs::write(&file.0, text(&[one])).unwrap();
    wait(&mut send, false);
}

#[test]
fn a_file_with_a_fault_is_an_error() {
    for (text, fault) in [("{", "EOF"), ("{\"associations\": [{}]}", "missing field")] {
        let file = File::new("fault", text);
        let error = Session::open(file.bound(), 0).unwrap_err().to_string();
        assert!(error.contains(fault) && error.contains("siding-esp-fault"), "{error}");
    }
}
