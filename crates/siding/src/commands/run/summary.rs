//! The numbers at the end of a run.

use crate::cli::RunArgs;
use crate::output;
use std::collections::BTreeMap;
use target::traffic::Totals;
use testkit::Lockstep;

/// Received is sent and dropped and still waiting.
pub fn summarize(
    args: &RunArgs,
    machine: &Lockstep,
    received: &BTreeMap<u32, u64>,
    sent: &BTreeMap<u32, u64>,
    seconds: f64,
) {
    let Totals { n_received, n_copied, n_sent, n_to_controller, n_dropped } = &machine.totals();
    let n_queued = machine.n_queued();
    if args.json {
        let totals = serde_json::json!({
            "received": n_received, "copied": n_copied, "sent": n_sent, "to_controller": n_to_controller,
            "dropped": n_dropped, "queued": n_queued, "received_by_port": received, "sent_by_port": sent,
        });
        let backend = match (machine.is_interpreted(), machine.is_native()) {
            (true, true) => "both",
            (false, true) => "native",
            _ => "interp",
        };
        let line = serde_json::json!({
            "totals": totals,
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
    if n_queued > 0 {
        line("still waiting".to_string(), n_queued);
    }
    output::out(&text);
}
