//! Checks of what goes and comes back: interfaces, peers, and the switch itself.

use crate::bench::Bench;
use crate::kinds::{FarEnd, Kind};
use crate::load::{CROSS, ENTRIES, PROGRAM, Stream, exchange, packet};
use crate::net::run as ip;
use crate::patience::until;
use crate::switch::{Process, n, siding, until_up};
use ctl::Request;
use std::path::Path;
use std::process::Stdio;

pub fn run(kind: Kind) {
    let mut bench = Bench::new(kind, &[1, 2]);
    bench.start(PROGRAM, &[1, 2]);
    bench.switch().commands(ENTRIES);
    // Packets of a generator end in the switch.
    bench.switch().commands("add types headers.ethernet.type:0x0800 drop()");
    let mut pair = [Stream::new(1, 2, false), Stream::new(2, 1, false)];
    exchange(&mut bench, &mut pair, 100);
    for _ in 0..2 {
        far_end_returns(&mut bench);
    }
    switch_returns(&mut bench);
}

/// The far end of port 1 goes and comes back; port 2 goes on meanwhile.
fn far_end_returns(bench: &mut Bench) {
    drop(bench.fars.remove(&1));
    match bench.far_end(1) {
        FarEnd::Cable => bench.lab.unplug(bench.place(1)),
        FarEnd::Interface(name) => ip(&format!("-n {} link del {name}", bench.lab.switch())),
        FarEnd::Device(device) => a_peer_is_killed(bench, &device),
    }
    match bench.kind.has_stale_link() {
        None => {
            until("end of the link", || !bench.switch().is_up(1));
            bench.switch_mut().until_told_of_link(1, false);
        }
        Some(why) => println!("{:?}: nobody waits for the end of the link, because {why}", bench.kind),
    }
    assert!(bench.switch().is_up(2));
    exchange(bench, &mut [Stream::new(2, 2, false)], 500);
    packets_to_nowhere_are_counted(bench);
    match bench.far_end(1) {
        FarEnd::Cable => bench.lab.plug(bench.place(1)),
        FarEnd::Interface(name) if bench.kind == Kind::Tap => {
            let namespace = bench.lab.switch();
            ip(&format!("-n {namespace} tuntap add dev {name} mode tap"));
            ip(&format!("-n {namespace} link set {name} up"));
        }
        FarEnd::Interface(_) | FarEnd::Device(_) => {}
    }
    let listening = bench.kind.far_end_is_first().then(|| bench.open_far(1));
    if let Some(why) = bench.kind.needs_operator() {
        println!("{:?}: the port is removed and added, because {why}", bench.kind);
        add_again(bench);
    }
    let far = listening.unwrap_or_else(|| bench.open_far(1));
    bench.fars.insert(1, far);
    bench.until_up(&[1, 2]);
    if bench.kind.has_stale_link().is_none() && bench.kind.needs_operator().is_none() {
        bench.switch_mut().until_told_of_link(1, true);
    }
    exchange(bench, &mut [Stream::new(1, 2, false), Stream::new(2, 1, false)], 500);
}

fn add_again(bench: &Bench) {
    bench.switch().ask(&Request::RemovePort { port: 1 });
    bench.switch().ask(&Request::AddPort { port: bench.port(1) });
}

/// Packets to a port whose far end is gone are counted as lost there.
fn packets_to_nowhere_are_counted(bench: &mut Bench) {
    if bench.kind.leaves_losses_uncounted().is_some() {
        return;
    }
    const N: u64 = 10;
    let n_before = n(&bench.switch().port(1)["tx_lost"]);
    let lost: Vec<_> = (0..N).map(|i| packet(CROSS, i)).collect();
    bench.far(2).send(&lost);
    until("count of lost packets", || n(&bench.switch().port(1)["tx_lost"]) == n_before + N);
}

/// A peer of port 1 that is killed while it sends.
fn a_peer_is_killed(bench: &Bench, device: &str) {
    until("end of the link", || !bench.switch().is_up(1));
    let mut command = siding();
    command.args(["traffic", "--rate", "20k", "--tx", device]);
    command.stdout(Stdio::null());
    let peer = Process::start(&bench.lab.switch(), command);
    if bench.kind.far_end_is_first() {
        let FarEnd::Device(listening) = bench.far_end(1) else { unreachable!("a device") };
        let path = listening.split('=').next_back().expect("a path");
        until("socket", || Path::new(path).exists());
        add_again(bench);
    }
    until_up(bench.switch(), &[1]);
    let before = n(&bench.switch().port(1)["stats"]["rx_packets"]);
    until("packets of the peer", || n(&bench.switch().port(1)["stats"]["rx_packets"]) > before + 1000);
    peer.kill();
}

/// The switch is killed under load and started again.
fn switch_returns(bench: &mut Bench) {
    let mut pair = [Stream::new(1, 2, true), Stream::new(2, 1, true)];
    pair.iter_mut().for_each(|stream| stream.send(bench, 1000));
    bench.kill();
    bench.fars.values_mut().for_each(|far| far.poll(|_| ()));
    bench.start(PROGRAM, &[1, 2]);
    let mut pair = [Stream::new(1, 2, false), Stream::new(2, 1, false)];
    exchange(bench, &mut pair, 1000);
    let totals = bench.switch().totals();
    assert_eq!((n(&totals["received"]), n(&totals["sent"])), (2000, 2000), "{:?}: {totals}", bench.kind);
}
