//! The file of security associations, which is JSON.

use super::window::Window;
use core::net::IpAddr;
use ring::aead::{AES_128_GCM, AES_256_GCM, LessSafeKey, UnboundKey};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;

/// Sizes of windows against replay, in sequence numbers.
const WINDOW_MAX: u32 = 4096;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    repeatable: bool,
    associations: Vec<Text>,
}

#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Text {
    index: u32,
    direction: Direction,
    spi: u32,
    /// Hexadecimal: 16 or 32 bytes.
    key: String,
    /// Hexadecimal: 4 bytes.
    salt: String,
    #[serde(default)]
    mode: ModeName,
    /// The ends of a tunnel, for packets that are encrypted.
    source: Option<IpAddr>,
    destination: Option<IpAddr>,
    hop_limit: Option<u8>,
    /// Sequence numbers that are remembered, for packets that are decrypted.
    window: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Direction {
    Encrypt,
    Decrypt,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ModeName {
    #[default]
    Tunnel,
    Transport,
}

/// A security association: one direction between two ends.
pub(super) struct Association {
    /// Its text in the file, which may change.
    pub(super) text: Text,
    pub(super) spi: u32,
    pub(super) salt: [u8; 4],
    pub(super) key: LessSafeKey,
    pub(super) role: Role,
}

pub(super) enum Role {
    Encrypt {
        tunnel: Option<Tunnel>,
        /// The last sequence number that was used.
        sequence: AtomicU32,
        /// The first half of all initialisation vectors. The other half is the sequence number.
        vector: [u8; 4],
    },
    Decrypt {
        is_tunnel: bool,
        window: Mutex<Window>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tunnel {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) hop_limit: u8,
}

/// The contents of a file.
pub(super) struct Associations {
    /// Each thread has sequence numbers of its own, and initialisation vectors are those of the run before: for tests.
    pub(super) is_repeatable: bool,
    pub(super) texts: BTreeMap<u32, Text>,
}

/// Reads a file.
pub(super) fn read(text: &str) -> Result<Associations, String> {
    let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut texts = BTreeMap::new();
    for text in file.associations {
        let index = text.index;
        // Makes one to see that it can be made.
        text.association([0; 4]).map_err(|why| format!("association {index}: {why}"))?;
        if texts.insert(index, text).is_some() {
            return Err(format!("association {index} is there twice"));
        }
    }
    Ok(Associations { is_repeatable: file.repeatable, texts })
}

impl Text {
    /// The association, with new sequence numbers.
    pub(super) fn association(&self, vector: [u8; 4]) -> Result<Association, String> {
        let key = bytes(&self.key).filter(|key| matches!(key.len(), 16 | 32));
        let key = key.ok_or("`key` is 32 or 64 hexadecimal digits")?;
        let algorithm = if key.len() == 16 { &AES_128_GCM } else { &AES_256_GCM };
        let key = UnboundKey::new(algorithm, &key).map_err(|_| "`key` cannot be used")?;
        let salt = bytes(&self.salt).and_then(|salt| salt.try_into().ok());
        let salt = salt.ok_or("`salt` is 8 hexadecimal digits")?;
        if self.spi < 256 {
            return Err("`spi` is 256 or more: smaller ones are reserved (RFC 4303, section 2.1)".to_owned());
        }
        let role = match self.direction {
            Direction::Encrypt => {
                if self.window.is_some() {
                    return Err("`window` is for associations that decrypt".to_owned());
                }
                Role::Encrypt { tunnel: self.tunnel()?, sequence: AtomicU32::new(0), vector }
            }
            Direction::Decrypt => {
                if self.source.is_some() || self.destination.is_some() || self.hop_limit.is_some() {
                    return Err("`source`, `destination` and `hop_limit` are for associations that encrypt"
                        .to_owned());
                }
                let n_numbers = self.window.unwrap_or(64);
                if !(32..=WINDOW_MAX).contains(&n_numbers) {
                    return Err(format!("`window` is 32 to {WINDOW_MAX}"));
                }
                let window = Mutex::new(Window::new(n_numbers));
                Role::Decrypt { is_tunnel: self.mode == ModeName::Tunnel, window }
            }
        };
        Ok(Association { text: self.clone(), spi: self.spi, salt, key: LessSafeKey::new(key), role })
    }

    fn tunnel(&self) -> Result<Option<Tunnel>, String> {
        match (self.mode, self.source, self.destination) {
            (ModeName::Tunnel, Some(source), Some(destination)) => {
                if source.is_ipv4() != destination.is_ipv4() {
                    return Err("`source` and `destination` are of different versions of IP".to_owned());
                }
                Ok(Some(Tunnel { source, destination, hop_limit: self.hop_limit.unwrap_or(64) }))
            }
            (ModeName::Tunnel, ..) => Err("a tunnel needs `source` and `destination`".to_owned()),
            (ModeName::Transport, None, None) if self.hop_limit.is_none() => Ok(None),
            (ModeName::Transport, ..) => {
                Err("transport mode keeps the addresses of packets: `source`, `destination` and `hop_limit` are for tunnels".to_owned())
            }
        }
    }
}

/// The bytes of a text in hexadecimal.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_files_are_told() {
        let key = "\"key\": \"000102030405060708090a0b0c0d0e0f\", \"salt\": \"01020304\"";
        let encrypt = format!("\"index\": 1, \"direction\": \"encrypt\", \"spi\": 256, {key}");
        let decrypt = format!("\"index\": 1, \"direction\": \"decrypt\", \"spi\": 256, {key}");
        let ends = "\"source\": \"10.0.0.1\", \"destination\": \"10.0.0.2\"";
        for (text, fault) in [
            (format!("{encrypt}, {ends}"), ""),
            (format!("{encrypt}, \"mode\": \"transport\""), ""),
            (decrypt.clone(), ""),
            (encrypt.clone(), "association 1: a tunnel needs `source` and `destination`"),
            (
                format!("{encrypt}, \"mode\": \"transport\", {ends}"),
                "association 1: transport mode keeps the addresses",
            ),
            (
                format!("{encrypt}, {ends}, \"window\": 64"),
                "association 1: `window` is for associations that decrypt",
            ),
            (format!("{decrypt}, \"window\": 31"), "association 1: `window` is 32 to 4096"),
            (format!("{decrypt}, {ends}"), "association 1: `source`, `destination` and `hop_limit` are for"),
            (decrypt.replace("256", "255"), "association 1: `spi` is 256 or more"),
            (decrypt.replace("0f\"", "\""), "association 1: `key` is 32 or 64 hexadecimal digits"),
            (decrypt.replace("01020304\"", "010203xy\""), "association 1: `salt` is 8 hexadecimal digits"),
            (
                format!("{encrypt}, \"source\": \"::1\", \"destination\": \"10.0.0.2\""),
                "association 1: `source` and",
            ),
            (format!("{decrypt}}}, {{{decrypt}"), "association 1 is there twice"),
            (decrypt.replace("decrypt", "both"), "unknown variant `both`"),
        ] {
            let found = read(&format!("{{\"associations\": [{{{text}}}]}}")).err().unwrap_or_default();
            assert!(
                if fault.is_empty() { found.is_empty() } else { found.starts_with(fault) },
                "{text}: {found}"
            );
        }
    }
}
