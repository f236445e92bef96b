//! The turn: requests write, and begin to read, one after the other, and short ones do so between the steps of long ones.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Updates of a short request at most.
const N_SHORT: usize = 64;

/// How long a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Short,
    /// Others of its kind wait until it has ended, also while it [pauses](Turn::pause).
    Long,
}

impl Length {
    pub(crate) fn of(n_updates: usize) -> Length {
        if n_updates <= N_SHORT { Length::Short } else { Length::Long }
    }
}

/// The holder of the turn, and those that wait. Short and long requests alternate while both wait.
#[derive(Debug)]
pub(crate) struct Turns {
    state: Mutex<State>,
    /// For short requests, for long ones, and for the one that pauses.
    short: Condvar,
    long: Condvar,
    resumed: Condvar,
    /// Short requests that wait, for a glance.
    n_short: AtomicUsize,
}

#[derive(Debug)]
struct State {
    is_taken: bool,
    /// A long request lets short ones pass.
    is_paused: bool,
    last: Length,
    n_short: usize,
    n_long: usize,
}

impl State {
    fn may_go(&self, length: Length) -> bool {
        let is_before = match length {
            Length::Short => self.last == Length::Long || self.n_long == 0 && !self.is_paused,
            Length::Long => !self.is_paused && (self.last == Length::Short || self.n_short == 0),
        };
        !self.is_taken && is_before
    }

    fn may_resume(&self) -> bool {
        !self.is_taken && (self.last == Length::Short || self.n_short == 0)
    }

    fn take(&mut self, length: Length) {
        (self.is_taken, self.last) = (true, length);
    }
}

impl Turns {
    pub(crate) fn new() -> Turns {
        let state = State { is_taken: false, is_paused: false, last: Length::Long, n_short: 0, n_long: 0 };
        Turns {
            state: Mutex::new(state),
            short: Condvar::new(),
            long: Condvar::new(),
            resumed: Condvar::new(),
            n_short: AtomicUsize::new(0),
        }
    }

    /// Waits for the turn, which ends with the result.
    pub(crate) fn take(&self, length: Length) -> Turn<'_> {
        let mut state = lock(&self.state);
        match length {
            Length::Short => {
                state.n_short += 1;
                self.n_short.store(state.n_short, Ordering::Relaxed);
                state = wait(&self.short, state, |state| state.may_go(Length::Short));
                state.n_short -= 1;
                self.n_short.store(state.n_short, Ordering::Relaxed);
            }
            Length::Long => {
                state.n_long += 1;
                state = wait(&self.long, state, |state| state.may_go(Length::Long));
                state.n_long -= 1;
            }
        }
        state.take(length);
        Turn { turns: self, length }
    }

    /// The turn, if nobody has it and nobody waits.
    pub(crate) fn try_take(&self, length: Length) -> Option<Turn<'_>> {
        let mut state = self.state.try_lock().ok()?;
        let is_free = !state.is_taken && !state.is_paused && state.n_short == 0 && state.n_long == 0;
        is_free.then(|| {
            state.take(length);
            Turn { turns: self, length }
        })
    }

    /// Wakes whoever is next.
    fn wake(&self, state: &State) {
        if state.is_paused && state.may_resume() {
            self.resumed.notify_one();
        } else if state.n_short > 0 && state.may_go(Length::Short) {
            self.short.notify_one();
        } else if state.n_long > 0 {
            self.long.notify_one();
        }
    }
}

fn lock(mutex: &Mutex<State>) -> MutexGuard<'_, State> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait<'s>(
    condition: &Condvar,
    state: MutexGuard<'s, State>,
    may_go: impl Fn(&State) -> bool,
) -> MutexGuard<'s, State> {
    condition.wait_while(state, |state| !may_go(state)).unwrap_or_else(PoisonError::into_inner)
}

/// The turn of a request.
#[derive(Debug)]
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
    length: Length,
}

impl Turn<'_> {
    /// Lets a short request pass that waits. Long ones do not pass.
    pub(crate) fn pause(&self) {
        if self.length == Length::Short || self.turns.n_short.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut state = lock(&self.turns.state);
        (state.is_taken, state.is_paused) = (false, true);
        self.turns.wake(&state);
        state = wait(&self.turns.resumed, state, State::may_resume);
        state.is_paused = false;
        state.take(Length::Long);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.turns.state);
        state.is_taken = false;
        self.turns.wake(&state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Duration;

    /// Waits until so many requests wait.
    fn until(turns: &Turns, n_short: usize, n_long: usize) {
        while {
            let state = lock(&turns.state);
            (state.n_short, state.n_long) != (n_short, n_long)
        } {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn short_requests_pass_between_steps_of_a_long_one_and_long_ones_do_not() {
        let turns = Turns::new();
        let order = Mutex::new(Vec::new());
        let note = |name: &'static str| order.lock().unwrap().push(name);
        thread::scope(|scope| {
            let turn = turns.take(Length::Long);
            note("step 1");
            let other = |name, length| {
                let (turns, note) = (&turns, &note);
                move || {
                    let _turn = turns.take(length);
                    note(name);
                }
            };
            scope.spawn(other("long", Length::Long));
            until(&turns, 0, 1);
            turn.pause();
            note("step 2");
            scope.spawn(other("short", Length::Short));
            until(&turns, 1, 1);
            turn.pause();
            note("step 3");
        });
        assert_eq!(*order.lock().unwrap(), ["step 1", "step 2", "short", "step 3", "long"]);
    }

    #[test]
    fn short_and_long_requests_alternate_while_both_wait() {
        let turns = Turns::new();
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let turn = turns.take(Length::Long);
            for length in [Length::Long, Length::Short, Length::Long, Length::Short] {
                let (turns, order) = (&turns, &order);
                scope.spawn(move || {
                    let _turn = turns.take(length);
                    order.lock().unwrap().push(length);
                });
            }
            until(&turns, 2, 2);
            drop(turn);
        });
        assert_eq!(*order.lock().unwrap(), [Length::Short, Length::Long, Length::Short, Length::Long]);
    }

    #[test]
    fn one_request_at_a_time_has_the_turn() {
        let turns = Turns::new();
        let n_holders = AtomicUsize::new(0);
        let alone = || {
            assert_eq!(n_holders.fetch_add(1, Ordering::SeqCst), 0, "two requests have the turn");
            thread::yield_now();
            n_holders.fetch_sub(1, Ordering::SeqCst);
        };
        thread::scope(|scope| {
            for i in 0..6 {
                let (turns, alone) = (&turns, &alone);
                scope.spawn(move || {
                    for _ in 0..2000 {
                        let turn = turns.take(if i % 2 == 0 { Length::Short } else { Length::Long });
                        alone();
                        turn.pause();
                        alone();
                    }
                });
            }
        });
        let state = lock(&turns.state);
        assert!(!state.is_taken && !state.is_paused && state.n_short == 0 && state.n_long == 0);
    }
}
