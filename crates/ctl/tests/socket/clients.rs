//! Clients that are idle, busy or silent.

use crate::{Client, IS_RELEASED, N_HELD, start_with, until};
use ctl::Limits;
use serde_json::json;
use std::io::Read;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[test]
fn idle_clients_lock_nobody_out() {
    let limits = Limits { n_clients_max: 3, ..Limits::default() };
    let (_switch, server, _dir) = start_with(limits);
    let totals = json!({ "request": "show", "what": "totals" });
    let mut idle: Vec<Client> = (0..3).map(|_| Client::new(&server)).collect();
    // The first has been idle for longest: connections are accepted in order, and a request is later than that. It is
    // not served itself, because a client may see an answer before the server counts the request as done.
    for client in &mut idle[1..] {
        client.get(totals.clone());
    }
    // A line that was begun is no request yet.
    idle[0].send(b"{\"ver");
    let mut next = Client::new(&server);
    next.get(totals.clone());
    let mut rest = String::new();
    assert_eq!(idle[0].0.read_to_string(&mut rest).unwrap(), 0, "{rest}");
    idle[2].get(totals);
}

#[test]
fn busy_clients_keep_nobody_from_ending_the_switch() {
    let limits = Limits { n_clients_max: 2, ..Limits::default() };
    let (_switch, server, _dir) = start_with(limits);
    let mut busy: Vec<Client> = (0..2).map(|_| Client::new(&server)).collect();
    for client in &mut busy {
        client.send(b"{\"version\":1,\"request\":\"replace\",\"program\":\"hold\"}\n");
    }
    until("both requests", || N_HELD.load(Ordering::SeqCst) == 2);
    let refused = Client::new(&server).ask(json!({ "request": "show", "what": "totals" }));
    assert!(refused["error"]["message"].as_str().unwrap().contains("there are 2 clients"), "{refused}");
    Client::new(&server).get(json!({ "request": "shutdown" }));
    until("the wish to end", || server.is_shutdown_wanted());
    // Requests under way are answered though the server ends.
    let ending = std::thread::spawn(move || drop(server));
    IS_RELEASED.store(true, Ordering::SeqCst);
    for client in &mut busy {
        assert_eq!(client.answer()["error"]["message"], "released");
    }
    ending.join().unwrap();
}

#[test]
fn silence_is_not_waited_for() {
    let short = Duration::from_millis(20);
    let (_switch, server, _dir) = start_with(Limits { idle_timeout: short, ..Limits::default() });
    let mut rest = String::new();
    assert_eq!(Client::new(&server).0.read_to_string(&mut rest).unwrap(), 0, "{rest}");
    let (_switch, server, _dir) = start_with(Limits { line_timeout: short, ..Limits::default() });
    let mut slow = Client::new(&server);
    slow.send(b"{\"ver");
    assert_eq!(slow.answer()["error"]["message"], "the line does not end");
}
