//! Runs the cases of a suite on several threads, and survives their panics and hangs.

use crate::corpus::Program;
use crate::suites::Judge;
use crate::{Corpus, Suite, exceptions};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// A case that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(120);
/// How often hanging cases are looked for.
const PATROL: Duration = Duration::from_millis(500);
const STACK_BYTES: usize = 8 << 20;

/// How to run a suite.
#[derive(Clone, Debug)]
pub struct RunOptions {
    pub jobs: usize,
    /// Only cases whose name contains this.
    pub filter: Option<String>,
}

/// The verdict on a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// One line that says why.
    Fail(String),
}

/// A judged case.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub name: String,
    pub verdict: Verdict,
    pub duration: Duration,
    /// The reason of the exception that covers this failure.
    pub excused: Option<String>,
}

impl Outcome {
    pub fn is_failure(&self) -> bool {
        self.verdict != Verdict::Pass && self.excused.is_none()
    }
}

/// Progress of a running suite.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    Judged(&'a Outcome),
    /// A case has been running for a while.
    Slow(&'a str, Duration),
}

/// The result of a suite.
#[derive(Clone, Debug)]
pub struct Report {
    pub suite: Suite,
    /// By name.
    pub outcomes: Vec<Outcome>,
    pub wall: Duration,
}

impl Report {
    pub fn n_passed(&self) -> usize {
        self.outcomes.iter().filter(|o| o.verdict == Verdict::Pass).count()
    }

    pub fn n_excused(&self) -> usize {
        self.outcomes.iter().filter(|o| o.excused.is_some()).count()
    }

    /// True when enough passed: all, or the share that the suite demands.
    pub fn is_success(&self) -> bool {
        let n_failed = self.outcomes.iter().filter(|o| o.is_failure()).count();
        let n_good = self.outcomes.len() - n_failed;
        match self.suite.required_percent() {
            100 => n_failed == 0,
            percent => n_good * 100 >= self.outcomes.len() * percent,
        }
    }

    /// The longest cases first.
    pub fn slowest(&self, n: usize) -> Vec<&Outcome> {
        let mut all: Vec<&Outcome> = self.outcomes.iter().collect();
        all.sort_by_key(|o| std::cmp::Reverse(o.duration));
        all.truncate(n);
        all
    }
}

enum Message {
    Started { thread: usize, case: usize },
    Finished { thread: usize, case: usize, verdict: Verdict, duration: Duration },
}

struct Work {
    corpus: Corpus,
    cases: Vec<Program>,
    judge: Judge,
    next: AtomicUsize,
}

/// Judges all cases of a suite; calls `tell` for each as it ends.
///
/// Threads that hang are abandoned, so the caller should end the process soon after.
pub fn run(suite: Suite, corpus: &Corpus, options: &RunOptions, mut tell: impl FnMut(Event<'_>)) -> Report {
    let start = Instant::now();
    let mut cases = suite.cases(corpus);
    if let Some(filter) = &options.filter {
        cases.retain(|p| p.name.contains(filter.as_str()));
    }
    // Exceptions are those of p4c's programs.
    let exceptions = if corpus.preprocessing().is_none() { exceptions::of(suite) } else { Vec::new() };
    let work =
        Arc::new(Work { corpus: corpus.clone(), cases, judge: suite.judge(), next: AtomicUsize::new(0) });
    let (sender, receiver) = mpsc::channel();
    let mut n_threads = 0;
    let spawn = |n_threads: &mut usize| {
        let (work, sender, thread) = (Arc::clone(&work), sender.clone(), *n_threads);
        *n_threads += 1;
        std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn(move || work_off(&work, thread, &sender))
            .is_ok()
    };
    for _ in 0..options.jobs.max(1) {
        spawn(&mut n_threads);
    }

    let mut outcomes = Vec::new();
    let mut running: Vec<(usize, usize, Instant, bool)> = Vec::new();
    while outcomes.len() < work.cases.len() {
        let mut judged = None;
        match receiver.recv_timeout(PATROL) {
            Ok(Message::Started { thread, case }) => running.push((thread, case, Instant::now(), false)),
            Ok(Message::Finished { thread, case, verdict, duration }) => {
                let n = running.len();
                running.retain(|r| (r.0, r.1) != (thread, case));
                // An abandoned case may still end; it has been judged already.
                if running.len() < n {
                    judged = Some((case, verdict, duration));
                }
            }
            Err(_) => {
                for (_, case, since, told) in &mut running {
                    if !*told && since.elapsed() > Duration::from_secs(10) {
                        *told = true;
                        tell(Event::Slow(&work.cases[*case].name, since.elapsed()));
                    }
                }
                if let Some(i) = running.iter().position(|r| r.2.elapsed() > TIMEOUT) {
                    let (_, case, since, _) = running.remove(i);
                    let reason = format!("no end after {} s", TIMEOUT.as_secs());
                    judged = Some((case, Verdict::Fail(reason), since.elapsed()));
                    spawn(&mut n_threads);
                }
            }
        }
        if let Some((case, verdict, duration)) = judged {
            let outcome = judged_outcome(&work.cases[case].name, verdict, duration, &exceptions);
            tell(Event::Judged(&outcome));
            outcomes.push(outcome);
        }
    }
    outcomes.sort_by(|a, b| a.name.cmp(&b.name));
    Report { suite, outcomes, wall: start.elapsed() }
}

fn work_off(work: &Work, thread: usize, sender: &mpsc::Sender<Message>) {
    loop {
        let case = work.next.fetch_add(1, Ordering::Relaxed);
        let Some(program) = work.cases.get(case) else { return };
        if sender.send(Message::Started { thread, case }).is_err() {
            return;
        }
        let start = Instant::now();
        let verdict = catch_unwind(AssertUnwindSafe(|| (work.judge)(&work.corpus, program)))
            .unwrap_or_else(|panic| Verdict::Fail(format!("panic: {}", panic_text(&*panic))));
        let duration = start.elapsed();
        if sender.send(Message::Finished { thread, case, verdict, duration }).is_err() {
            return;
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| s.to_string());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_default().replace('\n', " ")
}

fn judged_outcome(
    name: &str,
    verdict: Verdict,
    duration: Duration,
    exceptions: &[exceptions::Exception],
) -> Outcome {
    let exception = exceptions.iter().find(|e| e.program == name);
    let (verdict, excused) = match (verdict, exception) {
        (Verdict::Pass, Some(_)) => {
            (Verdict::Fail("passes, but is listed as an exception".to_string()), None)
        }
        (Verdict::Fail(reason), Some(e)) => (Verdict::Fail(reason), Some(e.reason.clone())),
        (verdict, None) => (verdict, None),
    };
    Outcome { name: name.to_string(), verdict, duration, excused }
}
