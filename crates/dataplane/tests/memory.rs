//! Workers between ports that lead to the test.

mod common;

use common::{Wire, compile, configure, settled, until};
use control::{
    Entity, EntryQuery, Match, MulticastGroup, MulticastGroupId, Port, Query, Replica, TableEntry, Update,
    UpdateKind, Value,
};
use dataplane::{Options, PortSpec, Switch, SwitchError, Warning, reason};

const L2_SWITCH: &str = "examples/02-l2-switch/l2_switch.p4";

/// To a station, from a station.
fn frame(to: u8, from: u8, n: u16) -> Vec<u8> {
    let [high, low] = n.to_be_bytes();
    vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 0x88, 0xb5, high, low]
}

/// A group that floods to these ports.
fn flood(switch: &Switch, ports: &[u32]) {
    let replica = |port: &u32| Replica {
        egress_port: Port::number(u64::from(*port)),
        instance: 0,
        backups: Vec::new(),
    };
    let group = MulticastGroup {
        group: MulticastGroupId(1),
        replicas: ports.iter().map(replica).collect(),
        metadata: Vec::new(),
    };
    let update = Update { kind: UpdateKind::Insert, entity: Entity::MulticastGroup(group) };
    switch.with_target(|_, target| target.write(&update)).unwrap().unwrap();
}

fn with_wires(options: Options, n_ports: u32) -> (std::sync::Arc<Switch>, Vec<Wire>) {
    let switch = Switch::start(options).unwrap();
    let wires: Vec<Wire> = (0..n_ports).map(|_| Wire::default()).collect();
    for (number, wire) in (0..).zip(&wires) {
        switch.add_open_port(number, format!("wire {number}"), wire.port(number)).unwrap();
    }
    (switch, wires)
}

/// A capture whose disk is full.
#[test]
fn captures_that_end_are_told_once() {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", dir.path().join("wire_in.pcap")).unwrap();
    let (switch, wires) = with_wires(Options::default(), 1);
    let wire = Wire::default();
    let mirror = packet_io::PcapMirror::create(wire.port(7), dir.path(), "wire").unwrap();
    switch.add_open_port(7, "wire".to_owned(), Box::new(mirror)).unwrap();
    assert_eq!(switch.take_warnings(), []);
    wire.send(&[0; 60]);
    let mut warnings = Vec::new();
    until("a warning", || {
        warnings.extend(switch.take_warnings());
        !warnings.is_empty()
    });
    let [Warning::CaptureEnded { port: 7, error }] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(error.contains("wire_in.pcap: "), "{error}");
    wire.send(&[0; 60]);
    let metric = |n: u64| format!("siding_port_capture_missed_packets_total{{port=\"7\"}} {n}\n");
    until("a count", || switch.metrics(&[]).unwrap().contains(&metric(2)));
    let report = settled(&switch);
    let port = report.ports.iter().find(|port| port.number == 7).unwrap();
    assert_eq!(port.capture_error.as_ref(), Some(error));
    wires[0].send(&[0; 60]);
    assert!(switch.shut_down().unwrap().is_balanced());
    assert_eq!(switch.take_warnings(), []);
}

#[test]
fn ports_that_cannot_be_are_refused() {
    let options = Options { drop_port: Some(400), cpu_port: Some(63), ..Options::default() };
    let (switch, wires) = with_wires(options, 1);
    let wire = |number: u32| wires[0].port(number);
    assert!(matches!(switch.inject(77, vec![0]), Err(SwitchError::NoSuchPort(77))));
    let refused = |number| switch.add_open_port(number, format!("wire {number}"), wire(number)).unwrap_err();
    assert_eq!(
        refused(400).to_string(),
        "port 400 cannot be used: packets to this port are dropped: it is the drop port"
    );
    assert!(matches!(refused(63), SwitchError::CpuPort(63)));
    // Without a program any number will do; a program that cannot have the port is not run.
    switch.add_open_port(600, "wire 600".to_owned(), wire(600)).unwrap();
    let error = switch.replace(compile(L2_SWITCH)).unwrap_err();
    assert!(matches!(error, SwitchError::BadPort { port: 600, .. }), "{error}");
    switch.remove_port(600).unwrap();
    switch.replace(compile(L2_SWITCH)).unwrap();
    assert!(matches!(refused(512), SwitchError::BadPort { port: 512, .. }));
    assert!(matches!(refused(511), SwitchError::BadPort { port: 511, .. }));
    switch.add_open_port(510, "wire 510".to_owned(), wire(510)).unwrap();
    // One file is no two ports.
    let dir = tempfile::tempdir().unwrap();
    let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0x0001_0000, 1].map(u32::to_le_bytes).concat();
    std::fs::write(dir.path().join("a_in.pcap"), header).unwrap();
    let file =
        |number: u32| PortSpec::parse(&format!("{number}@file:{}", dir.path().join("a").display())).unwrap();
    switch.add_port(&file(8), None).unwrap_or_else(|error| panic!("{error}"));
    let error = switch.add_port(&file(9), None).unwrap_err();
    assert!(matches!(error, SwitchError::DeviceInUse { port: 8, .. }), "{error}");
}

#[test]
fn stations_are_flooded_learned_and_reached() {
    for n_workers in [1, 3] {
        let (switch, wires) = with_wires(Options { n_workers, ..Options::default() }, 3);
        wires[0].send(&frame(0xbb, 0xaa, 0));
        until("a drop without a program", || {
            switch.report().unwrap().n_dropped_for(reason::NO_PIPELINE) == 1
        });
        switch.replace(compile(L2_SWITCH)).unwrap();
        flood(&switch, &[0, 1, 2]);
        wires[0].send(&frame(0xbb, 0xaa, 1));
        until("flooding", || wires[1].n_received() == 1 && wires[2].n_received() == 1);
        assert_eq!(wires[1].take(), [frame(0xbb, 0xaa, 1)]);
        assert_eq!(wires[2].take(), [frame(0xbb, 0xaa, 1)]);
        assert_eq!(wires[0].n_received(), 0);
        let digests = switch.take_digests().unwrap();
        assert_eq!(digests.len(), 1);
        configure(
            &switch,
            "add smac source:0x0200000000aa port:0 known()
             add dmac destination:0x0200000000aa forward(port:0)",
        );
        for n in 0..500 {
            wires[1].send(&frame(0xaa, 0xbb, n));
        }
        until("packets to a known station", || wires[0].n_received() == 500);
        let expected: Vec<_> = (0..500).map(|n| frame(0xaa, 0xbb, n)).collect();
        assert_eq!(wires[0].take(), expected, "in order, none lost");
        assert_eq!(wires[2].n_received(), 0);
        let report = settled(&switch);
        assert_eq!((report.n_received, report.n_sent, report.n_queued), (502, 502, 0));
        // Three copies of the flooded packet, of which one would have gone back.
        assert_eq!(report.n_dropped_for(reason::EGRESS_DROP), 1);
        switch.shut_down().unwrap();
    }
}

#[test]
fn what_is_lost_has_a_name() {
    let (switch, wires) = with_wires(Options { drop_port: Some(99), ..Options::default() }, 2);
    switch.replace(compile(L2_SWITCH)).unwrap();
    configure(
        &switch,
        "add dmac destination:0x020000000001 forward(port:1)
         add dmac destination:0x020000000007 forward(port:7)
         add dmac destination:0x020000000063 forward(port:99)",
    );
    wires[0].send(&frame(7, 0xaa, 0));
    wires[0].send(&frame(99, 0xaa, 0));
    wires[0].send(&[1, 2, 3]);
    wires[0].send(&frame(1, 0xaa, 0));
    until("the good packet", || wires[1].n_received() == 1);
    wires[1].block();
    wires[0].send(&frame(1, 0xaa, 1));
    until("a full queue", || switch.report().unwrap().n_dropped_for(reason::TX_QUEUE_FULL) == 1);
    switch.enable_port(1, false).unwrap();
    wires[0].send(&frame(1, 0xaa, 2));
    wires[1].send(&frame(1, 0xaa, 3));
    until("a port that is off", || {
        let report = switch.report().unwrap();
        report.n_dropped_for(reason::PORT_DOWN) == 1 && report.n_dropped_for(reason::INGRESS_PORT_DOWN) == 1
    });
    switch.remove_port(1).unwrap();
    wires[0].send(&frame(1, 0xaa, 4));
    until("a port that was removed", || switch.report().unwrap().n_dropped_for(reason::NO_SUCH_PORT) == 2);
    let report = settled(&switch);
    assert_eq!(report.n_dropped_for(reason::DROP_PORT), 1);
    assert_eq!((report.n_received, report.n_sent), (8, 1), "the counts of the removed port stay");
    assert!(matches!(switch.remove_port(1), Err(SwitchError::NoSuchPort(1))));
}

#[test]
fn programs_are_replaced_under_load_without_loss() {
    let (switch, wires) = with_wires(Options { n_workers: 2, n_ring_max: 1 << 16, ..Options::default() }, 2);
    let compiled = compile(L2_SWITCH);
    let run = |switch: &Switch| {
        switch.replace(compiled.clone()).unwrap();
    };
    run(&switch);
    // Nothing but flooding works without entries, so the group has to be there with the program.
    flood(&switch, &[0, 1]);
    let n_packets = 20_000_u16;
    let sender = std::thread::spawn({
        let wire = wires[0].clone();
        move || {
            for n in 0..n_packets {
                wire.send(&frame(0xbb, 0xaa, n));
                if n % 64 == 0 {
                    std::thread::sleep(std::time::Duration::from_micros(200));
                }
            }
        }
    });
    let mut n_replaced = 0;
    while !sender.is_finished() {
        switch.replace_keeping(compiled.clone()).unwrap();
        n_replaced += 1;
    }
    sender.join().unwrap();
    until("the last packet", || wires[1].n_received() == usize::from(n_packets));
    let expected: Vec<_> = (0..n_packets).map(|n| frame(0xbb, 0xaa, n)).collect();
    assert!(wires[1].take() == expected, "in order, none lost");
    assert!(n_replaced > 2, "{n_replaced}");
    settled(&switch);
}

#[test]
fn entries_that_nobody_hits_are_told_of_and_stay() {
    let switch = Switch::start(Options::default()).unwrap();
    switch.replace(compile("tests/programs/direct_meters/program.p4")).unwrap();
    configure(&switch, "add flows a:1 measure(value:7)\nadd flows a:2 unmeasured()");
    let read = || switch.read(&Query::TableEntries(EntryQuery::default())).unwrap().unwrap();
    let has_a = |entity: &Entity, a: u64| match entity {
        Entity::TableEntry(entry) => match &entry.matches[0].value {
            Match::Exact(Value::Bits(bits)) => bits.to_u64() == Some(a),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    // Only one of them says that it is to be told of.
    let Some(Entity::TableEntry(entry)) = read().into_iter().find(|entity| has_a(entity, 1)) else {
        panic!("no such entry")
    };
    let entity = Entity::TableEntry(TableEntry { idle_timeout_ns: 200_000_000, ..entry });
    let update = Update { kind: UpdateKind::Modify, entity };
    switch.with_target(|_, target| target.write(&update)).unwrap().unwrap();
    let mut expired = Vec::new();
    until("the end of the idle timeout", || {
        expired.extend(switch.take_expired());
        !expired.is_empty()
    });
    assert!(expired.iter().all(|entity| has_a(entity, 1)), "{expired:?}");
    assert_eq!(read().len(), 2);
    assert_eq!(switch.n_untold(), 0);
}

#[test]
fn entries_of_packets_that_nobody_hits_are_told_of_and_stay() {
    let (switch, wires) = with_wires(Options::default(), 1);
    switch.replace(compile("tests/programs/state/program.p4")).unwrap();
    assert!(switch.set_profile("I.reported", 0, 200_000_000).unwrap());
    let (table, key, value) = (3, 7, 1);
    wires[0].send(&[table, key, value, 0, 0, 0, 0]);
    let mut expired = Vec::new();
    until("the end of the time of its profile", || {
        expired.extend(switch.take_expired());
        !expired.is_empty()
    });
    for entity in &expired {
        let Entity::TableEntry(entry) = entity else { panic!("{entity:?}") };
        assert!(entry.is_of_packet && entry.profile == Some(0), "{entry:?}");
    }
    let all = switch.read(&Query::TableEntries(EntryQuery::default())).unwrap().unwrap();
    let is_of_packet = |entity: &&Entity| matches!(entity, Entity::TableEntry(entry) if entry.is_of_packet);
    assert_eq!(all.iter().filter(is_of_packet).count(), 1);
    assert_eq!(switch.n_untold(), 0);
}

/// Blocks that offload workers run, in every mode: nothing is lost, and what was done is counted.
#[test]
fn asynchronous_blocks_are_run_elsewhere() {
    use native::AsyncMode;
    for mode in [AsyncMode::Inline, AsyncMode::Wait, AsyncMode::Suspend, AsyncMode::Auto] {
        let options = Options { async_mode: Some(mode), n_workers: 2, ..Options::default() };
        let (switch, wires) = with_wires(options, 3);
        switch.replace(compile("examples/03-slow-work/slow_work.p4")).unwrap();
        configure(
            &switch,
            "add WorkIngress.stations destination:0x020000000001 forward(port:1)
             add WorkIngress.stations destination:0x020000000002 work_and_forward(port:2,rounds:500)",
        );
        for n in 0..2000 {
            wires[0].send(&frame(1 + (n % 2) as u8, 0xaa, n));
        }
        until("all packets", || wires[1].n_received() == 1000 && wires[2].n_received() == 1000);
        let report = settled(&switch);
        assert_eq!((report.n_received, report.n_sent, report.n_queued), (2000, 2000, 0), "{mode:?}");
        let worked: Vec<Vec<u8>> = (0..2000)
            .filter(|n| n % 2 == 1)
            .map(|n| {
                let mut bytes = frame(2, 0xaa, n);
                let mixed = (1..=500u32).fold(2u32, |mixed, i| mixed.wrapping_mul(33) ^ i);
                bytes[12..14].copy_from_slice(&(mixed as u16).to_be_bytes());
                bytes
            })
            .collect();
        let mut taken = wires[2].take();
        let mut worked = worked;
        if mode == AsyncMode::Auto {
            // What stays with the worker may overtake what does not.
            taken.sort();
            worked.sort();
        }
        assert_eq!(taken, worked, "in order of one offload worker");
        let [block] = &report.asyncs[..] else { panic!("{:?}", report.asyncs) };
        assert_eq!(block.name, "WorkIngress.async1");
        let n_inline = block.n_inline + block.n_full + block.n_no_room;
        let counts = (n_inline, block.n_waited, block.n_done);
        match mode {
            AsyncMode::Inline => assert_eq!(counts, (1000, 0, 0)),
            AsyncMode::Wait => assert_eq!(counts, (0, 1000, 0)),
            AsyncMode::Suspend => assert_eq!(counts, (0, 0, 1000)),
            AsyncMode::Auto => assert_eq!((n_inline + block.n_done, block.n_waited), (1000, 0)),
        }
        assert_eq!(!block.choices.is_empty(), mode == AsyncMode::Auto);
        let metrics = switch.metrics(&[]).unwrap();
        let sent =
            format!("siding_async_sent_packets_total{{block=\"WorkIngress.async1\"}} {}\n", block.n_sent);
        assert!(metrics.contains(&sent), "{metrics}");
        switch.shut_down().unwrap();
    }
}

#[test]
fn names_of_ports() {
    let spec = PortSpec::parse("3@tap:t0").unwrap();
    assert_eq!((spec.number, spec.kind.to_string()), (3, "tap:t0".to_owned()));
    assert_eq!(PortSpec::parse("0@veth0").unwrap().kind.name(), "veth0");
    assert_eq!(PortSpec::parse("0@file:dir/x").unwrap().kind.name(), "x");
    assert!(PortSpec::parse("veth0").unwrap_err().contains("PORT@INTERFACE"));
    assert!(PortSpec::parse("x@veth0").unwrap_err().contains("`x`"));
    assert!(PortSpec::parse("1@").unwrap_err().contains("missing"));
}

/// Of one flow some packets wait for an offload worker, and others do not: they leave as they came if that is wanted.
#[test]
fn packets_of_a_flow_stay_in_order() {
    use native::AsyncMode;
    let options = Options {
        async_mode: Some(AsyncMode::Suspend),
        async_order: Some(true),
        n_offload_workers: Some(1),
        ..Options::default()
    };
    let (switch, wires) = with_wires(options, 3);
    switch.replace(compile("examples/03-slow-work/slow_work.p4")).unwrap();
    configure(
        &switch,
        "add WorkIngress.stations destination:0x020000000001 forward(port:2)
         add WorkIngress.stations destination:0x020000000002 work_and_forward(port:2,rounds:2000)",
    );
    // Two flows, by their addresses; every third packet of each goes to the station that costs work.
    let packet = |n: u32| {
        let mut bytes =
            vec![2, 0, 0, 0, 0, if n.is_multiple_of(3) { 2 } else { 1 }, 2, 0, 0, 0, 0, 9, 0x08, 0x00];
        bytes.extend([0x45, 0, 0, 50, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, (n % 2) as u8]);
        bytes.extend([0, 7, 0, 7, 0, 30, 0, 0]);
        bytes.extend(n.to_be_bytes());
        bytes.resize(64, 0);
        bytes
    };
    let n_packets = 3000;
    for n in 0..n_packets {
        wires[0].send(&packet(n));
    }
    until("all packets", || wires[2].n_received() == n_packets as usize);
    let report = settled(&switch);
    let sums = (report.n_received, report.n_sent, report.n_queued);
    assert_eq!(sums, (u64::from(n_packets), u64::from(n_packets), 0));
    assert_eq!(report.asyncs[0].n_done, 1000, "{:?}", report.asyncs);
    let number = |bytes: &Vec<u8>| u32::from_be_bytes([bytes[42], bytes[43], bytes[44], bytes[45]]);
    let taken: Vec<u32> = wires[2].take().iter().map(number).collect();
    for flow in 0..2 {
        let of_flow: Vec<u32> = taken.iter().copied().filter(|n| n % 2 == flow).collect();
        let expected: Vec<u32> = (0..n_packets).filter(|n| n % 2 == flow).collect();
        assert_eq!(of_flow, expected);
    }
    switch.shut_down().unwrap();
}
