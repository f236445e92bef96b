//! Published numbers of stateful actions beside those of the models of `siding sim`: the tables at the end of
//! docs/how-to/stateful-actions.md, and how far apart the two may be.

use hazard::traffic::{Batch, Flows, Generator, Key, Profile, SizeRuns};
use hazard::{
    Action, Actions, Alpha, AlphaModel, HazardResult, Outcome, Pace, Policy, QueueResult, Queues, Setup,
    Simulation, Switch, Timeline,
};
use std::fmt::Write;
use std::path::Path;

const PAGE: &str = "docs/how-to/stateful-actions.md";
const MARK: &str = "<!-- Generated below: SIDING_BLESS=1 cargo test -p siding --test published -->\n";

/// Windows of this many packets, as published; the worst of them counts.
const WINDOW: u64 = 100_000;
const WINDOWS: u64 = 10;
/// The chance of `--size-runs` that is fitted to published waits.
const SIZE_RUNS: f64 = 0.985;

/// A simulation over one look at the packets.
struct Run {
    profile: Profile,
    key: &'static str,
    size_runs: Option<f64>,
    alpha: (AlphaModel, f64),
}

impl Run {
    fn of(profile: Profile) -> Run {
        Run { profile, key: "5-tuple", size_runs: None, alpha: (AlphaModel::Mix, 1.0) }
    }

    /// The outcomes of each window, for each policy and length of the action.
    fn windows(&self, points: &[(Policy, u32)]) -> Vec<Vec<Outcome>> {
        let (n_flows, exponent, train) = self.profile.flow_numbers();
        let flows = Flows::zipf(n_flows, exponent, train).unwrap();
        let sizes = self.profile.sizes().unwrap();
        let runs = self.size_runs.map(|stay| SizeRuns::new(&sizes, stay).unwrap());
        let mut packets = Generator::new(sizes, flows, &[Key::parse(self.key).unwrap()], 1);
        if let Some(runs) = runs {
            packets = packets.with_size_runs(runs);
        }
        let setup = |policy, cycles| Setup {
            switch: Switch::default(),
            alpha: Alpha::new(self.alpha.0, self.alpha.1, 1).unwrap(),
            pace: Pace::BackToBack,
            actions: Actions::one(Action::new(cycles)).unwrap(),
            policy,
            lookup_key: 0,
            update_key: 0,
        };
        let mut outcomes = vec![Vec::new(); points.len()];
        let mut batch = Batch::new(1);
        for window in 0..WINDOWS {
            let mut simulations: Vec<Simulation> = points
                .iter()
                .map(|(policy, cycles)| Simulation::new(&setup(*policy, *cycles)).unwrap())
                .map(|simulation| simulation.from_packet(window * WINDOW))
                .collect();
            for _ in 0..WINDOW / 4000 {
                packets.fill(&mut batch, 4000);
                simulations.iter_mut().for_each(|simulation| simulation.take(&batch));
            }
            for (simulation, outcomes) in simulations.into_iter().zip(&mut outcomes) {
                outcomes.push(simulation.finish().outcome);
            }
        }
        outcomes
    }

    /// Percent of the cycles with a hazard in all windows: of any packet, and within the key.
    fn hazards(&self, cycles: &[u32]) -> Vec<(f64, f64)> {
        let points: Vec<_> = cycles.iter().map(|cycles| (Policy::None, *cycles)).collect();
        let percent = |outcomes: Vec<Outcome>| {
            let all: Vec<HazardResult> = outcomes.iter().map(hazard_result).collect();
            let cycles: u64 = all.iter().map(|result| result.cycles).sum();
            let share = |n: u64| 100.0 * n as f64 / cycles as f64;
            (share(all.iter().map(|r| r.n_any).sum()), share(all.iter().map(|r| r.n_same_key).sum()))
        };
        self.windows(&points).into_iter().map(percent).collect()
    }

    /// Mean throughput of windows behind one lock.
    fn lock(&self, cycles: &[u32]) -> Vec<f64> {
        let points: Vec<_> = cycles.iter().map(|cycles| (Policy::GlobalLock, *cycles)).collect();
        let mean = |outcomes: Vec<Outcome>| {
            let sum: f64 = outcomes.iter().map(lock_throughput).sum();
            sum / outcomes.len() as f64
        };
        self.windows(&points).into_iter().map(mean).collect()
    }

    /// Throughput and 99th percentile of waits of the worst window.
    fn queues(&self, queues: Queues, cycles: &[u32]) -> Vec<(f64, u64)> {
        let points: Vec<_> = cycles.iter().map(|cycles| (Policy::Queues(queues), *cycles)).collect();
        let worst = |outcomes: Vec<Outcome>| {
            let all: Vec<QueueResult> = outcomes.iter().map(queue_result).collect();
            let throughput = all.iter().map(|r| r.throughput).fold(1.0, f64::min);
            (throughput, all.iter().map(|r| r.wait.p99_cycles).max().unwrap())
        };
        self.windows(&points).into_iter().map(worst).collect()
    }
}

fn hazard_result(outcome: &Outcome) -> HazardResult {
    match outcome {
        Outcome::Hazards(result) => *result,
        Outcome::Lock(_) | Outcome::Queues(_) => panic!("asked for hazards"),
    }
}

fn lock_throughput(outcome: &Outcome) -> f64 {
    match outcome {
        Outcome::Lock(result) => result.throughput,
        Outcome::Hazards(_) | Outcome::Queues(_) => panic!("asked for a lock"),
    }
}

fn queue_result(outcome: &Outcome) -> QueueResult {
    match outcome {
        Outcome::Queues(result) => *result,
        Outcome::Hazards(_) | Outcome::Lock(_) => panic!("asked for queues"),
    }
}

/// A table in Markdown, and whether its numbers are near enough to each other.
#[derive(Default)]
struct Page {
    text: String,
    too_far: Vec<String>,
}

impl Page {
    fn section(&mut self, title: &str, words: &str) {
        let _ = write!(self.text, "\n### {title}\n\n{words}\n\n");
    }

    fn head(&mut self, first: &str, across: &[u32]) {
        let cells: Vec<String> = across.iter().map(|n| format!("N = {n}")).collect();
        let _ = writeln!(self.text, "| {first} | {} |", cells.join(" | "));
        let _ = writeln!(self.text, "|---|{}", "---|".repeat(across.len()));
    }

    fn row(&mut self, name: &str, cells: &[String]) {
        let _ = writeln!(self.text, "| {name} | {} |", cells.join(" | "));
    }

    fn numbers(&mut self, name: &str, values: &[f64], digits: usize) {
        self.row(name, &values.iter().map(|value| format!("{value:.digits$}")).collect::<Vec<_>>());
    }

    /// Demands that values are within `relative` or `absolute` of each other.
    fn near(&mut self, name: &str, found: &[f64], published: &[f64], relative: f64, absolute: f64) {
        for (found, published) in found.iter().zip(published) {
            let distance = (found - published).abs();
            if distance > absolute && distance > relative * published {
                self.too_far.push(format!("{name}: {found}, published {published}"));
            }
        }
    }
}

fn alphas(page: &mut Page) {
    page.section(
        "Alpha",
        "The function of `--alpha-model mix` is that of the published program. These are its figures for the sizes of \
         `backbone`, beside ours: percent of the cycles with a hazard, and throughput behind one lock. (Theirs keeps 1 % of the \
         packets more.) `scale` is beside them, and is another function.",
    );
    const CYCLES: [u32; 6] = [2, 4, 6, 10, 15, 20];
    let theirs: [(f64, [f64; 6], [f64; 6]); 2] = [
        (0.2, [15.6, 24.5, 25.7, 25.8, 25.8, 28.8], [1.0, 0.867, 0.578, 0.347, 0.231, 0.174]),
        (0.4, [9.0, 12.1, 13.8, 14.4, 14.5, 18.2], [1.0, 1.0, 0.915, 0.549, 0.366, 0.274]),
    ];
    page.head("alpha", &CYCLES);
    for (alpha, hazards, throughput) in theirs {
        let both = |hazards: &[f64], throughput: &[f64]| -> Vec<String> {
            let each = hazards.iter().zip(throughput);
            each.map(|(percent, share)| format!("{percent:.1} / {share:.3}")).collect()
        };
        page.row(&format!("{alpha}, theirs"), &both(&hazards, &throughput));
        for model in [AlphaModel::Mix, AlphaModel::Scale] {
            let run = Run { alpha: (model, alpha), ..Run::of(Profile::Backbone) };
            let percent: Vec<f64> = run.hazards(&CYCLES).iter().map(|(any, _)| *any).collect();
            let shares = run.lock(&CYCLES);
            if model == AlphaModel::Mix {
                page.near("hazards by alpha", &percent, &hazards, 0.03, 0.03);
                page.near("throughput by alpha", &shares, &throughput, 0.03, 0.03);
            }
            page.row(&format!("{alpha}, `{model}`"), &both(&percent, &shares));
        }
    }
    page.text.push_str("\nMean cycles of a packet:\n\n| alpha | 0 | 0.2 | 0.4 | 0.6 | 0.8 | 1 |\n|---|---|---|---|---|---|---|\n");
    let published = [1.1, 3.5, 5.5, 7.3, 8.9, 10.3];
    page.numbers("theirs", &published, 1);
    let ours: Vec<f64> = (0..=5).map(|step| mean_cycles(Profile::Backbone, f64::from(step) / 5.0)).collect();
    page.near("means by alpha", &ours, &published, 0.035, 0.101);
    page.numbers("`mix`", &ours, 1);
}

fn mean_cycles(profile: Profile, alpha: f64) -> f64 {
    let alpha = Alpha::new(AlphaModel::Mix, alpha, 1).unwrap();
    let mut line = Timeline::new(&Switch::default(), alpha, Pace::BackToBack).unwrap();
    let flows = Flows::zipf(1, 0.0, 0.0).unwrap();
    let mut packets = Generator::new(profile.sizes().unwrap(), flows, &[], 1);
    let mut batch = Batch::new(0);
    packets.fill(&mut batch, 400_000);
    batch.len_bytes.iter().for_each(|len| {
        line.receive(*len, 0);
    });
    line.line_cycles() as f64 / 400_000.0
}

fn facebook(page: &mut Page) {
    page.section(
        "A cluster of Facebook's",
        "`--profile facebook` is fitted to both curves, which were published of the worst sample of cluster B.",
    );
    const CYCLES: [u32; 6] = [2, 3, 4, 5, 8, 10];
    let (hazards, throughput) =
        ([8.5, 24.2, 31.4, 32.8, 35.1, 35.5], [1.0, 0.914, 0.686, 0.549, 0.343, 0.275]);
    let run = Run::of(Profile::Facebook);
    let percent: Vec<f64> = run.hazards(&CYCLES).iter().map(|(any, _)| *any).collect();
    let shares = run.lock(&CYCLES);
    page.head("", &CYCLES);
    page.numbers("hazards, published, %", &hazards, 1);
    page.numbers("`facebook`", &percent, 1);
    page.numbers("one lock, published", &throughput, 3);
    page.numbers("`facebook`", &shares, 3);
    page.near("hazards of facebook", &percent, &hazards, 0.03, 0.03);
    page.near("throughput of facebook", &shares, &throughput, 0.03, 0.03);

    page.section(
        "Mean cycles of other traffic",
        "Of these only the mean is known; the shape is the backbone's with fewer long packets, so that other figures of them are \
         guesses.",
    );
    page.text.push_str(
        "| profile | `facebook` | `sj12` | `mawi` | `uni1` | `uni2` |\n|---|---|---|---|---|---|\n",
    );
    let published = [2.75, 3.03, 5.24, 6.38, 4.74];
    let profiles = ["facebook", "sj12", "mawi", "uni1", "uni2"];
    let ours = profiles.map(|name| mean_cycles(Profile::parse(name).unwrap(), 1.0));
    page.numbers("published", &published, 2);
    page.numbers("ours", &ours, 2);
    page.near("means of profiles", &ours, &published, 0.01, 0.0);
}

fn hazards(page: &mut Page) {
    page.section(
        "Hazards of a link between providers",
        "Percent of the cycles; published of the worst samples of a link in Chicago in 2015, ours of `backbone`. Our packets are \
         more often minimal, so that more meet at N = 2; prefixes are as popular as the figure of dst/16 asks.",
    );
    let mut rows = |key: &'static str, cycles: &[u32], published: &[f64]| {
        let found = Run { key, ..Run::of(Profile::Backbone) }.hazards(cycles);
        let found: Vec<f64> =
            found.iter().map(|(any, same)| if key == "global" { *any } else { *same }).collect();
        let name = if key == "global" { "any packet" } else { key };
        page.head(name, cycles);
        page.numbers("published", published, 2);
        page.numbers("`backbone`", &found, 2);
        page.text.push('\n');
        found
    };
    rows("global", &[2, 5, 10, 19, 20], &[2.9, 3.9, 4.4, 5.5, 9.4]);
    rows("5-tuple", &[2, 10, 20, 30], &[0.20, 0.36, 0.62, 0.98]);
    let prefixes = rows("dst/16", &[30], &[1.29]);
    page.text.pop();
    page.near("hazards of dst/16", &prefixes, &[1.29], 0.03, 0.03);
}

/// Name, queues, published throughput and waits.
type Case = (&'static str, Queues, Option<[f64; 8]>, [u64; 8]);

fn queues(page: &mut Page) {
    page.section(
        "Queues",
        "Room for 100 packets; the worst of some windows of 100,000 packets, ours of ten: throughput, and the 99th percentile of \
         waits in cycles. `--size-runs 0.985` is fitted to the waits behind one lock at N = 8 and 10; without it lengths are drawn \
         one by one, and before saturation packets wait a quarter to three quarters as long. Behind many locks we still wait less: on a \
         real link the packets of a flow come closer together.",
    );
    const CYCLES: [u32; 8] = [5, 8, 10, 11, 12, 16, 20, 30];
    let global = [0.9999, 0.9995, 0.9825, 0.9318, 0.8573, 0.6432, 0.5146, 0.3431];
    let cases: [Case; 3] = [
        ("one lock", Queues::global(100), Some(global), [31, 282, 995, 1099, 1199, 1599, 1999, 2999]),
        (
            "5-tuple, Q = 16, W = 16",
            Queues { n_queues: 16, n_locks: 16, queue_packets_max: 100 },
            None,
            [7, 13, 18, 20, 22, 32, 53, 122],
        ),
        (
            "5-tuple, Q = 1, W = 16",
            Queues { n_queues: 1, n_locks: 16, queue_packets_max: 100 },
            None,
            [8, 17, 26, 30, 36, 84, 174, 950],
        ),
    ];
    for (name, queues, throughput, waits) in cases {
        let key = if queues.n_locks == 1 { "global" } else { "5-tuple" };
        let run = |size_runs| Run { key, size_runs, ..Run::of(Profile::Backbone) }.queues(queues, &CYCLES);
        let found = [("one by one", run(None)), ("in runs", run(Some(SIZE_RUNS)))];
        page.head(name, &CYCLES);
        if let Some(throughput) = throughput {
            page.numbers("throughput, published", &throughput, 4);
            for (how, found) in &found {
                let found: Vec<f64> = found.iter().map(|(throughput, _)| *throughput).collect();
                page.numbers(how, &found, 4);
                page.near("throughput of queues", &found, &throughput, 0.03, 0.0);
            }
        }
        let shown = |waits: &[u64]| waits.iter().map(u64::to_string).collect::<Vec<_>>();
        page.row("wait, published", &shown(&waits));
        for (how, found) in &found {
            page.row(how, &shown(&found.iter().map(|(_, wait)| *wait).collect::<Vec<_>>()));
        }
        page.text.push('\n');
        if key == "global" {
            let float = |waits: &[u64]| waits.iter().map(|wait| *wait as f64).collect::<Vec<_>>();
            let waits_in_runs: Vec<u64> = found[1].1.iter().map(|(_, wait)| *wait).collect();
            page.near("waits in runs", &float(&waits_in_runs), &float(&waits), 0.05, 3.0);
        }
    }
    page.text.pop();
}

fn budgets(page: &mut Page) {
    page.section(
        "The longest action",
        "One lock with room for 100 packets, `siding sim --budget 0.01%,0.1%,1% --policy global-lock`.",
    );
    page.text.push_str("| | published | 0.01 % | 0.1 % | 1 % |\n|---|---|---|---|---|\n");
    let cases = [
        ("`backbone --size-runs 0.985`", Profile::Backbone, Some(SIZE_RUNS), 9),
        ("`sj12`", Profile::SanJose, None, 2),
        ("`mawi`", Profile::Mawi, None, 4),
        ("`facebook`", Profile::Facebook, None, 2),
    ];
    let cycles: Vec<u32> = (1..=12).collect();
    let points: Vec<_> = cycles.iter().map(|n| (Policy::Queues(Queues::global(100)), *n)).collect();
    for (name, profile, size_runs, published) in cases {
        let outcomes = Run { key: "global", size_runs, ..Run::of(profile) }.windows(&points);
        let losses: Vec<f64> = outcomes
            .iter()
            .map(|all| all.iter().map(|o| queue_result(o).drop_fraction).sum::<f64>() / all.len() as f64)
            .collect();
        let longest = [0.0001, 0.001, 0.01].map(|loss| losses.iter().take_while(|l| **l <= loss).count());
        page.row(name, &[published, longest[0], longest[1], longest[2]].map(|n| n.to_string()));
        if !longest.contains(&published) {
            page.too_far.push(format!("budget of {name}: {longest:?}, published {published}"));
        }
    }
}

#[test]
fn published_numbers_stand_beside_ours() {
    let mut page = Page::default();
    page.text.push_str("\n## Published numbers, one by one\n\n");
    page.text.push_str(
        "The figures above are of the paper; these are of the data that its authors published later, in text or with their \
         program. A test computes ours, compares what is fitted, and writes these tables.\n",
    );
    alphas(&mut page);
    facebook(&mut page);
    hazards(&mut page);
    queues(&mut page);
    budgets(&mut page);
    assert!(page.too_far.is_empty(), "{:#?}\n{}", page.too_far, page.text);

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    let found = std::fs::read_to_string(&path).unwrap();
    let (by_hand, generated) = found.split_once(MARK).expect("the page has a mark");
    if std::env::var_os("SIDING_BLESS").is_some() {
        std::fs::write(&path, format!("{by_hand}{MARK}{}", page.text)).unwrap();
        return;
    }
    assert_eq!(generated, page.text, "SIDING_BLESS=1 cargo test -p siding --test published writes it");
}
