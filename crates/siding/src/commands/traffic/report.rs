//! The results of a trial, for people.

use super::ports::Ports;
use std::fmt::Write as _;
use traffic::{GeneratorResult, Latency, Scaled, SinkResult, Stalls, TrialResult};

/// A number with its digits in groups of three.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part of the whole, with as many digits as it takes to be told from 0.
pub fn percent(part: f64) -> String {
    let percent = 100.0 * part;
    match percent {
        0.0 => "0 %".to_owned(),
        0.01.. => format!("{percent:.2} %"),
        _ => format!("{percent:.1e} %"),
    }
}

/// A time with three digits.
pub fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        1e9.. => (ns / 1e9, "s"),
        1e6.. => (ns / 1e6, "ms"),
        1e3.. => (ns / 1e3, "us"),
        _ => return format!("{ns:.0} ns"),
    };
    let n_digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.n_digits$} {unit}")
}

pub fn latency_line(latency: &Latency) -> String {
    let named = [
        ("p50", latency.p50_ns),
        ("p90", latency.p90_ns),
        ("p99", latency.p99_ns),
        ("p99.9", latency.p999_ns),
        ("p99.99", latency.p9999_ns),
        ("max", latency.max_ns),
    ];
    let words: Vec<String> = named.iter().map(|(name, ns)| format!("{name} {}", time(*ns as f64))).collect();
    format!("min {}, {}", time(latency.min_ns as f64), words.join(", "))
}

pub fn stalls_line(stalls: &Stalls) -> String {
    format!(
        "{} longer than {}, {} in all, the longest {}; {} waiting for a core",
        grouped(stalls.n_stalls),
        time(traffic::STALL_NS as f64),
        time(stalls.stalled_ns as f64),
        time(stalls.longest_ns as f64),
        time(stalls.waited_for_core_ns as f64)
    )
}

fn sent(text: &mut String, name: &str, sent: &GeneratorResult) {
    let rate =
        format!("{}packets/s, {}bit/s on the line", Scaled(sent.packets_per_s), Scaled(sent.line_bits_per_s));
    let n = grouped(sent.n_sent);
    let _ = writeln!(text, "sent        {n:>15} at {name} in {}: {rate}", time(sent.duration_ns as f64));
    if sent.n_refused > 0 {
        let _ = writeln!(
            text,
            "refused     {:>15} by the port, which did not send them",
            grouped(sent.n_refused)
        );
    }
    if sent.left_out_ns > 0 {
        let _ = writeln!(
            text,
            "too slow    {:>15} of the schedule left out: the port or the core did not keep {}",
            time(sent.left_out_ns as f64),
            sent.rate
        );
    }
}

fn received(text: &mut String, name: &str, received: &SinkResult) {
    let n = grouped(received.n_packets);
    let rate = Scaled(received.packets_per_s);
    let _ = writeln!(
        text,
        "received    {n:>15} at {name} in {}: {rate}packets/s",
        time(received.duration_ns as f64)
    );
    for stream in received.streams.iter().filter(|stream| stream.n_restarts > 0) {
        let _ = writeln!(
            text,
            "restarts    {:>15} of stream {}: its generator began again, or two use the same --stream",
            stream.n_restarts, stream.stream
        );
    }
}

/// The summary.
pub fn text(result: &TrialResult, names: &[String]) -> String {
    let mut text = String::new();
    for (station, name) in result.stations.iter().zip(names) {
        station.sent.iter().for_each(|result| sent(&mut text, name, result));
    }
    for (station, name) in result.stations.iter().zip(names) {
        station.received.iter().for_each(|result| received(&mut text, name, result));
        if let Some(recorded) = &station.recorded {
            let _ = writeln!(text, "received    {:>15} at {name}", grouped(recorded.n_packets));
        }
        for (reason, n) in &station.rx_dropped {
            let what = "by the receiver itself, which was too slow";
            let _ = writeln!(text, "dropped     {:>15} at {name} {what} ({reason})", grouped(*n));
        }
        for (reason, n) in &station.tx_dropped {
            let _ = writeln!(text, "not sent    {:>15} at {name} ({reason})", grouped(*n));
        }
    }
    let totals = &result.totals;
    if result.stations.iter().any(|station| station.received.is_some()) {
        let lost = percent(totals.loss_ratio);
        let _ = writeln!(text, "lost        {:>15} {lost}", grouped(totals.n_lost));
        faults(&mut text, result);
    }
    if let Some(latency) = &totals.latency {
        let _ = writeln!(text, "latency     {}", latency_line(latency));
    }
    let _ = writeln!(text, "stalls      {}", stalls_line(&totals.stalls));
    text
}

/// Reordered, duplicated and damaged packets.
fn faults(text: &mut String, result: &TrialResult) {
    let totals = &result.totals;
    let streams = || result.stations.iter().filter_map(|s| s.received.as_ref()).flat_map(|r| &r.streams);
    let flows =
        |f: fn(&traffic::FlowCounts) -> u64| streams().map(|stream| f(&stream.counts.flows)).sum::<u64>();
    let n_before: u64 = streams().map(|stream| stream.counts.n_missing_before_first).sum();
    if totals.n_sent == 0 && n_before > 0 {
        let what = "sequence numbers before the first packet that arrived; not counted as lost";
        let _ = writeln!(text, "earlier     {:>15} {what}", grouped(n_before));
    }
    let extent_max = streams().map(|stream| stream.counts.extent_max).max().unwrap_or(0);
    let reordered = match totals.n_reordered {
        0 => String::new(),
        _ => format!(
            " by up to {} packets; within their flow {}",
            grouped(extent_max),
            grouped(flows(|flows| flows.n_reordered))
        ),
    };
    let _ = writeln!(text, "reordered   {:>15}{reordered}", grouped(totals.n_reordered));
    let _ = writeln!(text, "duplicates  {:>15}", grouped(totals.n_duplicates));
    let _ = writeln!(text, "corrupted   {:>15}", grouped(totals.n_corrupted));
    let n_late: u64 = streams().map(|stream| stream.counts.n_too_late).sum();
    let rare = [
        ("checksums", totals.n_wrong_checksums, "packets with a wrong IPv4, UDP or TCP checksum"),
        ("foreign", totals.n_foreign, "packets of others, without a sequence number"),
        ("too late", n_late, "packets too late to tell if they are duplicates; counted as received"),
    ];
    for (name, n, what) in rare.into_iter().filter(|(_, n, _)| *n > 0) {
        let _ = writeln!(text, "{name:11} {:>15} {what}", grouped(n));
    }
    let n_flows = flows(|flows| flows.n_flows);
    if n_flows > 1 {
        let _ = writeln!(
            text,
            "flows       {:>15} of which {} lost packets and {} have reordered ones",
            grouped(n_flows),
            grouped(flows(|flows| flows.n_flows_with_gaps)),
            grouped(flows(|flows| flows.n_flows_reordered))
        );
    }
}

pub fn nothing_arrived(name: &str) -> String {
    format!(
        "nothing arrived at {name}: is the other end connected to it and up (ip -s link show), does the device between \
         forward these MAC and IP addresses (--dst-mac, --dst-ip), and is this the right port? A switch of Siding tells \
         with `siding ctl show drops` what it has dropped"
    )
}

/// Advice on what to check when something did not go as it should.
pub fn hints(result: &TrialResult, names: &[String], ports: &Ports) -> Vec<String> {
    let mut hints = ports.link_hints();
    for (station, name) in result.stations.iter().zip(names) {
        let Some(received) = &station.received else { continue };
        let n_known: u64 = received.streams.iter().map(|stream| stream.counts.n_received).sum();
        if received.n_packets == 0 {
            // A sender that sent nothing has another cause.
            if result.totals.n_sent > 0 || !ports.has_tx() {
                hints.push(nothing_arrived(name));
            }
        } else if n_known == 0 {
            hints.push(format!(
                "{} packets arrived at {name}, but none with the sequence number of a generator: does a device cut or \
                 change the last {} bytes of packets?",
                received.n_packets,
                traffic::SIGNATURE_BYTES
            ));
        }
    }
    if result.totals.n_dropped_by_sinks > 0 {
        hints.push(format!(
            "{} of the packets were lost in the receiver itself, which was too slow; a lower --rate, or --cores, helps",
            result.totals.n_dropped_by_sinks
        ));
    }
    hints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.0, 0.5, 0.000_123, 1e-7].map(percent), ["0 %", "50.00 %", "0.01 %", "1.0e-5 %"]);
        assert_eq!(
            [5.0, 1500.0, 12_340.0, 2.5e6, 3e9, 1.234e11].map(time),
            ["5 ns", "1.50 us", "12.3 us", "2.50 ms", "3.00 s", "123 s"]
        );
    }
}
