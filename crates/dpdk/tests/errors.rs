//! Messages of errors, with what mends each.
//!
//! `SIDING_BLESS=1 cargo test -p dpdk --test errors` writes the expected messages anew; read the difference.

mod common;

use common::{has_dpdk, port};
use dpdk::{DpdkError, Failure, InstallationError, open};
use packet_io::PortId;
use std::fs;
use std::path::Path;

#[test]
fn messages_say_what_mends_it() {
    let log = || "net_x: cannot do it\nEAL: so it ends\n".to_owned();
    let device = |device: &str, failure| DpdkError::Device { device: device.to_owned(), failure };
    let errors = [
        InstallationError::NoPkgConfig.into(),
        InstallationError::NotInstalled.into(),
        InstallationError::TooOld { version: "21.11.9".to_owned() }.into(),
        DpdkError::CannotBuild { reason: "no C compiler was found".to_owned() },
        DpdkError::CannotLoad { object: "/cache/library.so".into(), reason: "no such file".to_owned() },
        DpdkError::CannotStart {
            args: "--no-huge".to_owned(),
            reason: "invalid argument".to_owned(),
            log: log(),
        },
        device("", Failure::BadName),
        device(
            "net_foo0",
            Failure::UnknownDriver { drivers: vec!["net_memif".to_owned(), "net_tap".to_owned()] },
        ),
        device("net_foo0", Failure::UnknownDriver { drivers: Vec::new() }),
        device("0000:00:04.0", Failure::NoPciDevice { log: String::new() }),
        device("0000:00:04.0", Failure::NoPciDevice { log: log() }),
        device("0000:00:04.0", Failure::NoHugePages),
        device("net_ring0", Failure::InUse),
        device("net_tap0,iface=x", Failure::Busy { log: log() }),
        device("net_af_packet0,iface=x", Failure::NotPermitted { log: log() }),
        device("net_ring0", Failure::NoMemory { has_huge_pages: true }),
        device("net_ring0", Failure::NoMemory { has_huge_pages: false }),
        device("net_ring0", Failure::TooManyQueues { n_wanted: 4, n_max: 1 }),
        device("net_memif0,role=x", Failure::BadArguments { log: log() }),
        device(
            "net_memif0,sokcet=/run/m",
            Failure::UnknownArgument { argument: "sokcet".to_owned(), known: &["role", "socket"] },
        ),
        device(
            "net_ring0",
            Failure::Other { step: "start it".to_owned(), reason: "no such device".to_owned(), log: log() },
        ),
    ];
    let text: String = errors.iter().map(|error| format!("{error}\n")).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages.txt");
    if std::env::var_os("SIDING_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{} differs; SIDING_BLESS=1 rewrites it", path.display());
}

#[test]
fn devices_that_cannot_be_opened_say_why() {
    if !has_dpdk() {
        return;
    }
    let failure = |device: &str| match open(PortId(1), device) {
        Err(DpdkError::Device { failure, device: of }) if of == device => failure,
        other => panic!("{device}: {other:?}"),
    };
    assert_eq!(failure(""), Failure::BadName);
    assert_eq!(failure(",role=server"), Failure::BadName);
    assert_eq!(failure("net_null0\0"), Failure::BadName);
    let Failure::UnknownDriver { drivers } = failure("net_mmif0,role=server") else { panic!() };
    assert!(drivers.contains(&"net_memif".to_owned()), "{drivers:?}");
    let Failure::UnknownDriver { drivers } = failure("veth0") else { panic!() };
    assert!(
        ["net_memif", "net_ring", "net_virtio_user"].iter().all(|name| drivers.contains(&(*name).into())),
        "{drivers:?}"
    );
    let Failure::BadArguments { log } = failure("net_memif_role,role=x") else { panic!() };
    assert!(log.contains("Unknown role: x"), "{log}");
    assert!(matches!(failure("net_pcap_word,colour=red"), Failure::BadArguments { .. }));
    assert!(
        matches!(failure("net_memif_word,sokcet=/x"), Failure::UnknownArgument { argument, .. } if argument == "sokcet")
    );
    assert!(matches!(failure("ffff:ff:1e.6"), Failure::NoPciDevice { .. }));

    let first = port("net_null_twice");
    assert_eq!(failure("net_null_twice,size=100"), Failure::InUse);
    // The first one is still good, and the name is free after it.
    drop(first);
    port("net_null_twice,size=100");

    // Names of interfaces that do not exist are the driver's to refuse.
    for device in ["net_af_packet_none,iface=no-such-if", "net_pcap_none,rx_pcap=/no/such/file"] {
        let failure = failure(device);
        assert!(
            matches!(failure, Failure::BadArguments { .. } | Failure::Other { .. }),
            "{device}: {failure:?}"
        );
    }
}
