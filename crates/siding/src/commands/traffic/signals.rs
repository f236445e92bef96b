//! Signals that end a trial.

use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Exit code of a process that a signal has ended, without the signal's number.
const SIGNAL_CODE_BASE: i32 = 128;

/// SIGINT and SIGTERM end what runs in good order. A second one ends the process at once.
pub struct Signals {
    is_end_wanted: Arc<AtomicBool>,
}

impl Signals {
    pub fn new() -> Signals {
        let is_end_wanted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let code = SIGNAL_CODE_BASE + signal;
            // Signals that cannot be caught end the process.
            let _ =
                signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(&is_end_wanted));
            let _ = signal_hook::flag::register(signal, Arc::clone(&is_end_wanted));
        }
        Signals { is_end_wanted }
    }

    pub fn is_end_wanted(&self) -> bool {
        self.is_end_wanted.load(Relaxed)
    }
}
