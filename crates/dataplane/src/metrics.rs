//! Metrics as OpenMetrics text (https://prometheus.io/docs/specs/om/open_metrics_spec/).

use crate::report::Report;
use crate::switch::Switch;
use packet_io::{LinkState, PortStats};
use std::fmt::Write as _;
use target::store::{PacketWrites, TableUse};

/// A counter that is not the switch's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Without `_total`.
    pub name: &'static str,
    pub help: &'static str,
    /// The name of the label; empty: there is one sample, without a label.
    pub label: &'static str,
    /// By the value of the label.
    pub samples: Vec<(&'static str, u64)>,
}

/// Samples of one name after the other.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        self.0.push_str(name);
        for (i, (label, text)) in labels.iter().enumerate() {
            let joint = if i == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{joint}{label}=\"{}\"", escaped(text));
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

impl Switch {
    /// Returns the text of `/metrics`, with more counters; `None` while workers do not answer.
    pub fn metrics(&self, more: &[Counter]) -> Option<String> {
        let report = self.report().ok()?;
        let mut text = Text::default();
        totals(&mut text, &report);
        ports(&mut text, &report);
        queues(&mut text, &report);
        workers(&mut text, &report);
        asyncs(&mut text, &report);
        if let Some(tables) = self.table_uses() {
            text.family("siding_table_entries", "gauge", "Entries of a table.");
            for (table, uses) in &tables {
                text.sample("siding_table_entries", &[("table", table)], uses.n_entries);
            }
            text.family("siding_table_lookup", "counter", "Lookups in a table of the running program.");
            for (table, uses) in &tables {
                let misses = uses.n_lookups.saturating_sub(uses.n_hits);
                for (result, n) in [("hit", uses.n_hits), ("miss", misses)] {
                    text.sample("siding_table_lookup_total", &[("table", table), ("result", result)], n);
                }
            }
            state(&mut text, &tables);
            self.lost_notices(&mut text, &tables);
        }
        let help = "Digests and idle entries that no controller was told of: too many waited.";
        text.family("siding_controller_lost_messages", "counter", help);
        text.sample("siding_controller_lost_messages_total", &[], self.n_untold());
        for Counter { name, help, label, samples } in more {
            text.family(name, "counter", help);
            for (value, n) in samples {
                let labels = [(*label, *value)];
                let labels = if label.is_empty() { &[][..] } else { &labels };
                text.sample(&format!("{name}_total"), labels, *n);
            }
        }
        text.0.push_str("# EOF\n");
        Some(text.0)
    }
}

impl Switch {
    /// Tables of whose idle entries controllers could not be told.
    fn lost_notices(&self, text: &mut Text, tables: &[(String, TableUse)]) {
        let Some(schema) = self.schema() else { return };
        let lost = tables.iter().filter_map(|(table, _)| {
            let n = self.n_lost_notices(schema.tables.find(table).ok()?.id);
            (n > 0).then_some((table, n))
        });
        let lost: Vec<(&String, u64)> = lost.collect();
        if lost.is_empty() {
            return;
        }
        text.family("siding_table_lost_notices", "counter", "Idle entries that no controller was told of.");
        for (table, n) in lost {
            text.sample("siding_table_lost_notices_total", &[("table", table)], n);
        }
    }
}

/// Tables whose entries packets add and end, as far as any has done so.
fn state(text: &mut Text, tables: &[(String, TableUse)]) {
    let written: Vec<(&String, PacketWrites)> = tables
        .iter()
        .map(|(table, uses)| (table, uses.packets))
        .filter(|(_, packets)| *packets != PacketWrites::default())
        .collect();
    if written.is_empty() {
        return;
    }
    text.family("siding_table_packet_entries", "gauge", "Entries of a table that packets have added.");
    for (table, packets) in &written {
        text.sample("siding_table_packet_entries", &[("table", table)], packets.n_entries);
    }
    text.family(
        "siding_table_waiting_slots",
        "gauge",
        "Places of removed entries that wait for a worker to end its burst.",
    );
    for (table, packets) in &written {
        text.sample("siding_table_waiting_slots", &[("table", table)], packets.n_waiting);
    }
    text.family(
        "siding_table_add",
        "counter",
        "Entries that packets have asked for, by what became of them, and those of the program before.",
    );
    for (table, packets) in &written {
        let results = [
            ("added", packets.n_added),
            ("exists", packets.n_exists),
            ("race_lost", packets.n_race_lost),
            ("full", packets.n_full),
            ("carried", packets.n_carried),
        ];
        for (result, n) in results {
            text.sample("siding_table_add_total", &[("table", table), ("result", result)], n);
        }
    }
    text.family("siding_table_end", "counter", "Entries that have ended, by who had added them and why.");
    for (table, packets) in &written {
        let causes = [
            ("packet", "expired", packets.n_expired),
            ("packet", "evicted", packets.n_evicted),
            ("packet", "deleted", packets.n_deleted),
            ("control", "expired", packets.n_expired_control),
        ];
        for (origin, cause, n) in causes {
            let labels = [("table", table.as_str()), ("origin", origin), ("cause", cause)];
            text.sample("siding_table_end_total", &labels, n);
        }
    }
    text.family("siding_table_notified", "counter", "Entries of whose timeout the control plane was told.");
    for (table, packets) in &written {
        text.sample("siding_table_notified_total", &[("table", table)], packets.n_notified);
    }
}

fn totals(text: &mut Text, report: &Report) {
    for (name, help, n) in [
        ("siding_received_packets", "Packets that arrived.", report.n_received),
        ("siding_copied_packets", "Copies made by cloning and multicast.", report.n_copied),
        ("siding_sent_packets", "Packets that ports have sent.", report.n_sent),
        ("siding_controller_packets", "Packets for the controller.", report.n_to_controller),
    ] {
        text.family(name, "counter", help);
        text.sample(&format!("{name}_total"), &[], n);
    }
    text.family("siding_queued_packets", "gauge", "Packets that wait.");
    text.sample("siding_queued_packets", &[], report.n_queued);
    text.family("siding_drop_packets", "counter", "Packets that were dropped, by reason.");
    for (reason, n) in &report.n_dropped {
        text.sample("siding_drop_packets_total", &[("reason", reason)], *n);
    }
    text.family("siding_ignored_requests", "counter", "Requests of the program without effect, by kind.");
    for (kind, n) in &report.n_ignored {
        text.sample("siding_ignored_requests_total", &[("kind", kind)], *n);
    }
}

fn ports(text: &mut Text, report: &Report) {
    let numbers: Vec<String> = report.ports.iter().map(|port| port.number.to_string()).collect();
    text.family("siding_port_up", "gauge", "Whether packets can pass.");
    for (port, number) in report.ports.iter().zip(&numbers) {
        let labels = [("port", number.as_str()), ("name", port.name.as_str())];
        let is_up = port.is_enabled && port.link == LinkState::Up;
        text.sample("siding_port_up", &labels, u64::from(is_up));
    }
    let names = packet_io::PortStats::default().named().map(|(name, _)| name);
    for (i, name) in names.into_iter().enumerate() {
        let unit = if name.ends_with("packets") || name.ends_with("bytes") { "" } else { "_packets" };
        let family = format!("siding_port_{name}{unit}");
        text.family(&family, "counter", &format!("{} of a port.", name.replace('_', " ")));
        for (port, number) in report.ports.iter().zip(&numbers) {
            text.sample(&format!("{family}_total"), &[("port", number)], port.stats.named()[i].1);
        }
    }
}

/// Ports with one queue have no counts of their queues.
fn queues(text: &mut Text, report: &Report) {
    let with_queues: Vec<_> = report.ports.iter().filter(|port| port.queues.len() > 1).collect();
    if with_queues.is_empty() {
        return;
    }
    type Of = fn(&PortStats) -> u64;
    let families: [(&str, &str, Of); 4] = [
        ("siding_queue_rx_packets", "Packets received from a queue of a port.", |stats| stats.rx_packets),
        ("siding_queue_tx_packets", "Packets sent through a queue of a port.", |stats| stats.tx_packets),
        (
            "siding_queue_rx_dropped_packets",
            "Packets lost on arrival at a queue of a port.",
            PortStats::rx_dropped,
        ),
        (
            "siding_queue_tx_dropped_packets",
            "Packets that a queue of a port did not send.",
            PortStats::tx_dropped,
        ),
    ];
    for (name, help, of) in families {
        text.family(name, "counter", help);
        for port in &with_queues {
            for queue in &port.queues {
                let (port, number) = (port.number.to_string(), queue.number.to_string());
                let labels = [("port", port.as_str()), ("queue", number.as_str())];
                text.sample(&format!("{name}_total"), &labels, of(&queue.stats));
            }
        }
    }
}

fn asyncs(text: &mut Text, report: &Report) {
    if report.asyncs.is_empty() {
        return;
    }
    type Of = fn(&crate::AsyncReport) -> u64;
    text.family("siding_async_in_flight_packets", "gauge", "Packets that wait for an offload worker.");
    for block in &report.asyncs {
        text.sample("siding_async_in_flight_packets", &[("block", &block.name)], block.n_in_flight);
    }
    text.family("siding_async_worker_hung", "gauge", "Whether the block's offload worker is lost.");
    for block in &report.asyncs {
        text.sample("siding_async_worker_hung", &[("block", &block.name)], u64::from(block.is_hung));
    }
    let families: [(&str, &str, Of); 9] = [
        ("siding_async_sent_packets", "Packets sent to an offload worker.", |b| b.n_sent),
        ("siding_async_done_packets", "Packets that have come back.", |b| b.n_done + b.n_waited),
        ("siding_async_dropped_packets", "Packets dropped because too many were under way.", |b| b.n_dropped),
        (
            "siding_async_abandoned_packets",
            "Packets that an offload worker has not given back in time.",
            |b| b.n_lost,
        ),
        ("siding_async_inline_packets", "Packets whose block the worker ran.", |b| {
            b.n_inline + b.n_no_room + b.n_full
        }),
        ("siding_async_wait_cycles", "Cycles from being sent to going on.", |b| b.waited.cycles),
        ("siding_async_run_cycles", "Cycles that offload workers ran the block.", |b| b.served.cycles),
        ("siding_async_batches", "Calls of several packets, made together.", |b| b.n_batches),
        ("siding_async_batched_packets", "Packets whose calls were made together.", |b| b.n_batched),
    ];
    for (name, help, of) in families {
        text.family(name, "counter", help);
        for block in &report.asyncs {
            text.sample(&format!("{name}_total"), &[("block", &block.name)], of(block));
        }
    }
}

fn workers(text: &mut Text, report: &Report) {
    type Of = fn(&crate::WorkerReport) -> u64;
    let families: [(&str, &str, Of); 4] = [
        ("siding_worker_packets", "Packets that a worker has received.", |w| w.n_packets),
        ("siding_worker_bursts", "Bursts with packets.", |w| w.n_bursts),
        ("siding_worker_sleeps", "How often a worker went to sleep.", |w| w.n_sleeps),
        ("siding_worker_buffers_exhausted", "How often no buffer was left.", |w| w.n_exhausted),
    ];
    for (name, help, of) in families {
        text.family(name, "counter", help);
        for worker in &report.workers {
            let number = worker.number.to_string();
            text.sample(&format!("{name}_total"), &[("worker", &number)], of(worker));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_escaped() {
        let mut text = Text::default();
        text.sample("a_total", &[("reason", "a\"b\\c\nd"), ("port", "1")], 3);
        text.sample("b", &[], 4);
        assert_eq!(text.0, "a_total{reason=\"a\\\"b\\\\c\\nd\",port=\"1\"} 3\nb 4\n");
    }
}
