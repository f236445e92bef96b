//! What tests of the crate share.

use native::{CacheOptions, CompileOptions, Machine, Optimise};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

/// A directory that goes with the test.
pub struct TestDir {
    pub path: PathBuf,
}

impl TestDir {
    pub fn new() -> TestDir {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("siding-pipeline-test-{}-{serial}", process::id()));
        fs::create_dir_all(&path).unwrap();
        TestDir { path }
    }

    /// Compiles fast, into a cache of its own.
    pub fn options(&self) -> CompileOptions {
        CompileOptions {
            optimise: Optimise::Nothing,
            machine: Machine::Any,
            cache: CacheOptions { dir: Some(self.path.join("cache")), ..Default::default() },
            ..Default::default()
        }
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
