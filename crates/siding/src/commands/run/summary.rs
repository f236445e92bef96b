//! The numbers at the end of a run.

use crate::cli::RunArgs;
use crate::output;
use ir::Program;
use std::collections::BTreeMap;
use target::store::TableUse;
use target::traffic::Totals;
use testkit::Lockstep;

/// Most places of drops that are listed.
const PLACES_MAX: usize = 12;

/// Received is sent and dropped and still waiting. `drops` are places in the program with their numbers of drops, and the
/// number of packets for which places are known.
pub fn summarize(
    args: &RunArgs,
    machine: &Lockstep,
    program: &Program,
    received: &BTreeMap<u32, u64>,
    sent: &BTreeMap<u32, u64>,
    drops: &(Vec<(String, u64)>, u64),
    seconds: f64,
) {
    let tables = program.tables.iter().map(|(_, table)| (table.name.to_string(), table.keys.len()));
    let tables: Vec<(String, usize)> = tables.collect();
    let Totals { n_received, n_copied, n_sent, n_to_controller, n_dropped, n_ignored } = &machine.totals();
    let n_queued = machine.n_queued();
    if args.json {
        let totals = serde_json::json!({
            "received": n_received, "copied": n_copied, "sent": n_sent, "to_controller": n_to_controller,
            "dropped": n_dropped, "ignored": n_ignored, "queued": n_queued, "received_by_port": received, "sent_by_port": sent,
        });
        let backend = match (machine.is_interpreted(), machine.is_native()) {
            (true, true) => "both",
            (false, true) => "native",
            _ => "interp",
        };
        let uses = tables.iter().zip(machine.table_uses()).map(|((table, _), found)| {
            serde_json::json!({
                "table": table, "entries": found.n_entries, "hits": found.n_hits,
                "misses": found.n_lookups.saturating_sub(found.n_hits),
            })
        });
        let places = drops.0.iter().map(|(place, n)| serde_json::json!({ "place": place, "packets": n }));
        let line = serde_json::json!({
            "totals": totals,
            "drops": places.collect::<Vec<_>>(),
            "tables": uses.collect::<Vec<_>>(),
            "backend": backend,
            "packets_per_second": *n_received as f64 / seconds.max(1e-9),
        });
        output::out(&format!("{line}\n"));
        return;
    }
    let mut text = String::new();
    let mut line = |what: String, n: u64| {
        text.push_str(&format!("{n:>12}  {what}\n"));
    };
    line("received".to_string(), *n_received);
    if *n_copied > 0 {
        line("copies made".to_string(), *n_copied);
    }
    for (port, n) in sent {
        line(format!("sent to port {port}"), *n);
    }
    if *n_to_controller > 0 {
        line("to the controller".to_string(), *n_to_controller);
    }
    for (reason, n) in n_dropped {
        line(format!("dropped: {reason}"), *n);
    }
    for (what, n) in n_ignored {
        line(format!("ignored: {what}"), *n);
    }
    if n_queued > 0 {
        line("still waiting".to_string(), n_queued);
    }
    output::out(&text);
    output::out(&drop_lines(drops, *n_received, n_dropped.values().sum()));
    output::out(&table_lines(&tables, &machine.table_uses()));
}

/// The places in the program where packets were dropped. They are known for the first packets.
fn drop_lines((places, n_known): &(Vec<(String, u64)>, u64), n_received: u64, n_dropped: u64) -> String {
    if n_dropped == 0 {
        return String::new();
    }
    let mut text = String::from("\n");
    for (place, n) in places.iter().take(PLACES_MAX) {
        text.push_str(&format!("{n:>12}  {place}\n"));
    }
    if let Some(n_more) = places.len().checked_sub(PLACES_MAX).filter(|n| *n > 0) {
        text.push_str(&format!("{:>12}  {n_more} more places\n", "..."));
    }
    if *n_known < n_received {
        let which = match n_known {
            0 => String::new(),
            n => format!("these are drops of the first {n} packets; "),
        };
        text.push_str(&format!("  ({which}--backend interp tells where all packets are dropped)\n"));
    }
    text
}

/// Hits and misses of the tables that packets have come to, with advice where a table is empty.
fn table_lines(tables: &[(String, usize)], uses: &[TableUse]) -> String {
    // A table without keys always misses.
    let used = || tables.iter().zip(uses).filter(|((_, n_keys), found)| *n_keys > 0 && found.n_lookups > 0);
    let width = used().map(|((table, _), _)| table.len()).max().unwrap_or(0);
    let mut text = String::new();
    for ((table, _), found) in used() {
        let n_misses = found.n_lookups.saturating_sub(found.n_hits);
        if text.is_empty() {
            text.push_str(&format!("\n{:>12}{:>12}{:>12}  table\n", "hits", "misses", "entries"));
        }
        text.push_str(&format!("{:>12}{n_misses:>12}{:>12}  {table:width$}", found.n_hits, found.n_entries));
        if found.n_entries == 0 {
            text.push_str("  it has no entries: --entries FILE adds some");
        }
        let end = text.trim_end().len();
        text.truncate(end);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_drops_are_listed() {
        assert_eq!(drop_lines(&(Vec::new(), 5), 5, 0), "");
        let places = vec![("dropped: I.routes (r.p4:3) missed: drop, r.p4:1".to_owned(), 2)];
        assert_eq!(
            drop_lines(&(places.clone(), 5), 5, 2),
            "\n           2  dropped: I.routes (r.p4:3) missed: drop, r.p4:1\n"
        );
        assert!(drop_lines(&(places, 5), 9, 3).contains("of the first 5 packets"));
        assert!(drop_lines(&(Vec::new(), 0), 9, 3).contains("--backend interp"));
        let many: Vec<(String, u64)> = (0..20).map(|i| (format!("place {i}"), 1)).collect();
        assert!(drop_lines(&(many, 20), 20, 20).ends_with("8 more places\n"));
    }

    #[test]
    fn empty_tables_that_packets_miss_are_told() {
        let tables = [("I.routes", 1), ("I.hosts", 2), ("I.unused", 1), ("I.keyless", 0)];
        let tables = tables.map(|(name, n_keys)| (name.to_owned(), n_keys));
        let uses = [(2, 5, 3), (0, 7, 0), (1, 0, 0), (0, 9, 0)].map(|(n_entries, n_lookups, n_hits)| {
            TableUse { n_entries, n_lookups, n_hits, ..TableUse::default() }
        });
        assert_eq!(
            table_lines(&tables, &uses),
            "
        hits      misses     entries  table
           3           2           2  I.routes
           0           7           0  I.hosts   it has no entries: --entries FILE adds some
"
        );
        assert_eq!(table_lines(&tables, &[]), "");
    }
}
