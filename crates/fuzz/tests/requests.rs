//! Some sessions of random requests in each test run.

use fuzz::oracle;
use fuzz::requests::{Session, Subject};
use std::collections::BTreeSet;

const N_SESSIONS: u64 = 12;

#[test]
fn requests_of_all_programs() {
    oracle::catch_panics();
    let mut codes = BTreeSet::new();
    for subject in Subject::all().unwrap() {
        for seed in 0..N_SESSIONS {
            let ran = Session::new(&subject, seed).and_then(|mut session| session.run(&subject));
            match ran {
                Ok(counts) => codes.extend(counts.into_keys()),
                Err(finding) => panic!("{}, seed {seed}: {finding}", subject.name),
            }
        }
    }
    // Requests are good and bad in every way.
    let wanted = [
        "ABORTED",
        "ALREADY_EXISTS",
        "INVALID_ARGUMENT",
        "NOT_FOUND",
        "OK",
        "OUT_OF_RANGE",
        "PERMISSION_DENIED",
        "UNIMPLEMENTED",
    ];
    assert!(wanted.iter().all(|code| codes.contains(code)), "{codes:?}");
}
