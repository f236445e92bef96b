//! Ratios between subjects, and the report as text.

use super::subject::Subject;
use crate::harness::Judged;
use crate::report;

/// Names of goals for the switch's own memif ports: ours, the other subject, and the least ratio.
pub(super) const MEMIF_GOALS: [(&str, Subject, Subject, f64); 2] = [
    ("memif to testpmd", Subject::SidingMemif, Subject::TestpmdShared, 0.8),
    ("memif to ovs dpdk", Subject::SidingMemif, Subject::OvsDpdk, 1.5),
];

/// The rate of one subject as a part of another one's, for each number of entries. A subject without a table is measured once.
pub(super) fn ratios(rates: &[(Subject, u32, f64)], ours: Subject, other: Subject) -> Vec<(u64, f64)> {
    let find = |n_entries: u32| {
        rates.iter().find(|(subject, n, _)| *subject == other && (*n == n_entries || !other.has_table()))
    };
    let own = rates.iter().filter(|(subject, ..)| *subject == ours);
    own.filter_map(|(_, n_entries, rate)| Some((u64::from(*n_entries), rate / find(*n_entries)?.2))).collect()
}

/// Notes once why a subject is not measured.
pub(super) fn note_absent(absent: &mut Vec<String>, subject: Subject, why: &str) {
    let text = format!("{} is not measured: {why}", subject.name());
    if !absent.contains(&text) {
        absent.push(text);
    }
}

/// A title, rows of a table with their head, goals, and sentences.
pub(super) fn text<'a>(
    title: &str,
    rows: &[Vec<String>],
    goals: &[Judged],
    sentences: impl Iterator<Item = &'a String>,
) -> String {
    let mut text = format!("{title}\n\n{}", report::aligned(rows));
    if !goals.is_empty() {
        let head = ["goal", "entries", "value", "wanted", ""].map(str::to_owned).to_vec();
        let rows: Vec<_> = std::iter::once(head).chain(goals.iter().map(Judged::cells)).collect();
        text += &format!("\n{}", report::aligned(&rows));
    }
    for sentence in sentences {
        text += &format!("\n{sentence}");
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_between_equal_numbers_of_entries() {
        let rates = [
            (Subject::SidingMemif, 10, 12.0),
            (Subject::TestpmdShared, 10, 16.0),
            (Subject::OvsDpdk, 10, 8.0),
            (Subject::SidingMemif, 1000, 4.0),
            (Subject::OvsDpdk, 1000, 1.0),
            (Subject::SidingMemif, 5, 1.0),
        ];
        assert_eq!(ratios(&rates, Subject::SidingMemif, Subject::OvsDpdk), [(10, 1.5), (1000, 4.0)]);
        let to_testpmd = [(10, 0.75), (1000, 0.25), (5, 0.0625)];
        assert_eq!(ratios(&rates, Subject::SidingMemif, Subject::TestpmdShared), to_testpmd);
        assert!(ratios(&rates, Subject::SidingDpdk, Subject::OvsDpdk).is_empty());
    }
}
