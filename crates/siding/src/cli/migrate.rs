//! `siding migrate`: entries from one switch to another, or to a file and back.

use clap::Args;
use grpc::ServerAddress;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A switch or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndArg {
    Switch(ServerAddress),
    File(PathBuf),
}

impl FromStr for EndArg {
    type Err = String;

    fn from_str(text: &str) -> Result<EndArg, String> {
        if let Some(path) = text.strip_prefix("file:") {
            return Ok(EndArg::File(path.into()));
        }
        if text.starts_with("unix:") {
            return text.parse().map(EndArg::Switch);
        }
        if text.contains('/') || text.ends_with(".bulk") {
            return Ok(EndArg::File(text.into()));
        }
        match text.contains(':') {
            true => text.parse().map(EndArg::Switch),
            false if Path::new(text).exists() => Ok(EndArg::File(text.into())),
            false => Err(format!(
                "there is no file `{text}`, and it is no address HOST:PORT; write ./{text} for a file that is to be made"
            )),
        }
    }
}

#[derive(Debug, Args)]
pub struct MigrateArgs {
    /// The switch with the entries (HOST:PORT or unix:PATH), or a file that was made by this command
    #[arg(value_name = "FROM")]
    pub from: EndArg,
    /// The switch that gets them, or a file: a path with a `/`, a name that ends in .bulk, or file:NAME
    #[arg(value_name = "TO")]
    pub to: EndArg,
    /// Only entries of this table (repeatable) [default: all tables]
    #[arg(long = "table", value_name = "NAME")]
    pub tables: Vec<String>,
    /// Copy the values of direct counters, too
    #[arg(long)]
    pub with_counts: bool,
    /// From switch to switch: go on with all changes until interrupted
    #[arg(long)]
    pub keep_up: bool,
    /// Device id of the first switch
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub from_device_id: u64,
    /// Device id of the second switch
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub to_device_id: u64,
    /// Bid this to become primary of the second switch
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub election_id: u64,
    /// Act for this role in both switches [default: the role that may do everything]
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub role: String,
    /// Print the outcome as one JSON object
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_files() {
        let file = |text: &str| matches!(text.parse::<EndArg>(), Ok(EndArg::File(_)));
        assert!(file("./x") && file("/tmp/x") && file("x.bulk") && file("file:x"));
        assert!(file("Cargo.toml"));
        assert!(!file("localhost:9559") && !file("unix:/tmp/x") && !file(":9559") && !file("[::1]:9559"));
        let wrong = "localhost".parse::<EndArg>().unwrap_err();
        assert!(wrong.starts_with("there is no file `localhost`, and it is no address HOST:PORT"), "{wrong}");
    }
}
