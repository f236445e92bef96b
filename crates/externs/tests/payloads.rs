//! Built-in externs on payloads of all lengths, with offsets and rooms of all kinds: what is done can be undone, and
//! what is not done changes nothing.

use externs::{Arg, BatchCall, Ended, ExternSet, PacketView, Session, Signature, Value};
use std::sync::Arc;

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

    fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }
}

fn value(offset: u32, size_bytes: u32, width_bits: u32) -> Value {
    Value { offset, size_bytes, width_bits, is_varbit: false }
}

/// A call with `in` arguments one after the other, each `(size in bytes, width)`, and a bool as result.
fn signature(name: &str, args: &[(u32, u32)]) -> Signature {
    let mut at = 0;
    let mut place = |(size, width): &(u32, u32)| {
        at += size;
        Arg::In(vec![value(at - size, *size, *width)])
    };
    let args: Vec<Arg> = args.iter().map(&mut place).collect();
    Signature { name: name.into(), object: None, args, args_bytes: at, result: Some(value(0, 1, 1)) }
}

fn session(calls: &[Signature], set: &ExternSet) -> Session {
    let bound = Arc::new(set.bind(calls).unwrap());
    assert!((0..calls.len()).all(|call| bound.has(call)));
    Session::open(bound, 0).unwrap()
}

/// A packet with some room around it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Packet {
    storage: Vec<u8>,
    start: usize,
    length: usize,
    payload_at: usize,
}

impl Packet {
    fn new(bytes: &[u8], payload_at: usize, tailroom: usize) -> Packet {
        let storage = [&[0; 16], bytes, &vec![0; tailroom]].concat();
        Packet { storage, start: 16, length: bytes.len(), payload_at }
    }

    fn bytes(&self) -> &[u8] {
        &self.storage[self.start..self.start + self.length]
    }

    /// Calls; gives whether it was done.
    fn call(&mut self, session: &mut Session, call: usize, args: &[u8]) -> bool {
        let (mut args, mut result) = (args.to_vec(), [0xff]);
        let Packet { storage, start, length, payload_at } = self;
        let (s, l, p) = (*start, *length, *payload_at);
        let mut view = PacketView { storage, start: s, length: l, payload_at: p, ingress_port: 0 };
        assert_eq!(session.call(call, &mut args, &mut result, &mut view, 0), Ended::Next);
        (*start, *length, *payload_at) = (view.start, view.length, view.payload_at);
        assert!(result[0] <= 1);
        result[0] == 1
    }
}

#[test]
fn encryption_is_undone_by_decryption() {
    let mut calls = Vec::new();
    for (key_bytes, key_bits) in [(16, 128), (24, 192), (32, 256)] {
        for (mode, third) in [("gcm", 96), ("cbc", 128), ("ctr", 128)] {
            for way in ["encrypt", "decrypt"] {
                let args = [(2, 16), (key_bytes, key_bits), (16, third)];
                calls.push(signature(&format!("aes_{mode}_{way}"), &args));
            }
        }
    }
    let mut session = session(&calls, &ExternSet::new());
    let mut numbers = Numbers(7);
    let (mut n_done, mut n_refused) = (0, 0);
    for _ in 0..6000 {
        let call = numbers.below(calls.len() / 2) * 2;
        let name = calls[call].name.as_str();
        let (n, headers) = (numbers.below(100), numbers.below(20));
        let bytes = numbers.bytes(headers + n);
        let (offset, tailroom) = (numbers.below(n + 3), numbers.below(40));
        let key_bytes = calls[call].args_bytes as usize - 18;
        // Few enough keys to come again, and more than are kept.
        let mut key = vec![0x5a; key_bytes];
        key[0] = numbers.below(100) as u8;
        let mut nonce = numbers.bytes(16);
        nonce[12..].fill(0);
        let args = [&(offset as u16).to_le_bytes()[..], &key, &nonce].concat();
        let mut packet = Packet::new(&bytes, headers, tailroom);
        let before = packet.clone();
        let possible = offset <= n
            && match name {
                "aes_gcm_encrypt" => tailroom >= 16,
                "aes_cbc_encrypt" => (n - offset) % 16 == 0,
                _ => true,
            };
        let what = format!("{name}: {n} bytes, offset {offset}, room {tailroom}");
        assert_eq!(packet.call(&mut session, call, &args), possible, "{what}");
        if !possible {
            assert_eq!(packet, before, "{what}");
            n_refused += 1;
            continue;
        }
        assert_eq!(packet.length, before.length + if name == "aes_gcm_encrypt" { 16 } else { 0 });
        assert_eq!(packet.bytes()[..headers + offset], before.bytes()[..headers + offset], "{what}");
        if n - offset >= 16 {
            assert_ne!(
                packet.bytes()[headers + offset..headers + n],
                before.bytes()[headers + offset..],
                "{what}"
            );
        }
        // With one bit changed, GCM refuses it.
        if name == "aes_gcm_encrypt" {
            let mut changed = packet.clone();
            let at = changed.start + headers + numbers.below(n + 16);
            changed.storage[at] ^= 1 << numbers.below(8);
            let before = changed.clone();
            assert!(!changed.call(&mut session, call + 1, &args), "{what}");
            assert_eq!(changed, before);
        }
        assert!(packet.call(&mut session, call + 1, &args), "{what}");
        assert_eq!(packet.bytes(), before.bytes(), "{what}");
        n_done += 1;
    }
    assert!(n_done > 1000 && n_refused > 1000, "{n_done} {n_refused}");
}

#[test]
fn compression_is_undone_by_decompression_or_not_done() {
    let calls = [signature("lz4_compress", &[(2, 16)]), signature("lz4_decompress", &[(2, 16)])];
    let mut session = session(&calls, &ExternSet::new());
    let mut numbers = Numbers(9);
    let (mut n_smaller, mut n_refused) = (0, 0);
    for _ in 0..3000 {
        let n = numbers.below(600);
        // Of few different bytes, so that there is something to find.
        let kinds = 1 + numbers.below(6);
        let bytes: Vec<u8> = (0..n).map(|_| numbers.below(kinds) as u8).collect();
        let (offset, tailroom) = (numbers.below(n + 2), numbers.below(20));
        let args = (offset as u16).to_le_bytes();
        let mut packet = Packet::new(&bytes, 0, tailroom);
        let before = packet.clone();
        if packet.call(&mut session, 0, &args) {
            n_smaller += usize::from(packet.length < n);
            assert_eq!(packet.bytes()[..offset], bytes[..offset]);
            assert!(packet.call(&mut session, 1, &args));
            assert_eq!(packet.bytes(), bytes);
        } else {
            assert!(offset > n || packet.length == n);
            assert_eq!(packet, before);
            n_refused += 1;
        }
        // Whatever arrives, nothing bad happens.
        let n = numbers.below(60);
        let mut garbage = Packet::new(&numbers.bytes(n), 0, tailroom);
        let before = garbage.clone();
        if !garbage.call(&mut session, 1, &[0, 0]) {
            assert_eq!(garbage, before);
        }
    }
    assert!(n_smaller > 1000 && n_refused > 5, "{n_smaller} {n_refused}");
}

#[test]
fn a_tree_gives_the_same_one_by_one_and_together() {
    let file = std::env::temp_dir().join(format!("siding-tree-{}.json", std::process::id()));
    // A tree of all depths up to 9 over three features.
    let mut numbers = Numbers(11);
    let mut nodes: Vec<String> = Vec::new();
    for i in 0u64..511 {
        nodes.push(match 2 * i + 2 < 511 && numbers.below(8) > 0 {
            true => format!(
                r#"{{"feature": {}, "threshold": {}, "below": {}, "above": {}}}"#,
                numbers.below(4),
                numbers.below(1000),
                2 * i + 1,
                2 * i + 2
            ),
            false => format!(r#"{{"class": {}}}"#, numbers.below(256)),
        });
    }
    std::fs::write(&file, format!(r#"{{"nodes": [{}]}}"#, nodes.join(","))).unwrap();
    let features = vec![value(0, 2, 10), value(2, 4, 32), value(6, 8, 40)];
    let call = Signature {
        name: "tree_classify".into(),
        object: None,
        args: vec![Arg::In(features)],
        args_bytes: 14,
        result: Some(value(0, 1, 8)),
    };
    let mut set = ExternSet::new();
    set.set_option("tree_classify", file.to_str().unwrap());
    let mut session = session(std::slice::from_ref(&call), &set);
    std::fs::remove_file(&file).unwrap();
    let mut args: Vec<Vec<u8>> = (0..100)
        .map(|_| {
            let number = |n: usize| n as u64;
            let (a, b, c) =
                (number(numbers.below(1000)), number(numbers.below(1000)), number(numbers.below(1000)));
            [&(a as u16).to_le_bytes()[..], &(b as u32).to_le_bytes(), &c.to_le_bytes()].concat()
        })
        .collect();
    let mut one_by_one = vec![[0u8]; 100];
    for (args, result) in args.iter_mut().zip(&mut one_by_one) {
        let mut packet = PacketView { storage: &mut [], start: 0, length: 0, payload_at: 0, ingress_port: 0 };
        assert_eq!(session.call(0, args, result, &mut packet, 0), Ended::Next);
    }
    let mut together = vec![[0u8]; 100];
    let mut calls: Vec<BatchCall<'_>> = args
        .iter_mut()
        .zip(&mut together)
        .map(|(args, result)| BatchCall {
            args,
            result,
            packet: PacketView { storage: &mut [], start: 0, length: 0, payload_at: 0, ingress_port: 0 },
            now_ns: 0,
            ended: Ended::NotBound,
        })
        .collect();
    session.call_batch(0, calls.as_mut_slice());
    assert!(calls.iter().all(|call| call.ended == Ended::Next));
    drop(calls);
    assert_eq!(one_by_one, together);
    let mut classes: Vec<u8> = together.concat();
    classes.sort_unstable();
    classes.dedup();
    assert!(classes.len() > 5, "{} classes", classes.len());
}
