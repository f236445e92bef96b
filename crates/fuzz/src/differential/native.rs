//! Native code as a subject: generated C, by each compiler, without and with optimisation.

use super::on_device::{OnDevice, Quiet, sent};
use super::{Compiled, Sent, Subject, SubjectKind, Totals};
use control::{Data, DigestId, Entity, Fault, Query, Update};
use device::traffic::Destination;
use device::{Config, Device};
use diagnostics::SourceMap;
use pipeline::{BuildOptions, BurstPacket, Bursts, Fate, Listener, Native, Optimise, Path};
use std::path::PathBuf;

pub const GCC_O0: SubjectKind =
    SubjectKind { name: "gcc-O0", make: |c| subject(c, "gcc", Optimise::Nothing, Path::Straight) };
pub const GCC_O3: SubjectKind =
    SubjectKind { name: "gcc-O3", make: |c| subject(c, "gcc", Optimise::Most, Path::Straight) };
pub const CLANG_O0: SubjectKind =
    SubjectKind { name: "clang-O0", make: |c| subject(c, "clang", Optimise::Nothing, Path::Slow) };
pub const CLANG_O3: SubjectKind =
    SubjectKind { name: "clang-O3", make: |c| subject(c, "clang", Optimise::Most, Path::Straight) };

pub const ALL: &[SubjectKind] = &[GCC_O0, CLANG_O3, GCC_O3, CLANG_O0];

/// Room in front of a packet: little, so that some programs need more.
const HEADROOM_BYTES: usize = 48;

impl Quiet for Native {
    fn quietly<R>(f: impl FnOnce(&mut (dyn Listener + '_)) -> R) -> R {
        f(&mut ())
    }
}

/// Where programs of this process are compiled.
fn cache_dir() -> PathBuf {
    std::env::temp_dir().join(format!("siding-differential-{}", std::process::id()))
}

/// Removes what compilation has left behind.
pub fn clean_up() {
    // Nothing there is as good.
    let _ = std::fs::remove_dir_all(cache_dir());
}

fn subject(
    compiled: &Compiled,
    compiler: &str,
    optimise: Optimise,
    path: Path,
) -> Result<Box<dyn Subject>, String> {
    let program = super::interpreted::passed(compiled)?;
    let mut options = BuildOptions::default();
    options.generate.line_directives = false;
    options.compile.compiler = Some(PathBuf::from(compiler));
    options.compile.optimise = optimise;
    options.compile.cache.dir = Some(cache_dir());
    let built = match pipeline::build(&program, &SourceMap::new(), &options) {
        Ok(built) => built,
        Err(pipeline::BuildError::Compile(pipeline::CompileError::Compiler(why))) => {
            return Err(why.to_string());
        }
        // C that its compiler refuses is a finding.
        Err(why) => super::interpreted::panic_with(&format!("{compiler}: {why}")),
    };
    // It is loaded; thousands of files would be in the way.
    if let Some(dir) = built.source().parent() {
        let _ = std::fs::remove_dir_all(dir);
    }
    let config = Config::default();
    let device =
        pipeline::native_device(built, program, std::sync::Arc::clone(&compiled.schema), config.clone())
            .map_err(|e| e.to_string())?;
    Ok(match path {
        Path::Slow => Box::new(OnDevice { device }),
        Path::Straight => Box::new(OnStraight { bursts: Bursts::new(&config), on: OnDevice { device } }),
    })
}

/// A native device whose packets go straight through.
struct OnStraight {
    on: OnDevice<Native>,
    bursts: Bursts,
}

impl Subject for OnStraight {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        self.on.write(update)
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        self.on.read(query)
    }

    fn receive(&mut self, port: u32, bytes: &[u8]) -> Vec<Sent> {
        let mut storage = vec![0; HEADROOM_BYTES];
        storage.extend_from_slice(bytes);
        let mut burst = [BurstPacket::new(&mut storage, HEADROOM_BYTES, bytes.len(), port)];
        let mut outputs = Vec::new();
        let Device { switch, .. } = &mut self.on.device;
        let now_ns = switch.now_ns();
        self.bursts.process(switch, now_ns, &mut burst, Path::Straight, &mut (), &mut outputs);
        let mut all = Vec::new();
        if let [packet] = &burst
            && let Fate::Sent(destination) = packet.fate()
        {
            let port = match destination {
                Destination::Port(port) => Some(port),
                Destination::Controller => None,
            };
            all.push(Sent { port, bytes: packet.bytes().to_vec() });
        }
        all.extend(sent(outputs));
        all
    }

    fn advance_clock(&mut self, ns: u64) -> Vec<Sent> {
        self.on.advance_clock(ns)
    }

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        self.on.take_digests()
    }

    fn totals(&self) -> Totals {
        self.on.totals()
    }
}
