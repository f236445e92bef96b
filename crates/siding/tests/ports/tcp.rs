//! Live TCP between two hosts, through the ports of a kind.

use crate::kinds::{FarEnd, Kind};
use crate::load::PROGRAM;
use crate::net::{Lab, run as ip, transfer};
use crate::switch::{Switch, until_up};

const N_BYTES: usize = 4 << 20;

pub fn run(kind: Kind) {
    let lab = Lab::new(2);
    let dir = tempfile::tempdir().unwrap();
    for n in 1..=2 {
        lab.address(n, &format!("10.0.0.{n}/24"));
    }
    if let Some(why) = kind.needs_checksums() {
        println!("{kind:?}: the hosts compute checksums, because {why}");
        for n in 1..=2 {
            let off = format!("netns exec {} ethtool -K eth0 tx off", lab.host(n));
            ip(&off);
        }
    }
    let start = |name: &str, ports: [String; 2]| {
        let ports: Vec<String> = (1..).zip(ports).map(|(number, port)| format!("{number}@{port}")).collect();
        Switch::start(&lab.switch(), dir.path().join(name), PROGRAM, &ports)
    };
    let port = |place| kind.port(dir.path(), place);
    let switches = match kind.far_end(dir.path(), 1, 1) {
        FarEnd::Cable => vec![start("ctl", [port(1), port(2)])],
        FarEnd::Interface(_) => {
            let switch = start("ctl", [port(1), port(2)]);
            // A bridge joins each interface with the cable of a host.
            for place in 1..=2 {
                let namespace = lab.switch();
                ip(&format!("-n {namespace} link add bridge{place} type bridge"));
                let FarEnd::Interface(name) = kind.far_end(dir.path(), place, 0) else { unreachable!() };
                for name in [name, format!("port{place}")] {
                    ip(&format!("-n {namespace} link set {name} master bridge{place} up"));
                }
                ip(&format!("-n {namespace} link set bridge{place} up"));
            }
            vec![switch]
        }
        // The far end of the port belongs to another switch.
        FarEnd::Device(device) => {
            let near = ["port1".to_owned(), port(1)];
            let far = [device, "port2".to_owned()];
            if kind.far_end_is_first() {
                let far = start("far", far);
                vec![start("near", near), far]
            } else {
                let near = start("near", near);
                vec![start("far", far), near]
            }
        }
    };
    switches.iter().for_each(|switch| until_up(switch, &[1, 2]));
    transfer(&lab, 1, 2, "10.0.0.2", N_BYTES);
    transfer(&lab, 2, 1, "10.0.0.1", N_BYTES);
    for switch in switches {
        let totals = switch.end(|| std::thread::sleep(std::time::Duration::from_millis(2)));
        assert_eq!(totals["balanced"], true, "{kind:?}: {totals}");
    }
}
