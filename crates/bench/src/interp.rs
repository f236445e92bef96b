//! `siding bench interp`: packets a second through the learning switch of the examples.

use crate::args::BenchInterpArgs;
use crate::examples::L2_SWITCH;
use console::output::{self, Exit};
use interp::Silent;
use interp::Switch;
use interp::table::NewEntry;
use interp::traffic::Config;
use ir::{Action, Bits, Match};
use std::time::Instant;

/// Bytes of every packet.
const PACKET_BYTES: usize = 64;
const PORTS: u64 = 8;

pub fn run(args: &BenchInterpArgs) -> Exit {
    let mut switch = match learned(args.entries) {
        Ok(switch) => switch,
        Err(message) => {
            output::error_line(&message);
            return Exit::Bug;
        }
    };
    let packets = packets(args.entries, args.packets);
    let mut rates = Vec::new();
    let (mut n_sent, mut n_all) = (0, 0);
    for _ in 0..args.runs.max(1) {
        let start = Instant::now();
        for (port, packet) in &packets {
            n_sent += switch.inject(*port, packet, &mut Silent).len();
        }
        n_all += packets.len();
        rates.push(packets.len() as f64 / start.elapsed().as_secs_f64().max(1e-9));
    }
    rates.sort_by(f64::total_cmp);
    let median = rates[rates.len() / 2];
    if args.json {
        let value = serde_json::json!({
            "version": 1,
            "siding": env!("CARGO_PKG_VERSION"),
            "optimized": !cfg!(debug_assertions),
            "program": "l2_switch.p4",
            "entries": args.entries,
            "packets": packets.len(),
            "packets_per_second": { "median": median, "all": rates },
            "sent": n_sent,
            "received": n_all,
        });
        output::out(&format!("{value}\n"));
        return Exit::Ok;
    }
    if cfg!(debug_assertions) {
        output::warning_line("this is a debug build");
    }
    output::out(&format!(
        "l2_switch.p4, {} addresses: {median:.0} packets a second on one core (median of {} runs)\n",
        args.entries,
        rates.len()
    ));
    Exit::Ok
}

/// The station with number `n`.
pub fn address(n: u64) -> u64 {
    0x0200_0000_0000 | n.wrapping_mul(0x9e37_79b9) & 0xffff_ffff
}

pub fn port_of(n: u64) -> u64 {
    n % PORTS
}

/// A switch that knows so many stations.
fn learned(n_entries: u64) -> Result<Switch, String> {
    let runnable = L2_SWITCH.load().map_err(|_| "the example cannot be run")?.runnable;
    let mut config = Config::default();
    config.load.table_size = n_entries.max(config.load.table_size);
    let mut program = runnable.program;
    for (_, table) in program.tables.iter_mut() {
        table.size = Some(n_entries.max(1));
    }
    let mut switch = interp::switch(program, config).map_err(|e| e.to_string())?;
    let tables: Vec<_> = switch.program().tables.iter().map(|(id, t)| (id, t.name.clone())).collect();
    let find = |end: &str| tables.iter().find(|(_, n)| n.ends_with(end)).map(|(id, _)| *id);
    let (smac, dmac) = find("smac").zip(find("dmac")).ok_or("the example has no tables")?;
    for n in 0..n_entries {
        let exact = |width, value: u64| Some(Match::Exact(Bits::new(width, u128::from(value))));
        let known = Action { index: 0, data: Vec::new() };
        let forward = Action { index: 0, data: vec![Bits::new(9, u128::from(port_of(n)))] };
        let source = vec![exact(48, address(n)), exact(9, port_of(n))];
        let inserted = switch.runner.tables.insert(smac, NewEntry::new(source, 0, known), 0).and_then(|_| {
            switch.runner.tables.insert(dmac, NewEntry::new(vec![exact(48, address(n))], 0, forward), 0)
        });
        inserted.map_err(|e| format!("entry {n}: {e}"))?;
    }
    Ok(switch)
}

/// Between stations that the switch knows, in an order that repeats only after all pairs of neighbours.
pub fn packets(n_entries: u64, n_packets: usize) -> Vec<(u32, Vec<u8>)> {
    let n_entries = n_entries.max(1);
    (0..n_packets as u64)
        .map(|i| {
            let (from, to) = (i.wrapping_mul(7919) % n_entries, (i.wrapping_mul(104_729) + 1) % n_entries);
            let mut packet = vec![0; PACKET_BYTES];
            packet[..6].copy_from_slice(&address(to).to_be_bytes()[2..]);
            packet[6..12].copy_from_slice(&address(from).to_be_bytes()[2..]);
            packet[12..14].copy_from_slice(&[0x08, 0x00]);
            (port_of(from) as u32, packet)
        })
        .collect()
}
