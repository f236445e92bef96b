//! Ranges of addresses and ports.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An Ethernet address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mac(pub [u8; 6]);

impl FromStr for Mac {
    type Err = String;

    fn from_str(text: &str) -> Result<Mac, String> {
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            *byte = parts
                .next()
                .filter(|part| part.len() <= 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit()))
                .and_then(|part| u8::from_str_radix(part, 16).ok())
                .ok_or_else(|| format!("`{text}` is no MAC address; write 02:00:00:00:00:01"))?;
        }
        match parts.next() {
            None => Ok(Mac(bytes)),
            Some(_) => Err(format!("`{text}` is no MAC address: it has more than six bytes")),
        }
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// Values that can be counted through.
pub trait Ordinal: Copy + FromStr + fmt::Display {
    fn number(self) -> u128;

    /// The value that is `n` after this one. The caller makes sure that there is one.
    fn plus(self, n: u64) -> Self;

    /// False for two values that are in no common order, such as addresses of different versions.
    fn is_comparable(self, _other: Self) -> bool {
        true
    }

    /// The reason why a text is no such value.
    fn fault(text: &str) -> String;
}

impl Ordinal for Mac {
    fn number(self) -> u128 {
        self.0.iter().fold(0, |n, byte| n << 8 | u128::from(*byte))
    }

    fn plus(self, n: u64) -> Mac {
        let bytes = (self.number() as u64).wrapping_add(n).to_be_bytes();
        let [_, _, a, b, c, d, e, f] = bytes;
        Mac([a, b, c, d, e, f])
    }

    fn fault(text: &str) -> String {
        text.parse::<Mac>().err().unwrap_or_default()
    }
}

impl Ordinal for IpAddr {
    fn number(self) -> u128 {
        match self {
            IpAddr::V4(address) => u128::from(address.to_bits()),
            IpAddr::V6(address) => address.to_bits(),
        }
    }

    fn plus(self, n: u64) -> IpAddr {
        match self {
            IpAddr::V4(address) => IpAddr::V4(address.to_bits().wrapping_add(n as u32).into()),
            IpAddr::V6(address) => IpAddr::V6(address.to_bits().wrapping_add(u128::from(n)).into()),
        }
    }

    fn is_comparable(self, other: IpAddr) -> bool {
        self.is_ipv4() == other.is_ipv4()
    }

    fn fault(text: &str) -> String {
        format!("`{text}` is no IP address")
    }
}

impl Ordinal for u16 {
    fn number(self) -> u128 {
        self.into()
    }

    fn plus(self, n: u64) -> u16 {
        self.wrapping_add(n as u16)
    }

    fn fault(text: &str) -> String {
        format!("`{text}` is no number of a UDP or TCP port, 0 to 65535")
    }
}

/// All values from `first` to `last`. Invariant: `first` is not above `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<T> {
    first: T,
    last: T,
}

impl<T: Ordinal> Range<T> {
    /// A single value.
    pub fn single(value: T) -> Range<T> {
        Range { first: value, last: value }
    }

    pub fn new(first: T, last: T) -> Result<Range<T>, String> {
        if !first.is_comparable(last) {
            return Err(format!("{first} and {last} are of different IP versions"));
        }
        if first.number() > last.number() {
            return Err(format!("the range begins with {first}, which is above its end {last}"));
        }
        Ok(Range { first, last })
    }

    pub fn first(&self) -> T {
        self.first
    }

    /// Number of values; larger ones count as the largest 64-bit number.
    pub fn n(&self) -> u64 {
        u64::try_from(self.last.number() - self.first.number()).unwrap_or(u64::MAX).saturating_add(1)
    }

    /// Value `i` of the range; `i` is below [`Range::n`].
    pub(crate) fn at(&self, i: u64) -> T {
        self.first.plus(i)
    }
}

impl<T: Ordinal> FromStr for Range<T> {
    type Err = String;

    /// `FIRST-LAST`, or a single value.
    fn from_str(text: &str) -> Result<Range<T>, String> {
        let value = |text: &str| text.parse().map_err(|_| T::fault(text));
        match text.split_once('-') {
            None => value(text).map(Range::single),
            Some((first, last)) => Range::new(value(first)?, value(last)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_counted() {
        let ports: Range<u16> = "1000-1009".parse().unwrap();
        assert_eq!((ports.n(), ports.at(9)), (10, 1009));
        let addresses: Range<IpAddr> = "10.0.0.254-10.0.1.3".parse().unwrap();
        assert_eq!((addresses.n(), addresses.at(2).to_string()), (6, "10.0.1.0".to_owned()));
        let long: Range<IpAddr> = "2001:2::-2001:3::".parse().unwrap();
        assert_eq!(long.n(), u64::MAX);
        let macs: Range<Mac> = "02:00:00:00:00:ff-02:00:00:00:01:00".parse().unwrap();
        assert_eq!((macs.n(), macs.at(1).to_string()), (2, "02:00:00:00:01:00".to_owned()));
        assert_eq!("7".parse::<Range<u16>>().unwrap().n(), 1);
    }

    #[test]
    fn wrong_ranges_say_why() {
        let ip = |text: &str| text.parse::<Range<IpAddr>>().unwrap_err();
        assert!(ip("10.0.0.2-10.0.0.1").contains("above its end"));
        assert!(ip("10.0.0.2-::1").contains("different IP versions"));
        assert!(ip("10.0.0").contains("`10.0.0` is no IP address"));
        assert!("65536".parse::<Range<u16>>().unwrap_err().contains("0 to 65535"));
        for text in ["02:00:00:00:00", "02:00:00:00:00:01:02", "02:00:00:00:00:+1", "x"] {
            assert!(text.parse::<Range<Mac>>().unwrap_err().contains("is no MAC address"), "{text}");
        }
    }
}
