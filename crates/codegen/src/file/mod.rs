pub(crate) mod burst;
pub(crate) mod descriptors;
pub(crate) mod fast_path;
pub(crate) mod offload;
pub(crate) mod offload_batch;
pub(crate) mod program;
pub(crate) mod trace;
