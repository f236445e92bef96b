//! `siding bench`: see crate `bench`.

pub use bench::run;
