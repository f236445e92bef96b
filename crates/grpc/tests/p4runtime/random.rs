//! The models against the interpreter. Crate `siding` has them against compiled code.

use crate::bench::Bench;
use crate::desk::Desk;
use crate::models;

#[test]
fn e04_what_is_written_comes_back() {
    models::what_is_written_comes_back(&Desk::new());
}

#[test]
fn d04_histories_of_three_writers_and_a_reader_are_serialisable() {
    models::histories_are_serialisable(&Desk::new());
}

#[test]
fn a07_b02_three_controllers_behave_like_their_model() {
    for seed in 1..=4 {
        models::controllers_behave_like_their_model(Bench::running().0, Some(1), seed);
    }
}
