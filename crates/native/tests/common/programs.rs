//! Programs compiled for a test.

use crate::common::TestDir;
use native::{BuildOptions, Pipeline, build};
use std::sync::Arc;

/// Compiles a program into a cache that goes with the call.
pub fn compiled(source: &driver::Source) -> (driver::Runnable, Arc<Pipeline>) {
    let mut checked = driver::check(source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable =
        driver::runnable(&mut checked, None).unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let dir = TestDir::new();
    let options = BuildOptions { compile: dir.options(), ..Default::default() };
    let pipeline = build(&runnable.program, &checked.sources, &options).unwrap();
    (runnable, pipeline)
}
