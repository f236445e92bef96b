//! Tables that packets write. Numbers in names are those of docs/reference/psa-pna.md.

use crate::{Client, start};
use serde_json::{Value as Json, json};

const COUNTS_FLOWS: &str = "examples/state/heavy_hitter/heavy_hitter.p4";
const CHANGES_ENTRIES: &str = "tests/programs/state/update.p4";

fn run(client: &mut Client, program: &str) {
    client.get(json!({ "request": "replace", "program": program }));
}

fn command(client: &mut Client, text: &str) -> Json {
    client.ask(json!({ "request": "commands", "text": text }))
}

fn wait(n_entries: u64, is_below: bool, timeout_ms: u64) -> Json {
    json!({
        "request": "wait_entries", "table": "flows", "n_entries": n_entries, "is_below": is_below,
        "timeout_ms": timeout_ms,
    })
}

/// C12: a controller asks how many entries a table has, and is told when there are enough or few enough. Nobody reads entries.
#[test]
fn c12_entries_are_counted_and_waited_for() {
    let (switch, server, _dir) = start();
    let mut client = Client::new(&server);
    let early = client.ask(wait(1, false, 10));
    assert_eq!(early["error"]["kind"], "refused", "there is no program: {early}");
    run(&mut client, COUNTS_FLOWS);
    client.get(json!({ "request": "commands", "text": "add ports 0 forward(1)" }));
    let early = client.ask(wait(3, false, 10));
    assert_eq!(early["error"]["kind"], "timeout", "{early}");
    assert!(early["error"]["message"].as_str().unwrap().ends_with("has 0 entries"), "{early}");
    let told = std::thread::scope(|scope| {
        let mut waiting = Client::new(&server);
        let waiter = scope.spawn(move || waiting.get(wait(3, false, 20_000)));
        for port in 1..=3 {
            let packet = format!("eth/ipv4(src=10.0.0.5, dst=203.0.113.9)/udp(sport={port}, dport=53)/\"x\"");
            client.get(json!({ "request": "packet_out", "packet": packet, "port": 0 }));
        }
        waiter.join().unwrap()
    });
    assert_eq!(told["entries"], 3, "{told}");
    let state = client.get(json!({ "request": "show", "what": "state" }));
    for (count, n) in [("entries", 3), ("from_packets", 3), ("added", 3), ("lost_notices", 0), ("waiting", 0)]
    {
        assert_eq!(state[0][count], n, "{state}");
    }
    let tables = client.get(json!({ "request": "show", "what": "tables", "name": "flows" }));
    assert_eq!(tables[0]["entries"], 3, "{tables}");

    assert_eq!(client.ask(wait(3, true, 10))["error"]["kind"], "timeout");
    client.get(json!({ "request": "clear_table", "table": "flows" }));
    assert_eq!(client.get(wait(3, true, 20_000))["entries"], 0);
    let state = client.get(json!({ "request": "show", "what": "state" }));
    assert_eq!((&state[0]["entries"], &state[0]["deleted"]), (&json!(0), &json!(3)), "{state}");
    // C6: places that wait for workers are in the metrics.
    let metrics = switch.metrics(&[]).unwrap();
    let waiting = metrics.lines().find(|line| line.starts_with("siding_table_waiting_slots{")).unwrap();
    assert!(waiting.contains("Count.flows"), "{waiting}");

    let mut unknown = wait(1, false, 10);
    unknown["table"] = "flow".into();
    let message = client.ask(unknown)["error"]["message"].to_string();
    assert!(message.contains("did you mean `flows`?"), "{message}");
    drop(server);
    assert!(switch.shut_down().unwrap().is_balanced());
}

/// U7: a modification that keeps the state of an entry gives the other parameters only.
#[test]
fn u07_modifications_keep_the_state_of_an_entry() {
    let (switch, server, _dir) = start();
    let mut client = Client::new(&server);
    run(&mut client, CHANGES_ENTRIES);
    let values = |client: &mut Client| {
        let entries = client.get(json!({ "request": "show", "what": "entries", "name": "known" }));
        let params = entries[0]["action"]["params"].as_array().unwrap().clone();
        params.iter().map(|param| param["value"].to_string()).collect::<Vec<_>>()
    };
    assert!(command(&mut client, "add known 1 count(50, 9, 2)")["error"].is_null());
    let before = values(&mut client);
    for call in ["count(3)", "count(step:3)"] {
        let done = command(&mut client, &format!("modify_keep_state known 1 {call}"));
        assert!(done["error"].is_null(), "{done}");
        let after = values(&mut client);
        assert_eq!(after[..2], before[..2]);
        assert_ne!(after[2], before[2]);
    }
    for (call, kind, said) in [
        (
            "modify_keep_state known 1 count(4, 5)",
            "usage",
            "one value too many: action `I.count` keeps its state",
        ),
        ("modify_keep_state known 1 count(n:4, step:5)", "usage", "`n` keeps its value: leave it out"),
        ("modify_keep_state known 1 count()", "usage", "lacks the argument `step`"),
        ("modify_keep_state known 2 count(3)", "refused", "does not exist"),
    ] {
        let refused = command(&mut client, call);
        assert_eq!(refused["error"]["kind"], kind, "{call}: {refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(said), "{call}: {refused}");
    }
    assert!(command(&mut client, "modify known 1 NoAction()")["error"].is_null());
    let refused = command(&mut client, "modify_keep_state known 1 count(3)");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("does not run `I.count`, so it has no values of `n`, `last` to keep"),
        "{message}"
    );
    drop(server);
    assert!(switch.shut_down().unwrap().is_balanced());
}
