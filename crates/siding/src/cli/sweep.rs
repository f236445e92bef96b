//! Options of commands that make many independent points, and `siding merge`.

use clap::Args;
use std::path::PathBuf;
use sweep::Shard;

#[derive(Debug, Args)]
#[command(next_help_heading = "Sweep")]
pub struct SweepArgs {
    /// Keep results in this file, a line for each point, and go on from there after an interruption
    #[arg(long, alias = "state", value_name = "FILE.jsonl")]
    pub points: Option<PathBuf>,
    /// Make only one of N shares of the points, as 2/4; `siding merge` puts the files together
    #[arg(long, value_name = "I/N", requires = "points")]
    pub shard: Option<Shard>,
    /// Threads [default: one per core]
    #[arg(short = 'j', long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Show no progress
    #[arg(short = 'q', long)]
    pub quiet: bool,
}

/// Exit code 1: points are missing.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Points files of one sweep
    #[arg(required = true, value_name = "FILE.jsonl")]
    pub files: Vec<PathBuf>,
    /// Write the merged points to this file
    #[arg(short = 'o', long, value_name = "FILE.jsonl")]
    pub output: PathBuf,
    /// Also write if points are missing; the command of the sweep then makes them
    #[arg(long)]
    pub partial: bool,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}
