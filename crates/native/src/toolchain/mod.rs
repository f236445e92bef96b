//! The way from C text to a loaded program: the C compiler, the cache, the loader.

pub(crate) mod build;
pub(crate) mod cache;
mod child;
pub mod compile;
pub(crate) mod compiler;
pub mod executable;
pub(crate) mod load;
pub(crate) mod private_dir;
