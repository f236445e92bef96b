//! Numbers of programs, by which clients recognise that another one runs.

use control::Schema;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{SystemTime, UNIX_EPOCH};
use tonic::Status;

/// So many programs have numbers before the ones of the next microsecond begin.
const N_PROGRAMS_BITS: u32 = 12;

/// All programs that were asked for, with their numbers.
#[derive(Debug)]
pub(crate) struct Programs {
    /// Not a number of an earlier run of the switch, nor of another switch that has started in another microsecond.
    first: u64,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    n: u64,
    programs: Vec<(Weak<Schema>, u64)>,
}

impl Default for Programs {
    fn default() -> Programs {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Programs { first: (now.as_micros() as u64).max(1) << N_PROGRAMS_BITS, known: Mutex::default() }
    }
}

impl Programs {
    /// The number of a program.
    pub(crate) fn number(&self, schema: &Arc<Schema>) -> u64 {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.programs.retain(|(program, _)| program.strong_count() > 0);
        let found = known.programs.iter().find(|(program, _)| program.as_ptr() == Arc::as_ptr(schema));
        if let Some((_, number)) = found {
            return *number;
        }
        let number = self.first + known.n;
        known.n += 1;
        known.programs.push((Arc::downgrade(schema), number));
        number
    }

    /// Fails if a number is not that of the program.
    pub(crate) fn check(&self, number: u64, schema: &Arc<Schema>) -> Result<(), Status> {
        match self.number(schema) {
            now if now == number => Ok(()),
            now => {
                let message =
                    format!("program {number} does not run any more, {now} does: ask for layouts again");
                Err(Status::failed_precondition(message))
            }
        }
    }
}
