//! Keys: which packets share their state.

use super::headers::FlowFields;
use super::mixed;
use std::fmt;

macro_rules! fields {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $also:expr;)*) => {
        /// A field of a packet's headers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Field {
            $($(#[$doc])* $variant,)*
        }

        impl Field {
            pub const ALL: &[Field] = &[$(Field::$variant,)*];

            /// Returns the name on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Field::$variant => $name,)*
                }
            }

            fn other_names(self) -> &'static [&'static str] {
                match self {
                    $(Field::$variant => &$also,)*
                }
            }
        }
    };
}

fields! {
    /// Source address of IPv4 or IPv6.
    Source = "src", ["ipsrc", "source"];
    Destination = "dst", ["ipdst", "destination"];
    Protocol = "proto", ["protocol"];
    SourcePort = "sport", ["src-port"];
    DestinationPort = "dport", ["dst-port"];
    EthernetSource = "eth-src", ["smac"];
    EthernetDestination = "eth-dst", ["dmac"];
    EtherType = "eth-type", ["ethertype"];
    Vlan = "vlan", ["vid"];
    DifferentiatedServices = "tos", ["dscp"];
}

/// The fields whose values, together, say which state a packet uses. Without fields all packets share one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// With the number of leading bits that count, if not all.
    parts: Vec<(Field, Option<u32>)>,
    /// The most frequent key, which has a shorter way to its hash.
    is_five_tuple: bool,
}

const FIVE_TUPLE: [(Field, Option<u32>); 5] = [
    (Field::Source, None),
    (Field::Destination, None),
    (Field::Protocol, None),
    (Field::SourcePort, None),
    (Field::DestinationPort, None),
];

/// A key that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyError {
    Unknown { word: String },
    PrefixLength { word: String },
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::Unknown { word } => {
                let names: Vec<&str> = Field::ALL.iter().map(|field| field.name()).collect();
                write!(
                    f,
                    "`{word}` is no key; expected global, 5-tuple, src-dst, or a list of fields such as dst/16: {}",
                    names.join(", ")
                )
            }
            KeyError::PrefixLength { word } => {
                write!(f, "`{word}`: expected the length of a prefix of src or dst, from 1 to 128, as dst/16")
            }
        }
    }
}

impl std::error::Error for KeyError {}

impl Key {
    pub fn global() -> Key {
        Key::default()
    }

    pub fn five_tuple() -> Key {
        Key::of_parts(FIVE_TUPLE.to_vec())
    }

    /// Creates a key of fields in any order; duplicates count once.
    pub fn of_fields(fields: &[Field]) -> Key {
        Key::of_parts(fields.iter().map(|field| (*field, None)).collect())
    }

    fn of_parts(mut parts: Vec<(Field, Option<u32>)>) -> Key {
        parts.sort_unstable();
        parts.dedup();
        Key { is_five_tuple: parts == FIVE_TUPLE, parts }
    }

    /// `global`, `5-tuple`, `src-dst`, or fields with commas between them; addresses may have a length: `dst/16`.
    pub fn parse(text: &str) -> Result<Key, KeyError> {
        match text {
            "global" | "ingress-global" | "*" => return Ok(Key::global()),
            "5-tuple" | "five-tuple" | "5tuple" => return Ok(Key::five_tuple()),
            "src-dst" | "source-destination" => {
                return Ok(Key::of_fields(&[Field::Source, Field::Destination]));
            }
            _ => {}
        }
        let mut parts = Vec::new();
        for word in text.split(',').map(str::trim) {
            let (name, prefix_len) = match word.split_once('/') {
                Some((name, length)) => (name, Some(length)),
                None => (word, None),
            };
            let field = Field::ALL
                .iter()
                .copied()
                .find(|field| field.name() == name || field.other_names().contains(&name))
                .ok_or_else(|| KeyError::Unknown { word: word.to_string() })?;
            let wrong = || KeyError::PrefixLength { word: word.to_string() };
            let prefix_len = match prefix_len {
                None => None,
                Some(_) if !matches!(field, Field::Source | Field::Destination) => return Err(wrong()),
                Some(length) => {
                    let length = length.parse().map_err(|_| wrong())?;
                    if !(1..=128).contains(&length) {
                        return Err(wrong());
                    }
                    Some(length)
                }
            };
            parts.push((field, prefix_len));
        }
        Ok(Key::of_parts(parts))
    }

    pub fn is_global(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns a hash of a packet's key. Different keys almost always have different hashes.
    #[inline]
    pub fn hash(&self, fields: &FlowFields) -> u64 {
        if self.is_five_tuple {
            return five_tuple_hash(fields);
        }
        let hash = self.parts.iter().fold(0, |hash, (field, prefix_len)| {
            let value = match field {
                Field::Source => {
                    return folded_address(hash, fields.source, fields.address_bits, *prefix_len);
                }
                Field::Destination => {
                    return folded_address(hash, fields.destination, fields.address_bits, *prefix_len);
                }
                Field::Protocol => fields.protocol.into(),
                Field::SourcePort => fields.source_port.into(),
                Field::DestinationPort => fields.destination_port.into(),
                Field::EthernetSource => fields.ethernet_source,
                Field::EthernetDestination => fields.ethernet_destination,
                Field::EtherType => fields.ether_type.into(),
                Field::Vlan => fields.vlan.into(),
                Field::DifferentiatedServices => fields.differentiated_services.into(),
            };
            folded(hash, value)
        });
        mixed(hash)
    }
}

#[inline]
fn five_tuple_hash(fields: &FlowFields) -> u64 {
    let addresses = if fields.address_bits <= 32 {
        folded(0, (fields.source as u64) << 32 | fields.destination as u64)
    } else {
        folded_address(folded_address(1, fields.source, 128, None), fields.destination, 128, None)
    };
    let ports = u64::from(fields.source_port) << 16 | u64::from(fields.destination_port);
    mixed(folded(addresses, u64::from(fields.protocol) << 32 | ports))
}

/// Adds a value to a hash: the halves of a product of 128 bits. Much quicker than [`mixed`], which follows at the end.
#[inline]
fn folded(hash: u64, value: u64) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let product = u128::from(hash.rotate_left(23) ^ value ^ FACTOR) * u128::from(FACTOR);
    (product >> 64) as u64 ^ product as u64
}

fn folded_address(hash: u64, address: u128, address_bits: u32, prefix_len: Option<u32>) -> u64 {
    let value = prefix(address, address_bits, prefix_len);
    let upper = (value >> 64) as u64;
    folded(if upper == 0 { hash } else { folded(hash, upper) }, value as u64)
}

/// The leading bits of an address; all of them when it is no longer.
fn prefix(address: u128, address_bits: u32, prefix_len: Option<u32>) -> u128 {
    match prefix_len {
        Some(length) if length < address_bits => address >> (address_bits - length),
        Some(_) | None => address,
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_global() {
            return f.write_str("global");
        }
        if self.is_five_tuple {
            return f.write_str("5-tuple");
        }
        let parts: Vec<String> = self
            .parts
            .iter()
            .map(|(field, length)| match length {
                Some(length) => format!("{}/{length}", field.name()),
                None => field.name().to_string(),
            })
            .collect();
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_shown() {
        for text in ["global", "5-tuple", "src,dst", "dst", "dst/16", "src/24,dport", "eth-src", "vlan"] {
            assert_eq!(Key::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Key::parse("src-dst"), Key::parse("dst, src"));
        assert_eq!(Key::parse("src,dst,proto,sport,dport").unwrap(), Key::five_tuple());
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Key::parse("dest").unwrap_err().to_string().starts_with("`dest` is no key; expected global"));
        assert!(Key::parse("").is_err());
        for text in ["dst/0", "dst/129", "dst/x", "proto/3"] {
            assert!(Key::parse(text).unwrap_err().to_string().contains("length of a prefix"), "{text}");
        }
    }

    #[test]
    fn keys_hardly_ever_share_a_hash() {
        let key = Key::five_tuple();
        let flow = |i: u32| FlowFields {
            source: (0x0a00_0000 + i % 256).into(),
            destination: (0x0a00_0000 + i / 256 % 256).into(),
            address_bits: 32,
            source_port: (i >> 16) as u16,
            ..FlowFields::default()
        };
        let mut hashes: Vec<u64> = (0..1 << 18).map(|i| key.hash(&flow(i))).collect();
        // The low bits select queues and locks: all are about equally frequent.
        let mut by_lock = [0; 16];
        hashes.iter().for_each(|hash| by_lock[*hash as usize % 16] += 1);
        assert!(by_lock.iter().all(|n| (16_000..16_800).contains(n)), "{by_lock:?}");
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 1 << 18);
    }

    #[test]
    fn packets_share_what_their_keys_say() {
        let one =
            FlowFields { source: 1, destination: 0x0a00_0001, address_bits: 32, ..FlowFields::default() };
        let other = FlowFields { destination: 0x0a00_0002, ..one };
        let same = |text: &str| {
            let key = Key::parse(text).unwrap();
            key.hash(&one) == key.hash(&other)
        };
        assert_eq!(["global", "src", "dst/16", "dst/31"].map(same), [true, true, true, false]);
        assert_eq!(["5-tuple", "dst", "dst/32", "dst/64"].map(same), [false; 4]);
        // A value in one field is not the same value in another.
        let swapped = FlowFields { source: one.destination, destination: one.source, ..one };
        let key = Key::parse("src,dst").unwrap();
        assert_ne!(key.hash(&one), key.hash(&swapped));
    }
}
