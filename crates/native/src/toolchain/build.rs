//! From a program to a pipeline: C text, compiled, loaded.

use crate::toolchain::cache::discard;
use crate::toolchain::compile::{CompileError, CompileOptions, compile};
use crate::toolchain::load::{LoadError, Pipeline};
use arch::{Architecture, ExternOp};
use diagnostics::SourceMap;
use externs::{BindError, ExternSet};
use ir::Program;
use std::sync::Arc;

/// Options of a build, from the program to the pipeline.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    pub generate: codegen::Options,
    pub compile: CompileOptions,
    /// Implementations of extern functions and methods that are not the architecture's.
    pub externs: ExternSet,
}

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error(transparent)]
    Compile(#[from] CompileError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Externs(#[from] BindError),
}

/// Generates C for a valid program, compiles it or finds what was compiled before, and loads it.
pub fn build(
    program: &Program,
    sources: &SourceMap,
    options: &BuildOptions,
) -> Result<Arc<Pipeline>, BuildError> {
    let text = codegen::generate(program, sources, &options.generate);
    build_text_with(&text, &options.compile, &options.externs, program.architecture)
}

/// Builds C text that was generated for a program of this architecture.
pub fn build_text_with(
    text: &str,
    compile: &CompileOptions,
    externs: &ExternSet,
    architecture: Architecture,
) -> Result<Arc<Pipeline>, BuildError> {
    let mut pipeline = load_text(text, compile)?;
    let calls = pipeline.signatures();
    let is_user = |name: &str| architecture.function(name) == ExternOp::User;
    externs.check_complete(calls.iter().filter(|call| is_user(&call.name)))?;
    pipeline.set_externs(externs.bind(&calls)?);
    Ok(Arc::new(pipeline))
}

/// Builds C text, with the built-in externs only.
pub fn build_text(text: &str, options: &CompileOptions) -> Result<Arc<Pipeline>, BuildError> {
    let mut pipeline = load_text(text, options)?;
    pipeline.set_externs(ExternSet::new().bind(&pipeline.signatures())?);
    Ok(Arc::new(pipeline))
}

/// Compiles and loads. An object of the cache that cannot be loaded is removed and compiled once more: the cache may
/// have been emptied meanwhile, or the compiler may have written a bad file.
fn load_text(text: &str, options: &CompileOptions) -> Result<Pipeline, BuildError> {
    let load = || -> Result<Pipeline, BuildError> {
        let cached = compile(text, options)?;
        let loaded = Pipeline::load(&cached);
        if matches!(loaded, Err(LoadError::CannotLoad { .. })) {
            discard(&cached);
        }
        Ok(loaded?)
    };
    match load() {
        Err(BuildError::Load(LoadError::CannotLoad { .. })) => load(),
        other => other,
    }
}
