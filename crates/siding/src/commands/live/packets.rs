//! Packets in the log: one line for each at level `debug`, and its story at level `trace`.

use super::Log;
use crate::cli::{LiveArgs, LogLevel};
use dataplane::{Followed, Switch};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use trace::Filter;

/// Lines that wait to be written; packets that find no room have none.
const N_LINES_MAX: usize = 4096;
/// How often a switch without a program is asked again.
const LOOK: Duration = Duration::from_millis(50);

/// A thread that follows all packets.
pub struct PacketLog {
    packets: Receiver<Followed>,
    is_over: Arc<AtomicBool>,
    /// Ends with the number of packets that have no line.
    thread: JoinHandle<u64>,
}

impl PacketLog {
    /// `None` if the level of the log does not ask for packets, or there is no thread for it.
    pub fn start(args: &LiveArgs, switch: &Arc<Switch>) -> Option<PacketLog> {
        if args.log_level > LogLevel::Debug {
            return None;
        }
        let (sender, packets) = sync_channel(N_LINES_MAX);
        let is_over = Arc::new(AtomicBool::new(false));
        let (switch, ended) = (Arc::clone(switch), Arc::clone(&is_over));
        let follow = move || follow(&switch, &sender, &ended);
        let thread = std::thread::Builder::new().name("packet log".to_owned()).spawn(follow).ok()?;
        Some(PacketLog { packets, is_over, thread })
    }

    /// Writes the lines that are there.
    pub fn say(&self, log: &mut Log<'_>) {
        say(&self.packets, log);
    }

    pub fn end(self, log: &mut Log<'_>) {
        self.is_over.store(true, Ordering::Release);
        let n_missed = self.thread.join().unwrap_or_default();
        say(&self.packets, log);
        if n_missed > 0 {
            let text = format!("{n_missed} packets came too fast to be logged");
            log.say(LogLevel::Debug, "packets_missed", &text, json!({ "packets": n_missed }));
        }
    }
}

fn say(packets: &Receiver<Followed>, log: &mut Log<'_>) {
    for Followed { port, n_bytes, story } in packets.try_iter() {
        let text = match log.args.log_level {
            LogLevel::Trace => {
                format!("packet of {n_bytes} bytes from port {port}\n{}", trace::render(&story))
            }
            _ => format!("packet of {n_bytes} bytes from port {port}: {}", story.summary),
        };
        let fields = json!({ "port": port, "bytes": n_bytes, "summary": story.summary });
        log.say(LogLevel::Debug, "packet", &text, fields);
    }
}

fn follow(switch: &Switch, sender: &SyncSender<Followed>, is_over: &AtomicBool) -> u64 {
    let mut n_missed = 0;
    let stop = || is_over.load(Ordering::Acquire);
    while !stop() {
        let mut tell = |followed| {
            n_missed += u64::from(matches!(sender.try_send(followed), Err(TrySendError::Full(_))));
            true
        };
        match switch.follow(&Filter::default(), &stop, &mut tell) {
            Ok(n) => n_missed += n,
            // There is no program yet, or none that the interpreter runs.
            Err(_) => std::thread::sleep(LOOK),
        }
    }
    n_missed
}
