//! The command line of `siding reproduce`.

use crate::part::Size;
use clap::Args;
use std::path::PathBuf;
use sweep::Shard;

/// Exit code 1: a part has failed. Goals that are missed do not count.
#[derive(Clone, Debug, Args)]
pub struct ReproduceArgs {
    /// Small sizes, few runs: ten minutes in the place of an hour
    #[arg(long, conflicts_with = "smoke")]
    pub quick: bool,
    /// Only show that everything runs: the figures say nothing
    #[arg(long)]
    pub smoke: bool,
    /// Run only this part, or all parts of this line of research (repeatable); --list names them
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Run only part I, I + N, I + 2 N, ... of those that are wanted
    #[arg(long, value_name = "I/N", default_value_t = Shard::ALL, hide_default_value = true)]
    pub shard: Shard,
    /// The page to write
    #[arg(short, long, value_name = "FILE.html", default_value = "siding-reproduction.html")]
    pub output: PathBuf,
    /// Keep results of parts in this directory, and take those that are there [default: FILE.parts beside the page]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Run parts again whose results are there
    #[arg(long)]
    pub fresh: bool,
    /// Print the parts with the time that each takes, and end
    #[arg(long)]
    pub list: bool,
    /// Print a summary of the page as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}

impl ReproduceArgs {
    pub(crate) fn size(&self) -> Size {
        match (self.smoke, self.quick) {
            (true, _) => Size::Smoke,
            (false, true) => Size::Quick,
            (false, false) => Size::Full,
        }
    }
}
