//! `siding migrate`: entries from one switch to another with all changes meanwhile, or to a file and back.

mod ends;

use crate::cli::{EndArg, MigrateArgs};
use crate::output::{self, Exit};
use ends::{Reader, Writer};
use p4info::proto::siding::bulk::v1 as pb;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Chunks that wait between the two ends.
const N_WAITING: usize = 4;
/// Failures that are shown.
const N_SHOWN: usize = 10;
/// Time between two words about how far it is.
const PROGRESS_TIME: Duration = Duration::from_secs(10);

/// The entries that have been copied.
#[derive(Debug, Default)]
struct Copied {
    n_entries: u64,
    /// Changes after the first pass.
    n_changes: u64,
    n_failed: u64,
    failures: Vec<String>,
    /// Chunks that were read and not yet written.
    n_chunks_waiting: u64,
    /// The first switch has no more changes.
    is_current: bool,
    was_in_step: bool,
}

impl Copied {
    /// Says once that the second switch has what the first one has.
    fn tell_in_step(&mut self) {
        if self.is_current && self.n_chunks_waiting == 0 && !self.was_in_step {
            self.was_in_step = true;
            let (n_entries, n_changes) = (self.n_entries, self.n_changes);
            output::err(&format!(
                "in step: {n_entries} entries and {n_changes} changes copied; all further changes follow until an interrupt\n"
            ));
        }
    }
}

pub fn run(args: &MigrateArgs) -> Exit {
    let begin = Instant::now();
    match migrate(args) {
        Ok(copied) => {
            let seconds = begin.elapsed().as_secs_f64();
            let rate = (copied.n_entries + copied.n_changes) as f64 / seconds.max(1e-9);
            if args.json {
                let line = serde_json::json!({
                    "entries": copied.n_entries,
                    "changes": copied.n_changes,
                    "failed": copied.n_failed,
                    "seconds": seconds,
                });
                output::out(&format!("{line}\n"));
            } else {
                output::out(&format!(
                    "{} entries and {} changes in {seconds:.2} s, {rate:.0} a second\n",
                    copied.n_entries, copied.n_changes
                ));
            }
            for failure in &copied.failures {
                output::error_line(failure);
            }
            if copied.n_failed == 0 {
                return Exit::Ok;
            }
            output::error_line(&format!("{} entries were refused", copied.n_failed));
            Exit::Failed
        }
        Err(exit) => exit,
    }
}

fn migrate(args: &MigrateArgs) -> Result<Copied, Exit> {
    if args.keep_up && !matches!((&args.from, &args.to), (EndArg::Switch(_), EndArg::Switch(_))) {
        output::error_line("--keep-up needs two switches: a file does not change");
        return Err(Exit::Usage);
    }
    let mut reader = Reader::open(args)?;
    let writer = Writer::open(args, &reader)?;
    let (sender, chunks) = sync_channel(N_WAITING);
    let is_over = Arc::new(AtomicBool::new(false));
    if args.keep_up {
        // Without a handler an interrupt ends the program at once.
        for signal in [SIGINT, SIGTERM] {
            let _ = signal_hook::flag::register(signal, Arc::clone(&is_over));
        }
    }
    let copied = Arc::new(Mutex::new(Copied::default()));
    std::thread::scope(|scope| {
        let (over, counted) = (Arc::clone(&is_over), Arc::clone(&copied));
        let keeps_up = args.keep_up;
        let reading = scope.spawn(move || {
            let mut is_scanned = false;
            let mut told = Instant::now();
            reader.read(&mut |chunk| {
                match chunk.mark() {
                    pb::Mark::Scanned => is_scanned = true,
                    pb::Mark::Current => {
                        let mut copied = counted.lock().unwrap_or_else(PoisonError::into_inner);
                        copied.is_current = true;
                        if keeps_up {
                            copied.tell_in_step();
                        }
                        return Ok(keeps_up && !over.load(Ordering::Acquire));
                    }
                    pb::Mark::Lost => {
                        output::error_line("entries change faster than they can be copied: try again");
                        return Err(Exit::Failed);
                    }
                    pb::Mark::NoMark => {}
                }
                let n =
                    chunk.sets.iter().map(|set| u64::from(set.n)).sum::<u64>() + chunk.entities.len() as u64;
                let mut copied = counted.lock().unwrap_or_else(PoisonError::into_inner);
                *(if is_scanned { &mut copied.n_changes } else { &mut copied.n_entries }) += n;
                copied.is_current = false;
                copied.n_chunks_waiting += u64::from(n > 0);
                if told.elapsed() >= PROGRESS_TIME {
                    told = Instant::now();
                    output::err(&format!(
                        "{} entries and {} changes so far\n",
                        copied.n_entries, copied.n_changes
                    ));
                }
                drop(copied);
                Ok(n == 0 || sender.send(chunk).is_ok())
            })
        });
        let counted = Arc::clone(&copied);
        let written = writer.write(chunks, &is_over, &mut |done| {
            let mut copied = counted.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(status) = &done.status {
                output::error_line(&format!("the second switch refuses entries: {}", status.message));
                return Err(Exit::Failed);
            }
            copied.n_chunks_waiting -= 1;
            if keeps_up {
                copied.tell_in_step();
            }
            copied.n_failed += done.n_failed;
            let n_left = N_SHOWN.saturating_sub(copied.failures.len());
            copied.failures.extend(done.failures.iter().take(n_left).map(|failure| failure.message.clone()));
            Ok(())
        });
        let read = reading.join().unwrap_or(Err(Exit::Failed));
        // A writer that fails ends the reader, too, so its reason comes first.
        let written = written?;
        read?;
        written.commit()
    })?;
    Ok(std::mem::take(&mut *copied.lock().unwrap_or_else(PoisonError::into_inner)))
}
