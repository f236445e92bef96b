//! Bytes as a `WriteRequest`, decoded by both ways: see [`fuzz::twin`].

#![no_main]

use fuzz::requests::Subject;
use fuzz::twin::Twins;
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;

thread_local! {
    /// Two switches whose tables have records of all kinds.
    static TWINS: RefCell<Twins> = RefCell::new(twins());
}

fn twins() -> Twins {
    let subjects = Subject::with_tables().expect("the programs compile");
    let subject = subjects.last().expect("there is a program");
    Twins::new(subject, 1, false).expect("the program runs")
}

fuzz_target!(|request: &[u8]| {
    TWINS.with_borrow_mut(|twins| {
        if let Err(finding) = twins.answer_alone(request) {
            panic!("{finding}");
        }
    });
});
