//! `siding bench state --app nat|firewall|lb`: the applications of `examples/state` beside the kernel's own, on the same packets.
//!
//! A client, a server and a middle between them are network namespaces. In the middle is either `siding switch` with the
//! program, or the kernel as a router with rules of nftables. `verdicts` sends the stories of `traffic` through one after the
//! other and compares what became of each packet; `rates` measures both.

mod differences;
mod kernel;
mod lab;
mod ours;
mod packet;
mod rates;
mod traffic;
mod verdicts;

pub(super) use lab::{CLIENT, INSIDE, Lab};
pub(super) use rates::Cores;
pub(super) use verdicts::Ends;

use crate::args::{AppArg, BenchStateArgs};
use crate::harness::{Goal, Judged};
use crate::report::{self, aligned};
use console::output::{self, Exit};
use differences::Comparison;
use kernel::{Balancer, Kernel};
use ours::Ours;
use rates::{Figure, Peer};
use serde_json::{Value, json};
use verdicts::Prober;

const SIZES: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Sizes of a quick look.
const N_QUICK: usize = 1;
/// Room for flows while verdicts are compared.
const N_FLOWS: u64 = 65_536;

/// A side of the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Inside,
    Outside,
}

impl Side {
    fn index(self) -> usize {
        match self {
            Side::Inside => 0,
            Side::Outside => 1,
        }
    }

    fn other(self) -> Side {
        match self {
            Side::Inside => Side::Outside,
            Side::Outside => Side::Inside,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Side::Inside => "from the inside",
            Side::Outside => "from the outside",
        }
    }
}

/// Something outside lacks.
fn missing(what: &str) -> Exit {
    output::error_line(what);
    Exit::Environment
}

fn failed(what: &str) -> Exit {
    output::error_line(what);
    Exit::Failed
}

impl AppArg {
    fn name(self) -> &'static str {
        match self {
            AppArg::Nat => "nat",
            AppArg::Firewall => "firewall",
            AppArg::Lb => "lb",
        }
    }
}

pub fn measure(app: AppArg, args: &BenchStateArgs) -> Result<(), Exit> {
    if args.measure.svg.is_some() {
        output::error_line("--svg is not for --app: its figures have no axis to draw along");
        return Err(Exit::Usage);
    }
    kernel::check()?;
    let balancer = if app == AppArg::Lb { kernel::balancer() } else { Balancer::Nftables };
    let comparison = compare(app, balancer, args)?;
    let mut outcome = Outcome { app, balancer, comparison, figures: Vec::new(), absent: Vec::new() };
    let sizes: &[u64] = match args.flows.as_slice() {
        [] if args.measure.quick => &SIZES[..N_QUICK],
        [] => &SIZES,
        sizes => sizes,
    };
    for n_flows in sizes {
        let mut peers = vec![Peer::Siding];
        match rates::kernel_flows_max() {
            max if *n_flows > max => outcome.absent.push(format!(
                "The kernel is not measured with {} flows: it tracks {max} at most (sysctl net.netfilter.nf_conntrack_max).",
                report::short(*n_flows)
            )),
            _ => peers.push(Peer::Kernel(balancer)),
        }
        outcome.figures.extend(rates::measure(app, &peers, *n_flows, &args.measure)?);
    }
    match args.measure.json {
        true => output::out(&format!("{}\n", outcome.json(args))),
        false => output::out(&outcome.text()),
    }
    Ok(())
}

/// Sends the same traffic through both.
fn compare(app: AppArg, balancer: Balancer, args: &BenchStateArgs) -> Result<Comparison, Exit> {
    let cases = traffic::cases(app, args.measure.quick);
    let of_kernel = {
        let lab = Lab::new()?;
        kernel::check_in(&lab)?;
        let mut kernel = Kernel::start(&lab, app, balancer)?;
        Prober::new(app, &lab, &mut kernel)?.run(&cases)?
    };
    let of_ours = {
        let lab = Lab::new()?;
        let mut ours = Ours::start(&lab, app, N_FLOWS, None, &args.measure)?;
        Prober::new(app, &lab, &mut ours)?.run(&cases)?
    };
    Ok(differences::compare(app, &cases, &of_ours, &of_kernel))
}

struct Outcome {
    app: AppArg,
    balancer: Balancer,
    comparison: Comparison,
    figures: Vec<Figure>,
    /// Sentences about what was not measured.
    absent: Vec<String>,
}

impl Outcome {
    fn peer(&self) -> &'static str {
        match (self.app, self.balancer) {
            (AppArg::Nat, _) => "nftables, masquerade",
            (AppArg::Firewall, _) => "nftables, ct state",
            (AppArg::Lb, Balancer::Ipvs) => "ipvs",
            (AppArg::Lb, Balancer::Nftables) => "nftables, dnat by jhash, as there is no ipvs here",
        }
    }

    fn goals(&self) -> Vec<Judged> {
        let n = self.comparison.n_packets;
        let share = 1.0 - self.comparison.differences.len() as f64 / n.max(1) as f64;
        let mut goals = vec![Judged {
            name: "verdicts_equal".to_owned(),
            size: n,
            value: share,
            goal: Goal::AtLeast(1.0),
        }];
        for ours in self.figures.iter().filter(|figure| figure.peer == "siding") {
            let is_it = |figure: &&Figure| figure.peer == "kernel" && figure.n_flows == ours.n_flows;
            let Some(kernel) = self.figures.iter().find(is_it) else { continue };
            for (name, ratio) in [
                ("new_flows_to_kernel", ours.new_per_second() / kernel.new_per_second()),
                ("packets_to_kernel", ours.known_per_second() / kernel.known_per_second()),
            ] {
                let (name, goal) = (name.to_owned(), Goal::AtLeast(1.0));
                goals.push(Judged { name, size: ours.n_flows, value: ratio, goal });
            }
        }
        goals
    }

    fn notes() -> Vec<String> {
        vec![
            "Both run between the same AF_PACKET sender and receiver over veth, which bound the rates; \
             `siding bench state` without --app has those over memory."
                .to_owned(),
            "Memory of a flow: what a switch with room for them has more than one for a thousand, and growth of the kernel's slabs.".to_owned(),
        ]
    }

    fn json(&self, args: &BenchStateArgs) -> Value {
        let lines: Vec<Value> = self.figures.iter().map(Figure::json).collect();
        json!({
            "version": 1,
            "siding": env!("CARGO_PKG_VERSION"),
            "optimise": args.measure.cc.optimise,
            "work": "state",
            "app": self.app.name(),
            "peer": self.peer(),
            "quick": args.measure.quick,
            "runs": args.measure.n_runs(),
            "goals": self.goals().iter().map(Judged::json).collect::<Vec<_>>(),
            "verdicts": self.comparison.json(),
            "figures": lines,
            "absent": self.absent,
            "notes": Outcome::notes(),
        })
    }

    fn text(&self) -> String {
        let mut text = format!("{} beside {}\n\n{}", self.app.name(), self.peer(), self.comparison.text());
        let head = ["peer", "flows", "new flows/s", "packets/s", "lost", "bytes a flow"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for figure in &self.figures {
            rows.push(vec![
                figure.peer.to_owned(),
                report::short(figure.n_flows),
                format!("{:.0}", figure.new_per_second()),
                format!("{:.0}", figure.known_per_second()),
                figure.n_lost().to_string(),
                figure.bytes_per_flow().map_or_else(String::new, |bytes| format!("{bytes:.0}")),
            ]);
        }
        text += &format!("\n{}", aligned(&rows));
        let mut rows = vec![["goal", "of", "value", "wanted", ""].map(str::to_owned).to_vec()];
        rows.extend(self.goals().iter().map(Judged::cells));
        text += &format!("\n{}", aligned(&rows));
        for sentence in self.absent.iter().chain(&Outcome::notes()) {
            text += &format!("\n{sentence}");
        }
        text + "\n"
    }
}
