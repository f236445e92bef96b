//! Shards: shares of the points.

use std::fmt;
use std::str::FromStr;

/// One of several runs that divide the points of a sweep among themselves: `2/4` is the second of four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    number: usize,
    n_shards: usize,
}

impl Shard {
    /// The only shard, which has all points.
    pub const ALL: Shard = Shard { number: 1, n_shards: 1 };

    /// Points go to the shards in turns, because neighbours take similar time.
    pub fn contains(self, place: usize) -> bool {
        place % self.n_shards == self.number - 1
    }

    pub fn is_all(self) -> bool {
        self.n_shards == 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let wrong = || "expected the number of a shard and how many there are, as 2/4".to_string();
        let (number, n_shards) = text.split_once('/').ok_or_else(wrong)?;
        let parse = |text: &str| text.parse::<usize>().map_err(|_| wrong());
        let (number, n_shards) = (parse(number)?, parse(n_shards)?);
        match (number, n_shards) {
            (_, 0) => Err("there must be at least one shard".to_string()),
            (0, _) => Err("shards are numbered from 1".to_string()),
            _ if number > n_shards => Err(format!("there are only {n_shards} shards")),
            _ => Ok(Shard { number, n_shards }),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.n_shards)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_in_one_shard() {
        for n_shards in 1..6 {
            for place in 0..20 {
                let shards = (1..=n_shards).map(|i| format!("{i}/{n_shards}").parse::<Shard>().unwrap());
                assert_eq!(shards.filter(|shard| shard.contains(place)).count(), 1);
            }
        }
    }

    #[test]
    fn wrong_shards_are_refused() {
        let fault = |text: &str| text.parse::<Shard>().unwrap_err();
        assert_eq!(fault("0/4"), "shards are numbered from 1");
        assert_eq!(fault("5/4"), "there are only 4 shards");
        assert_eq!(fault("0/0"), "there must be at least one shard");
        for text in ["", "4", "/", "1/", "/4", "a/4", "1/4/2", "-1/4", "1.5/2"] {
            assert_eq!(
                fault(text),
                "expected the number of a shard and how many there are, as 2/4",
                "{text}"
            );
        }
    }
}
