//! Requests and their answers.

use crate::{Client, Tests, start, until};
use ctl::{LINE_BYTES_MAX, Server, ServerError};
use dataplane::TraceLimits;
use serde_json::{Value as Json, json};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;
use trace::Filter;

#[test]
fn u01_entries_are_shown_with_their_registers() {
    let (_switch, server, _dir) = start();
    let mut client = Client::new(&server);
    let program = "tests/programs/state/u01_direct_registers.p4";
    client.get(json!({ "request": "replace", "program": program }));
    client.get(json!({ "request": "wait_ready", "timeout_ms": 10 }));
    client.get(json!({ "request": "commands", "text": "add I.learned headers.request.key:9 I.use(step:3)" }));
    let shown = client.get(json!({ "request": "show", "what": "entries", "name": "I.learned" }));
    let values = json!([
        { "name": "n_learned", "value": "100" }, { "name": "seen_by.last", "value": "0" },
        { "name": "seen_by.is_odd", "value": "0" },
    ]);
    assert_eq!(shown[0]["registers"], values, "{shown}");
    assert_eq!(shown[0]["action"]["params"], json!([{ "name": "step", "value": "3" }]));
}

#[test]
fn what_people_ask() {
    let (switch, server, _dir) = start();
    assert_eq!(std::fs::metadata(server.path()).unwrap().permissions().mode() & 0o777, 0o600);
    let mut client = Client::new(&server);
    let early = client.ask(json!({ "request": "wait_ready", "timeout_ms": 10 }));
    assert_eq!(early["error"]["kind"], "timeout");
    assert_eq!(client.ask(json!({ "request": "show", "what": "tables" }))["error"]["kind"], "refused");
    client.get(json!({ "request": "replace", "program": "examples/01-router/router.p4" }));
    client.get(json!({ "request": "wait_ready", "timeout_ms": 10 }));
    client.get(json!({ "request": "commands", "text":
        "add next_hops 1 forward(1, 02:00:00:00:00:01, destination:02:00:00:00:00:aa)
         add routes 10.0.0.0/8 set_next_hop(1)" }));
    let refused =
        client.ask(json!({ "request": "commands", "text": "add route 10.0.0.0/8 set_next_hop(1)" }));
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("did you mean `routes`?") && message.contains("command:1:5"), "{message}");
    let scripted = client.ask(json!({ "request": "commands", "text": "packet 0 00 00" }));
    let message = scripted["error"]["message"].as_str().unwrap();
    assert!(message.contains("`packet 0 00 00` is for test scripts"), "{message}");
    let entries = client.get(json!({ "request": "show", "what": "entries", "name": "Router.routes" }));
    assert_eq!(entries[0]["keys"][0]["value"], "10.0.0.0/8");
    assert_eq!(entries[0]["action"]["params"][0], json!({ "name": "next_hop", "value": "1" }));
    let tables = client.get(json!({ "request": "show", "what": "tables" }));
    let routes = tables.as_array().unwrap().iter().find(|table| table["table"] == "Router.routes").unwrap();
    assert_eq!((&routes["entries"], &routes["size"]), (&json!(1), &json!(65536)));

    let names = client.get(json!({ "request": "show", "what": "names" }));
    let routes = names["tables"].as_array().unwrap().iter().find(|table| table["table"] == "routes").unwrap();
    assert_eq!(routes["actions"][0], json!({ "name": "set_next_hop", "params": ["next_hop"] }), "{names}");
    assert_eq!(names["counters"], json!(["received", "sent"]));

    // The story of a packet that comes while somebody waits for it.
    let packet = "020000000000 020000000099 0800 4500001c000000004011ae24c0a800010a010203 1388003500080000";
    let other = "020000000000 020000000099 0800 4500001c0000000040110e17c0a80001ac100001 1388003500080000";
    let mut tracing = Client::new(&server);
    tracing.send(
        b"{\"version\":1,\"request\":\"trace\",\"n_packets\":1,\"filter\":\"port==0 && ipv4.destination==10.1.2.3\",\
          \"timeout_ms\":20000}\n",
    );
    // The trace has begun when its first copy was taken; until then packets pass untold.
    let mut stories = Json::Null;
    std::thread::scope(|scope| {
        let story = scope.spawn(|| tracing.answer());
        while !story.is_finished() {
            client.get(json!({ "request": "packet_out", "hex": other, "port": 0 }));
            client.get(json!({ "request": "packet_out", "hex": packet, "port": 0 }));
            std::thread::sleep(Duration::from_millis(20));
        }
        stories = story.join().unwrap();
    });
    let story = &stories["result"]["stories"][0];
    assert_eq!(story["verdicts"][0]["verdict"], "sent", "{stories}");
    assert_eq!(story["verdicts"][0]["port"], 1);
    until("the packets themselves", || {
        let ports = client.get(json!({ "request": "show", "what": "ports" }));
        ports[1]["stats"]["tx_packets"].as_u64() > Some(0)
    });

    // One story is more than the bytes that are allowed, and the last.
    let limits = TraceLimits { n_stories_max: 1000, n_bytes_max: 1, timeout: Duration::from_secs(20) };
    std::thread::scope(|scope| {
        let tracing = scope.spawn(|| switch.trace(limits, &Filter::default(), &|| false).unwrap());
        while !tracing.is_finished() {
            client.get(json!({ "request": "packet_out", "hex": packet, "port": 0 }));
        }
        let traced = tracing.join().unwrap();
        assert_eq!((traced.stories.len(), traced.is_cut), (1, true));
    });

    let ports = client.get(json!({ "request": "show", "what": "ports" }));
    assert_eq!((&ports[1]["name"], &ports[1]["link"]), (&json!("memory1"), &json!("up")));
    client.get(json!({ "request": "set_port", "port": 1, "is_enabled": false }));
    let ports = client.get(json!({ "request": "show", "what": "ports" }));
    assert_eq!(ports[1]["enabled"], false);
    client.get(json!({ "request": "remove_port", "port": 1 }));
    assert_eq!(
        client.ask(json!({ "request": "remove_port", "port": 1 }))["error"]["message"],
        "there is no port 1"
    );
    let bad = client.ask(json!({ "request": "add_port", "port": "1@nosuchinterface" }));
    assert!(bad["error"]["message"].as_str().unwrap().contains("nosuchinterface"), "{bad}");

    let counters = client.get(json!({ "request": "show", "what": "counters", "name": "Router.received" }));
    assert_eq!(counters[0]["index"], 0);
    client.get(
        json!({ "request": "replace", "program": "examples/01-router/router.p4", "keep_entries": true }),
    );
    let entries = client.get(json!({ "request": "show", "what": "entries" }));
    assert_eq!(entries.as_array().unwrap().len(), 2);
    // Groups and tables as a whole.
    let replication = |client: &mut Client| client.get(json!({ "request": "show", "what": "pre" }));
    for ports in [vec![1, 2], vec![2]] {
        client.get(json!({ "request": "set_group", "group": 7, "ports": ports }));
        let found = replication(&mut client);
        assert_eq!(found[0]["replicas"].as_array().unwrap().len(), ports.len(), "{found}");
    }
    client.get(json!({ "request": "commands", "text": "mirroring_add 9 1" }));
    client.get(json!({ "request": "remove_session", "session": 9 }));
    client.get(json!({ "request": "remove_group", "group": 7 }));
    assert_eq!(replication(&mut client), json!([]));
    let gone = client.ask(json!({ "request": "remove_group", "group": 7 }));
    assert_eq!(gone["error"]["kind"], "refused", "{gone}");
    let cleared = client.get(json!({ "request": "clear_table", "table": "routes" }));
    assert_eq!(cleared["updates"], 1);
    let entries = client.get(json!({ "request": "show", "what": "entries", "name": "routes" }));
    assert_eq!(entries, json!([]));
    for what in ["drops", "workers", "pre", "registers", "program"] {
        client.get(json!({ "request": "show", "what": what }));
    }
    let totals = client.get(json!({ "request": "show", "what": "totals" }));
    assert_eq!(totals["balanced"], true, "{totals}");
    assert!(!server.is_shutdown_wanted());
    client.get(json!({ "request": "shutdown" }));
    until("the wish to end", || server.is_shutdown_wanted());
    drop(server);
    assert!(switch.shut_down().unwrap().is_balanced());
}

#[test]
fn nonsense_is_answered() {
    let (switch, server, _dir) = start();
    let mut client = Client::new(&server);
    for nonsense in [
        &b"\n"[..],
        b"hello\n",
        b"{}\n",
        b"[1,2,3]\n",
        b"\xff\xfe\x00\n",
        b"{\"version\":1}\n",
        b"{\"version\":1,\"request\":\"dance\"}\n",
        b"{\"version\":77,\"request\":\"shutdown\"}\n",
        b"{\"version\":1,\"request\":\"show\",\"what\":\"everything\"}\n",
        b"{\"version\":1,\"request\":\"set_port\",\"port\":-1,\"is_enabled\":true}\n",
        b"{\"version\":1,\"request\":\"packet_out\",\"hex\":\"xyz\"}\n",
        b"{\"version\":1,\"request\":\"trace\",\"n_packets\":1,\"filter\":\"==\",\"timeout_ms\":1}\n",
        b"{\"version\":1,\"request\":\"add_port\",\"port\":\"@@@\"}\n",
    ] {
        client.send(nonsense);
        let answer = client.answer();
        assert_eq!(answer["error"]["kind"], "usage", "{}: {answer}", nonsense.escape_ascii());
    }
    // Deep nesting, and pieces of lines.
    let deep = [vec![b'['; 100_000], b"\n".to_vec()].concat();
    client.send(&deep);
    assert_eq!(client.answer()["error"]["kind"], "usage");
    client.send(b"{\"version\":1,\"req");
    std::thread::sleep(Duration::from_millis(250));
    client.send(b"uest\":\"show\",\"what\":\"totals\"}\n");
    assert_eq!(client.answer()["result"]["received"], 0);
    // Clients that vanish in the middle, or say nothing.
    let silent: Vec<Client> = (0..20).map(|_| Client::new(&server)).collect();
    for _ in 0..20 {
        let mut gone = Client::new(&server);
        gone.send(b"{\"version\":1,\"request\":\"show\",\"what\":\"ports\"}\n{\"ver");
    }
    assert_eq!(client.ask(json!({ "request": "show", "what": "totals" }))["result"]["received"], 0);
    drop(silent);
    // A line without an end.
    let mut endless = Client::new(&server);
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..=LINE_BYTES_MAX / piece.len() {
        if endless.0.get_mut().write_all(&piece).is_err() {
            break;
        }
    }
    assert_eq!(endless.answer()["error"]["kind"], "usage");
    // Another switch does not take the socket away, unless nobody listens there any more.
    let path = server.path().to_owned();
    let again = Server::start(&path, &switch, Arc::new(Tests));
    assert!(matches!(again, Err(ServerError::InUse(_))), "{again:?}");
    drop(server);
    assert!(!path.exists());
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    // A compiler that another test starts right now holds this process's descriptors until it is loaded.
    until("the socket is taken over", || {
        let again = Server::start(&path, &switch, Arc::new(Tests));
        assert!(matches!(again, Ok(_) | Err(ServerError::InUse(_))), "{again:?}");
        again.is_ok()
    });
    std::fs::write(&path, "a file").unwrap();
    let file = Server::start(&path, &switch, Arc::new(Tests));
    assert!(matches!(file, Err(ServerError::NoSocket(_))), "{file:?}");
}
