//! From a program to a pipeline: C text, compiled, loaded.

use crate::compile::{CompileError, CompileOptions, compile};
use crate::load::{LoadError, Pipeline};
use diagnostics::SourceMap;
use ir::Program;
use std::sync::Arc;

/// How a program becomes a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuildOptions {
    pub generate: codegen::Options,
    pub compile: CompileOptions,
}

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error(transparent)]
    Compile(#[from] CompileError),
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// Generates C for a valid program, compiles it or finds what was compiled before, and loads it.
pub fn build(
    program: &Program,
    sources: &SourceMap,
    options: &BuildOptions,
) -> Result<Arc<Pipeline>, BuildError> {
    let text = codegen::generate(program, sources, &options.generate);
    build_text(&text, &options.compile)
}

/// The same for C text.
pub fn build_text(text: &str, options: &CompileOptions) -> Result<Arc<Pipeline>, BuildError> {
    let cached = compile(text, options)?;
    match Pipeline::load(&cached) {
        // Somebody has emptied the cache meanwhile: once more.
        Err(LoadError::CannotLoad { object, .. }) if !object.exists() => {
            Ok(Arc::new(Pipeline::load(&compile(text, options)?)?))
        }
        loaded => Ok(Arc::new(loaded?)),
    }
}
