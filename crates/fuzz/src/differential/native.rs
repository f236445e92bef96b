//! Native code as a subject: generated C, by each compiler, without and with optimisation.

use super::cases::BURST_MAX;
use super::{Compiled, Subject, SubjectKind};
use arch::ExternOp;
use diagnostics::SourceMap;
use ir::StmtKind;
use native::compile::{PROGRAM_DEFINE, write_runtime};
use native::{
    BuildOptions, BurstPath, CompileOptions, Instance, InstanceOptions, Native, NativeError, OffloadWorker,
    Optimise, Pipeline,
};
use std::cell::RefCell;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use target::Device;
use testkit::{BlockByBlock, Buffers, Dut, FastPath, Offload};

/// A compiler, how much it optimises, and the ways of packets through what it makes.
pub type Compilation = [SubjectKind; 5];

macro_rules! compilation {
    ($name:literal, $compiler:literal, $optimise:expr) => {
        [
            SubjectKind { name: $name, make: |c| subject(c, $compiler, $optimise, Way::PacketByPacket) },
            SubjectKind {
                name: concat!($name, "-segments"),
                make: |c| subject(c, $compiler, $optimise, Way::Segments),
            },
            SubjectKind {
                name: concat!($name, "-mixed"),
                make: |c| subject(c, $compiler, $optimise, Way::Mixed),
            },
            SubjectKind {
                name: concat!($name, "-blocks"),
                make: |c| subject(c, $compiler, $optimise, Way::Blocks),
            },
            SubjectKind {
                name: concat!($name, "-backend"),
                make: |c| subject(c, $compiler, $optimise, Way::OffloadWorker),
            },
        ]
    };
}

pub const GCC_O0: Compilation = compilation!("gcc-O0", "gcc", Optimise::Nothing);
pub const GCC_O3: Compilation = compilation!("gcc-O3", "gcc", Optimise::Most);
pub const CLANG_O0: Compilation = compilation!("clang-O0", "clang", Optimise::Nothing);
pub const CLANG_O3: Compilation = compilation!("clang-O3", "clang", Optimise::Most);

pub const ALL: &[Compilation] = &[GCC_O0, CLANG_O3, GCC_O3, CLANG_O0];

/// The order of compilations; quick compilers come more often.
pub const TURNS: &[Compilation] = &[
    GCC_O0, CLANG_O0, GCC_O0, CLANG_O0, GCC_O3, CLANG_O0, GCC_O0, CLANG_O0, //
    GCC_O0, CLANG_O0, GCC_O0, CLANG_O0, CLANG_O3, CLANG_O0, GCC_O0, CLANG_O0,
];

/// The path of packets through compiled code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Bursts on the fast path.
    PacketByPacket,
    /// Bursts whose packets suspend at tables.
    Segments,
    /// Like `Segments`, but large programs suspend at every second table only.
    Mixed,
    /// Single packets, block by block.
    Blocks,
    /// Single packets, with asynchronous blocks at an offload worker.
    OffloadWorker,
}

/// Time limit of a compilation; generous, for busy machines.
const COMPILES_FOR: Duration = Duration::from_secs(1800);

/// Buffers of packets on the fast path: headroom so small that some programs need more, and no room behind a packet.
const SCARCE: Buffers = Buffers { headroom_bytes: 48, packet_bytes: 0 };

/// Headroom of packets that suspend; enough for most contexts.
const HEADROOM_BYTES_TO_SUSPEND: usize = 1024;

/// Returns the directory in which this process compiles programs.
fn cache_dir() -> PathBuf {
    std::env::temp_dir().join(format!("siding-differential-{}", std::process::id()))
}

/// Removes the files of compilation.
pub fn clean_up() {
    // The directory may not exist.
    let _ = std::fs::remove_dir_all(cache_dir());
}

fn build(program: &ir::Program, compiler: &'static str, optimise: Optimise) -> Result<Arc<Pipeline>, String> {
    let mut options = BuildOptions::default();
    options.generate.line_directives = false;
    options.compile.compiler = Some(PathBuf::from(compiler));
    options.compile.optimise = optimise;
    options.compile.cache.dir = Some(cache_dir());
    options.compile.time_limit = COMPILES_FOR;
    // Nobody reads them, and they take time.
    options.compile.extra_flags.push("-w".to_string());
    options.compile.program_flags = with_headers(compiler, &options.compile)
        .unwrap_or_else(|why| super::interpreted::panic_with(&format!("{compiler}: {why}")));
    let built = match native::build(program, &SourceMap::new(), &options) {
        Ok(built) => built,
        Err(native::BuildError::Compile(native::CompileError::Compiler(why))) => {
            return Err(why.to_string());
        }
        // C that its compiler refuses is a finding.
        Err(why) => super::interpreted::panic_with(&format!("{compiler}: {why}")),
    };
    // It is loaded; thousands of files would be in the way.
    if let Some(dir) = built.source().parent() {
        let _ = std::fs::remove_dir_all(dir);
    }
    Ok(built)
}

/// Flags for programs whose headers the compiler has read once, before all of them.
fn with_headers(compiler: &str, options: &CompileOptions) -> std::io::Result<Vec<String>> {
    let is_clang = compiler == "clang";
    let dir = cache_dir().join(format!("{compiler}-{:?}", options.optimise));
    let compiled = dir.join(if is_clang { "sd_runtime.h.pch" } else { "sd_runtime.h.gch" });
    if !compiled.exists() {
        std::fs::create_dir_all(&dir)?;
        write_runtime(&dir)?;
        let header = dir.join("sd_runtime.h");
        let mut command = Command::new(compiler);
        command.args(options.flags()).args([PROGRAM_DEFINE, "-x", "c-header", "-I"]).arg(&dir);
        let output = command.arg(header).arg("-o").arg(&compiled).output()?;
        if !output.status.success() {
            return Err(std::io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
    }
    let mut flags = vec!["-I".to_string(), dir.display().to_string()];
    if is_clang {
        flags.extend(["-include-pch".to_string(), compiled.display().to_string()]);
    }
    Ok(flags)
}

/// A program that was compiled, and what it was compiled from.
struct Last {
    from: Arc<ir::Program>,
    compiler: &'static str,
    optimise: Optimise,
    program: Arc<ir::Program>,
    built: Arc<Pipeline>,
}

thread_local! {
    /// A case that is made smaller runs many times on the same program.
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

fn subject(
    compiled: &Compiled,
    compiler: &'static str,
    optimise: Optimise,
    way: Way,
) -> Result<Subject, String> {
    let is_it = |l: &Last| {
        Arc::ptr_eq(&l.from, &compiled.program) && l.compiler == compiler && l.optimise == optimise
    };
    let last = LAST.take().filter(is_it);
    let last = match last {
        Some(last) => last,
        None => {
            let program = super::interpreted::passed(compiled)?;
            let built = build(&program, compiler, optimise)?;
            Last { from: Arc::clone(&compiled.program), compiler, optimise, program, built }
        }
    };
    let (program, built) = (Arc::clone(&last.program), Arc::clone(&last.built));
    LAST.set(Some(last));
    let config = super::config();
    let options = InstanceOptions {
        n_workers: if way == Way::OffloadWorker { 2 } else { 1 },
        seed: config.seed,
        path: match way {
            Way::Segments => BurstPath::Segments,
            Way::Mixed => BurstPath::Mixed,
            Way::PacketByPacket | Way::Blocks | Way::OffloadWorker => BurstPath::PacketByPacket,
        },
        table_size: config.load.table_size,
    };
    if way == Way::OffloadWorker && !built.layout().has_async() {
        return Err("no packet waits for a backend".to_string());
    }
    let new = || {
        let instance = Instance::new(built, program, options)?;
        let native = Native::new(&instance, config.load.step_budget)?;
        let worker = instance.take_worker();
        let device = Device::new(native, Arc::clone(&compiled.schema), config.clone())?;
        Ok::<_, NativeError>((device, worker))
    };
    let (device, worker) = new().map_err(|e| e.to_string())?;
    let (dut, burst_max): (Box<dyn Dut>, usize) = match (way, worker) {
        (Way::OffloadWorker, Some(worker)) => {
            let worker = OffloadWorker::new(worker).map_err(|e| e.to_string())?;
            let burst_max = if keeps_state(&compiled.program) { 1 } else { BURST_MAX };
            let capacity = burst_max as u32;
            let offload = Offload::new(device, worker, &config, capacity, HEADROOM_BYTES_TO_SUSPEND);
            (Box::new(offload.map_err(|e| e.to_string())?), burst_max)
        }
        (Way::OffloadWorker, None) => return Err("no worker is left".to_string()),
        (Way::Blocks, _) => (Box::new(BlockByBlock::new(device)), 1),
        (Way::PacketByPacket | Way::Segments | Way::Mixed, _) => {
            (Box::new(FastPath::with_buffers(device, SCARCE)), BURST_MAX)
        }
    };
    Ok(Subject { dut, burst_max })
}

/// True if a packet may leave state for the next ones, or if the order of packets shows in what they leave.
fn keeps_state(program: &ir::Program) -> bool {
    let keeps = |op: ExternOp| {
        matches!(
            op,
            ExternOp::RegisterRead
                | ExternOp::RegisterGet
                | ExternOp::RegisterWrite
                | ExternOp::MeterExecute
                | ExternOp::DirectMeterRead
                | ExternOp::Random
                | ExternOp::Digest
                | ExternOp::AddEntry
                | ExternOp::SetTimer
                | ExternOp::StoreData
                | ExternOp::UpdateData
                | ExternOp::AllocateFlowId
        )
    };
    let stmts = program.graphs().flat_map(|g| g.nodes.iter()).flat_map(|(_, node)| &node.stmts);
    stmts.into_iter().any(|stmt| match &stmt.kind {
        StmtKind::Extern { op, .. } => keeps(*op),
        StmtKind::Assign { .. } | StmtKind::Emit(_) | StmtKind::ZeroIfInvalid(_) => false,
    })
}
