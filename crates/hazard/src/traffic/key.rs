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
}

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
        Key::of_fields(&[
            Field::Source,
            Field::Destination,
            Field::Protocol,
            Field::SourcePort,
            Field::DestinationPort,
        ])
    }

    /// Creates a key of fields in any order; duplicates count once.
    pub fn of_fields(fields: &[Field]) -> Key {
        let mut parts: Vec<_> = fields.iter().map(|field| (*field, None)).collect();
        parts.sort_unstable();
        parts.dedup();
        Key { parts }
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
        parts.sort_unstable();
        parts.dedup();
        Ok(Key { parts })
    }

    pub fn is_global(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns a hash of a packet's key. Different keys almost always have different hashes.
    pub fn hash(&self, fields: &FlowFields) -> u64 {
        self.parts.iter().fold(0, |hash, (field, prefix_len)| {
            let value = match field {
                Field::Source => prefix(fields.source, fields.address_bits, *prefix_len),
                Field::Destination => prefix(fields.destination, fields.address_bits, *prefix_len),
                Field::Protocol => fields.protocol.into(),
                Field::SourcePort => fields.source_port.into(),
                Field::DestinationPort => fields.destination_port.into(),
                Field::EthernetSource => fields.ethernet_source.into(),
                Field::EthernetDestination => fields.ethernet_destination.into(),
                Field::EtherType => fields.ether_type.into(),
                Field::Vlan => fields.vlan.into(),
                Field::DifferentiatedServices => fields.differentiated_services.into(),
            };
            let number = u64::from(*field as u8) + 1;
            let upper = (value >> 64) as u64;
            let hash = if upper == 0 { hash } else { mixed(hash ^ upper) };
            mixed(hash ^ value as u64 ^ number << 56)
        })
    }
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
        if *self == Key::five_tuple() {
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
