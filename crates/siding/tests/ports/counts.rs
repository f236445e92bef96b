//! Checks of counts: under a flood, while things change, and at the end.

use crate::bench::Bench;
use crate::far::Far;
use crate::kinds::{FarEnd, Kind};
use crate::load::{ANSWER, Accounts, DROP, ENTRIES, PROGRAM, Stream, exchange, packet, poll, read, settle};
use crate::patience::until;
use crate::switch::{n, siding_root, sum, tell};
use ctl::Request;
use std::sync::atomic::{AtomicBool, Ordering};

/// More than any ring and queue between the far ends holds.
const N_FLOOD: u64 = 5000;
/// How often each change is made under load.
const N_ROUNDS: u32 = 2;

pub fn run(kind: Kind) {
    let n_spare = if kind.opens_once().is_some() { 2 * N_ROUNDS } else { 1 };
    let numbers: Vec<u32> = (1..=2 + n_spare).collect();
    let mut bench = Bench::new(kind, &numbers);
    bench.start(PROGRAM, &[1, 2]);
    bench.switch().commands(ENTRIES);
    nothing_is_lost(&mut bench);
    a_receiver_sleeps(&mut bench);
    the_switch_sleeps(&mut bench);
    let mut past = Accounts::default();
    changes_lose_nothing(&mut bench, &mut past);
    changes_in_a_flood(&mut bench, &mut past);
    the_end_loses_nothing(bench, &past);
}

/// With few packets under way nothing is lost, and everything is counted where it belongs.
fn nothing_is_lost(bench: &mut Bench) {
    let mut streams = [Stream::new(1, 2, false), Stream::new(2, 1, false)];
    const N: u64 = 1000;
    for _ in 0..10 {
        exchange(bench, &mut streams, N / 10);
        let dropped: Vec<_> = (0..10).map(|i| packet(DROP, i)).collect();
        bench.far(1).send(&dropped);
    }
    let accounts = settle(bench, &mut streams, &Accounts::default());
    let expected = Accounts {
        n_offered: 2 * N + 100,
        n_received: 2 * N + 100,
        n_dropped: 100,
        n_sent: 2 * N,
        n_arrived: 2 * N,
        ..Accounts::default()
    };
    assert_eq!(accounts, expected, "{:?}", bench.kind);
    assert_eq!(bench.switch().totals()["dropped"]["ingress_drop"], 100);
}

/// Packets for a far end that takes none are too many for the link.
fn a_receiver_sleeps(bench: &mut Bench) {
    let mut streams = [Stream::new(1, 2, true)];
    streams[0].send(bench, N_FLOOD);
    let accounts = settle(bench, &mut streams, &Accounts::default());
    println!("{:?}, a receiver sleeps: {accounts:?}", bench.kind);
    assert!(streams[0].n_arrived < N_FLOOD, "{:?}: {accounts:?}", bench.kind);
}

/// Packets for a switch that does not run wait in front of it, as far as there is room.
fn the_switch_sleeps(bench: &mut Bench) {
    let mut streams = [Stream::new(1, 2, true)];
    bench.switch().signal("STOP");
    streams[0].send(bench, N_FLOOD);
    bench.switch().signal("CONT");
    let accounts = settle(bench, &mut streams, &Accounts::default());
    let n_refused = bench.far(1).n_refused();
    println!("{:?}, the switch sleeps: {n_refused} refused, {accounts:?}", bench.kind);
    let is_counted = bench.kind.leaves_losses_uncounted().is_none();
    assert!(!is_counted || n_refused + accounts.n_lost_before > 0, "{:?}: {accounts:?}", bench.kind);
    assert!(streams[0].n_arrived > 0);
}

/// Does to a running switch what operators do, until it is done; `meanwhile` runs all the time. `first` is the first interface that
/// is added, where each round needs another one.
fn while_things_change(
    bench: &mut Bench,
    past: &mut Accounts,
    first: u32,
    mut meanwhile: impl FnMut(&mut Bench),
) {
    let socket = bench.switch().socket.clone();
    let kind = bench.kind;
    // The port that comes and goes, in each round.
    if let Some(why) = kind.opens_once() {
        println!("{kind:?}: each round adds another interface, because {why}");
    }
    let spare = (0..N_ROUNDS).map(|round| {
        let number = if kind.opens_once().is_some() { first + round } else { 3 };
        (number, bench.port(number), bench.far_end(number), bench.far_namespace(number))
    });
    let spare: Vec<_> = spare.collect();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let changes = scope.spawn(|| {
            let commands = |text: &str| tell(&socket, &Request::Commands { text: text.to_owned() });
            for (number, port, far_end, namespace) in &spare {
                let open = || Far::open(far_end, namespace);
                tell(&socket, &Request::Replace { program: siding_root().join(PROGRAM), keep_entries: true });
                for i in 0..10 {
                    commands(&format!("add types headers.ethernet.type:{} drop()", 0x9000 + i));
                }
                commands("add types headers.ethernet.type:0x88b5 cross()\nsetdefault types drop()");
                let listening = kind.far_end_is_first().then(open);
                tell(&socket, &Request::AddPort { port: port.clone() });
                let mut far = listening.unwrap_or_else(open);
                for i in 0..10 {
                    commands(&format!("remove types headers.ethernet.type:{}", 0x9000 + i));
                }
                commands("setdefault types cross()\nremove types headers.ethernet.type:0x88b5");
                // The answer may be among the losses that nobody counts.
                let is_answered = kind.leaves_losses_uncounted().is_none();
                until("answer", || {
                    if !is_answered {
                        return true;
                    }
                    if far.is_up() && far.n_sent() == 0 {
                        far.send(&[packet(ANSWER, 0)]);
                    }
                    far.poll(|bytes| assert_eq!(read(bytes), (ANSWER, 0)));
                    far.n_received() == 1
                });
                tell(&socket, &Request::SetPort { port: *number, is_enabled: false });
                tell(&socket, &Request::RemovePort { port: *number });
                past.add_far(&mut far);
            }
            is_over.store(true, Ordering::SeqCst);
        });
        while !is_over.load(Ordering::SeqCst) && !changes.is_finished() {
            meanwhile(bench);
        }
        changes.join().unwrap();
    });
}

/// Another program, other entries and other ports cost no packet.
fn changes_lose_nothing(bench: &mut Bench, past: &mut Accounts) {
    let mut streams = [Stream::new(1, 2, false), Stream::new(2, 1, false)];
    let before = settle(bench, &mut streams, past);
    while_things_change(bench, past, 3, |bench| exchange(bench, &mut streams, 100));
    let after = settle(bench, &mut streams, past);
    let n = streams.iter().map(|stream| stream.n_sent).sum::<u64>() + past.n_offered;
    println!("{:?}: {n} packets while things changed", bench.kind);
    // Packets of others, which the program drops.
    let mut n_overheard = 0;
    if let Some(why) = bench.kind.hears_others() {
        n_overheard = after.n_dropped - before.n_dropped;
        println!("{:?}: {n_overheard} packets were overheard, because {why}", bench.kind);
    }
    let expected = Accounts {
        n_offered: before.n_offered + n,
        n_received: before.n_received + n + n_overheard,
        n_dropped: before.n_dropped + n_overheard,
        n_sent: before.n_sent + n,
        n_arrived: before.n_arrived + n,
        ..before
    };
    assert_eq!(after, expected, "{:?}", bench.kind);
}

/// In a flood, what is lost is counted.
fn changes_in_a_flood(bench: &mut Bench, past: &mut Accounts) {
    let mut streams = [Stream::new(1, 2, true), Stream::new(2, 1, true)];
    while_things_change(bench, past, 3 + N_ROUNDS, |bench| {
        streams.iter_mut().for_each(|stream| stream.send(bench, 32));
        poll(bench, &mut streams);
    });
    let accounts = settle(bench, &mut streams, past);
    println!("{:?}, changes in a flood: {accounts:?}", bench.kind);
}

/// A switch that is told to end sends what it has taken.
fn the_end_loses_nothing(mut bench: Bench, past: &Accounts) {
    let mut streams = [Stream::new(1, 2, true), Stream::new(2, 1, true)];
    let n_before = n(&bench.switch().totals()["received"]);
    let mut switch = Some(bench.take_switch());
    until("load", || {
        streams.iter_mut().for_each(|stream| stream.send(&mut bench, 32));
        poll(&mut bench, &mut streams);
        n(&switch.as_ref().unwrap().totals()["received"]) > n_before + 1000
    });
    let totals = switch.take().unwrap().end(|| {
        streams.iter_mut().for_each(|stream| stream.send(&mut bench, 32));
        poll(&mut bench, &mut streams);
    });
    poll(&mut bench, &mut streams);
    assert_eq!((&totals["balanced"], &totals["queued"]), (&true.into(), &0.into()), "{totals}");
    let accounts = Accounts::new(&totals, &mut bench, past);
    println!("{:?}, at the end: {accounts:?}", bench.kind);
    let is_exact = !matches!(bench.far_end(1), FarEnd::Interface(_));
    if !is_exact {
        println!(
            "{:?}: the interface ends with the switch, and with it packets that nobody has read",
            bench.kind
        );
    }
    let n_seen = accounts.n_arrived + accounts.n_lost_behind;
    assert!(accounts.is_even_inside() || !is_exact && n_seen <= accounts.n_sent, "{accounts:#?}\n{totals:#}");
    let n_in = accounts.n_received + sum(&totals["rx_lost"]);
    assert!(bench.kind.hears_others().is_some() || n_in <= accounts.n_offered, "{accounts:?}");
}
