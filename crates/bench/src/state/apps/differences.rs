//! Compares verdicts packet by packet, and knows the differences that are meant.

use super::AppArg;
use super::traffic::{self, Case};
use super::verdicts::Verdicts;
use crate::report::aligned;
use serde_json::{Value, json};

/// One packet about which the two disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The story and its packets up to the one that differs.
    pub case: String,
    pub packets: String,
    pub siding: String,
    pub kernel: String,
}

/// Differences that the application's documentation names.
struct Meant {
    apps: &'static [AppArg],
    /// Parts of the names of their cases or packets.
    parts: &'static [&'static str],
    siding: &'static str,
    kernel: &'static str,
    reason: &'static str,
}

const ALL: &[AppArg] = &[AppArg::Nat, AppArg::Firewall, AppArg::Lb];

const MEANT: [Meant; 5] = [
    Meant {
        apps: &[AppArg::Nat],
        parts: traffic::STATES,
        siding: "passed",
        kernel: "dropped",
        reason: "the translator does not follow the states of TCP: segments of a flow pass if their flags make sense",
    },
    Meant {
        apps: &[AppArg::Lb],
        parts: &["NONE", "SYN_SENT", "ESTABLISHED", "CLOSED", "a connection is refused"],
        siding: "passed",
        kernel: "dropped",
        reason: "the balancer does not see what servers answer, so it does not follow the states of TCP",
    },
    Meant {
        apps: ALL,
        parts: &["with a wrong checksum"],
        siding: "passed",
        kernel: "dropped",
        reason: "checksums are left to the hosts: a wrong one stays wrong",
    },
    Meant {
        apps: ALL,
        parts: &["with options of IP"],
        siding: "dropped",
        kernel: "passed",
        reason: "packets with options of IPv4 are dropped",
    },
    Meant {
        apps: &[AppArg::Nat, AppArg::Firewall],
        parts: &["ICMP unreachable"],
        siding: "dropped",
        kernel: "passed",
        reason: "error messages of ICMP are dropped: they are not looked up by the packet that they are about",
    },
];

#[derive(Clone, Debug, Default)]
pub struct Comparison {
    pub n_cases: u64,
    pub n_packets: u64,
    pub n_passed: u64,
    /// Differences that nobody meant.
    pub differences: Vec<Difference>,
    /// Reasons, each with its differences.
    pub meant: Vec<(&'static str, Vec<Difference>)>,
}

pub fn compare(app: AppArg, cases: &[Case], siding: &Verdicts, kernel: &Verdicts) -> Comparison {
    let mut comparison = Comparison { n_cases: cases.len() as u64, ..Comparison::default() };
    for ((case, siding), kernel) in cases.iter().zip(siding).zip(kernel) {
        for (i, (ours, theirs)) in siding.iter().zip(kernel).enumerate() {
            // A packet that goes past one of the two has no verdict.
            let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
            comparison.n_packets += 1;
            comparison.n_passed += u64::from(theirs == "passed");
            if ours == theirs {
                continue;
            }
            let names: Vec<&str> = case.steps[..=i].iter().map(|step| step.name.as_str()).collect();
            let difference = Difference {
                case: case.name.clone(),
                packets: names.join("; "),
                siding: ours.clone(),
                kernel: theirs.clone(),
            };
            let is_named = |part: &&str| case.name.starts_with(*part) || case.steps[i].name.contains(*part);
            let is_it = |meant: &&Meant| {
                meant.apps.contains(&app)
                    && meant.parts.iter().any(is_named)
                    && (meant.siding, meant.kernel) == (ours.as_str(), theirs.as_str())
            };
            match MEANT.iter().find(is_it) {
                None => comparison.differences.push(difference),
                Some(meant) => {
                    match comparison.meant.iter_mut().find(|(reason, _)| *reason == meant.reason) {
                        Some((_, differences)) => differences.push(difference),
                        None => comparison.meant.push((meant.reason, vec![difference])),
                    }
                }
            }
        }
    }
    comparison
}

impl Difference {
    fn json(&self) -> Value {
        json!({ "case": self.case, "packets": self.packets, "siding": self.siding, "kernel": self.kernel })
    }
}

impl Comparison {
    pub fn n_meant(&self) -> u64 {
        self.meant.iter().map(|(_, differences)| differences.len() as u64).sum()
    }

    pub fn json(&self) -> Value {
        let meant = |(reason, differences): &(&str, Vec<Difference>)| json!({ "reason": reason, "packets": differences.iter().map(Difference::json).collect::<Vec<_>>() });
        json!({
            "cases": self.n_cases,
            "packets": self.n_packets,
            "passed": self.n_passed,
            "equal": self.n_packets - self.differences.len() as u64 - self.n_meant(),
            "different": self.differences.iter().map(Difference::json).collect::<Vec<_>>(),
            "meant": self.meant.iter().map(meant).collect::<Vec<_>>(),
        })
    }

    pub fn text(&self) -> String {
        let mut text = format!(
            "{} packets in {} stories, of which the kernel passes {}: {} verdicts differ, and {} as they are meant to\n",
            self.n_packets,
            self.n_cases,
            self.n_passed,
            self.differences.len(),
            self.n_meant()
        );
        let rows = |differences: &[Difference]| {
            let head = ["story", "packets", "siding", "kernel"].map(str::to_owned).to_vec();
            let row = |difference: &Difference| {
                let Difference { case, packets, siding, kernel } = difference.clone();
                vec![case, packets, siding, kernel]
            };
            aligned(&std::iter::once(head).chain(differences.iter().map(row)).collect::<Vec<_>>())
        };
        if !self.differences.is_empty() {
            text += &format!("\n{}", rows(&self.differences));
        }
        for (reason, differences) in &self.meant {
            let n = differences.len();
            text += &format!("\nmeant, {n} packets: {reason}\n");
        }
        text
    }
}
