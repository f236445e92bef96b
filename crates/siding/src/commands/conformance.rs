//! `siding conformance`.

use crate::cli::{BackendArg, ConformanceArgs, SuiteArg};
use crate::output::{self, Exit};
use conformance::{Corpus, Event, NoCorpus, Outcome, Preprocessing, Report, RunOptions, Suite, Verdict};

/// Programs named as the slowest.
const SLOWEST: usize = 5;

pub fn run(args: &ConformanceArgs) -> Exit {
    let is_model = |suite: &SuiteArg| matches!(suite, SuiteArg::PsaModel | SuiteArg::PnaModel);
    let needs_corpus = args.suites.is_empty() || !args.suites.iter().all(is_model);
    let corpus = match needs_corpus.then(|| open_corpus(args)) {
        Some(Ok(corpus)) => corpus,
        Some(Err(exit)) => return exit,
        None => Corpus::none(),
    };
    let suites = match suites(args) {
        Ok(suites) => suites,
        Err(message) => {
            output::error_line(&message);
            return Exit::Usage;
        }
    };
    // Panics of the front end are verdicts here, not the end of the run.
    std::panic::set_hook(Box::new(|_| {}));
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
    let options = RunOptions { jobs, filter: args.filter.clone() };
    let mut exit = Exit::Ok;
    let mut n_judged = 0;
    for suite in suites {
        let report = conformance::run(suite, &corpus, &options, |event| tell(args, suite, event));
        // Not every directory has something for every suite.
        let is_left_out = report.outcomes.is_empty() && args.programs.is_some() && args.suites.len() != 1;
        if is_left_out {
            continue;
        }
        n_judged += report.outcomes.len();
        summarize(args, &report);
        if report.outcomes.is_empty() {
            output::error_line("no program was judged");
            exit = exit.max(Exit::Usage);
        } else if !report.is_success() {
            exit = exit.max(Exit::Failed);
        }
    }
    if n_judged == 0 && exit == Exit::Ok {
        output::error_line("no program was judged: a program has or includes a `main`");
        exit = Exit::Usage;
    }
    exit
}

/// The programs, or the checkout named on the command line or by the environment; says how to get one.
fn open_corpus(args: &ConformanceArgs) -> Result<Corpus, Exit> {
    if let Some(dir) = &args.programs {
        let (include_dirs, defines) = (args.include_dirs.clone(), args.defines.clone());
        return Corpus::of_programs(dir, Preprocessing { include_dirs, defines }).map_err(|error| {
            output::error_line(&format!("cannot read {}: {error}", dir.display()));
            Exit::Environment
        });
    }
    Corpus::find(args.p4c.as_deref()).map_err(|error| {
        output::error_line(&error.to_string());
        match error {
            NoCorpus::NotNamed => Exit::Usage,
            NoCorpus::NotACheckout(_) => Exit::Environment,
        }
    })
}

fn suites(args: &ConformanceArgs) -> Result<Vec<Suite>, String> {
    if (args.lines || args.twins) && args.suites != [SuiteArg::Reject] {
        return Err("--lines and --twins go with the suite `reject`".to_string());
    }
    if args.rewritten && args.suites != [SuiteArg::Stf] {
        return Err("--rewritten goes with the suite `stf`".to_string());
    }
    if args.backend != BackendArg::Interp && args.suites != [SuiteArg::Stf] && args.suites != [SuiteArg::Load]
    {
        return Err("--backend goes with the suites `stf` and `load`".to_string());
    }
    if args.programs.is_some() {
        if args.suites.is_empty() || args.suites == [SuiteArg::All] {
            return Ok(Suite::OF_PROGRAMS.to_vec());
        }
        if args.suites.iter().any(|suite| !is_of_programs(*suite)) || args.rewritten {
            return Err(
                "--programs goes with the suites accept, p4info, entries, fmt, ir, stf and load".to_string()
            );
        }
    }
    if args.suites.is_empty() {
        let names: Vec<&str> = Suite::ALL.iter().map(|s| s.name()).collect();
        return Err(format!("no suite is named; there are {} and `all`", names.join(", ")));
    }
    Ok(args
        .suites
        .iter()
        .flat_map(|suite| match suite {
            SuiteArg::Accept => vec![Suite::Accept],
            SuiteArg::Reject if args.lines => vec![Suite::RejectLines],
            SuiteArg::Reject if args.twins => vec![Suite::RejectTwins],
            SuiteArg::Reject => vec![Suite::Reject],
            SuiteArg::P4info => vec![Suite::P4Info],
            SuiteArg::Entries => vec![Suite::Entries],
            SuiteArg::Rewritten => vec![Suite::Rewritten],
            SuiteArg::Fmt => vec![Suite::Fmt],
            SuiteArg::Ir => vec![Suite::Ir],
            SuiteArg::Stf if args.rewritten => {
                of_backend(args, [Suite::StfRewritten, Suite::StfNativeRewritten])
            }
            SuiteArg::Stf => of_backend(args, [Suite::Stf, Suite::StfNative]),
            SuiteArg::Load => of_backend(args, [Suite::Load, Suite::LoadNative]),
            SuiteArg::PsaModel => vec![Suite::PsaModel],
            SuiteArg::PnaModel => vec![Suite::PnaModel],
            SuiteArg::All => Suite::ALL.to_vec(),
        })
        .collect())
}

/// True for suites that can judge programs of one's own.
fn is_of_programs(suite: SuiteArg) -> bool {
    match suite {
        SuiteArg::Reject | SuiteArg::Rewritten | SuiteArg::PsaModel | SuiteArg::PnaModel => false,
        SuiteArg::Accept
        | SuiteArg::P4info
        | SuiteArg::Entries
        | SuiteArg::Fmt
        | SuiteArg::Ir
        | SuiteArg::Stf
        | SuiteArg::Load
        | SuiteArg::All => true,
    }
}

/// The suites for the selected backends, of the one for the interpreter and the one for native code.
fn of_backend(args: &ConformanceArgs, [interpreted, native]: [Suite; 2]) -> Vec<Suite> {
    match args.backend {
        BackendArg::Interp => vec![interpreted],
        BackendArg::Native => vec![native],
        BackendArg::Both => vec![interpreted, native],
    }
}

fn tell(args: &ConformanceArgs, suite: Suite, event: Event<'_>) {
    match event {
        Event::Slow(name, since) => output::err(&format!("{name}: running for {} s\n", since.as_secs())),
        Event::Judged(outcome) if args.json => output::out(&format!("{}\n", json(suite, outcome))),
        Event::Judged(outcome) => match (&outcome.verdict, &outcome.excused) {
            (Verdict::Fail(reason), None) => output::out(&format!("FAIL {}: {reason}\n", outcome.name)),
            (Verdict::Fail(_), Some(excuse)) if args.verbose => {
                output::out(&format!("excused {}: {excuse}\n", outcome.name));
            }
            (Verdict::Pass, _) if args.verbose => output::out(&format!("ok {}\n", outcome.name)),
            (Verdict::Fail(_), Some(_)) | (Verdict::Pass, _) => {}
        },
    }
}

fn json(suite: Suite, outcome: &Outcome) -> serde_json::Value {
    let (verdict, reason) = match (&outcome.verdict, &outcome.excused) {
        (Verdict::Pass, _) => ("pass", None),
        (Verdict::Fail(reason), None) => ("fail", Some(reason)),
        (Verdict::Fail(reason), Some(_)) => ("excused", Some(reason)),
    };
    serde_json::json!({
        "suite": suite.name(),
        "program": outcome.name,
        "verdict": verdict,
        "reason": reason,
        "excuse": outcome.excused,
        "ms": outcome.duration.as_secs_f64() * 1e3,
    })
}

fn summarize(args: &ConformanceArgs, report: &Report) {
    let (passed, excused, total) = (report.n_passed(), report.n_excused(), report.outcomes.len());
    let name = report.suite.name();
    if args.json {
        let summary = serde_json::json!({
            "suite": name, "passed": passed, "excused": excused, "total": total,
            "success": report.is_success(), "ms": report.wall.as_secs_f64() * 1e3,
        });
        output::out(&format!("{summary}\n"));
        return;
    }
    if args.verbose {
        for o in report.slowest(SLOWEST) {
            output::out(&format!("{:9.1} ms  {}\n", o.duration.as_secs_f64() * 1e3, o.name));
        }
        output::out(&format!("{:9.1} s   in all\n", report.wall.as_secs_f64()));
    }
    let excused = if excused > 0 { format!(", {excused} listed exceptions") } else { String::new() };
    output::out(&format!("{name}: {passed} of {total}{excused}\n"));
}
