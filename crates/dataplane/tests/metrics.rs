//! Metrics over HTTP.

mod common;

use common::{Wire, compile, configure, until};
use dataplane::{Counter, MetricsServer, Options, Switch};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

#[test]
fn metrics_are_served() {
    let switch = Switch::start(Options::default()).unwrap();
    let wires = [Wire::default(), Wire::default()];
    for (number, wire) in (0..).zip(&wires) {
        switch.add_open_port(number, format!("wire{number}"), wire.port(number)).unwrap();
    }
    let metrics = MetricsServer::start("127.0.0.1:0".parse().unwrap(), &switch, || {
        let samples = vec![("one", 1), ("other", 2)];
        vec![
            Counter { name: "siding_more", help: "More.", label: "way", samples },
            Counter { name: "siding_plain", help: "Plain.", label: "", samples: vec![("", 3)] },
        ]
    })
    .unwrap();
    let get = |request: &str| {
        let mut stream = TcpStream::connect(metrics.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    wires[0].send(&[0; 60]);
    until("a packet", || switch.report().unwrap().n_received == 1);
    switch.replace(compile("examples/01-router/router.p4")).unwrap();
    configure(&switch, "add routes headers.ipv4.destination:0x0a000000/8 set_next_hop(next_hop:1)");
    let answer = get("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    for line in [
        "siding_received_packets_total 1",
        "siding_drop_packets_total{reason=\"no_pipeline\"} 1",
        "siding_port_rx_packets_total{port=\"0\"} 1",
        "siding_port_up{port=\"1\",name=\"wire1\"} 1",
        "siding_table_entries{table=\"Router.routes\"} 1",
        "siding_table_lookup_total{table=\"Router.routes\",result=\"hit\"} 0",
        "siding_worker_packets_total{worker=\"0\"} 1",
        "siding_more_total{way=\"other\"} 2",
        "siding_plain_total 3",
    ] {
        assert!(answer.contains(&format!("\n{line}\n")), "{line}\n{answer}");
    }
    assert!(answer.ends_with("# EOF\n"));
    assert!(get("GET /metrics?x=1 HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
    // Many more silent clients than there are connections, all of them older.
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(metrics.address()).unwrap()).collect();
    assert!(get("GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
    // The oldest were closed for it, not waited for.
    let mut oldest = &silent[0];
    oldest.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(oldest.read(&mut [0; 8]).unwrap(), 0);
    drop(silent);
    assert!(get("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(get("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    assert!(get("GET /metrics").starts_with("HTTP/1.1 400"));
}
