pub(crate) mod offload;
pub(crate) mod offload_batch;
pub(crate) mod plan;
pub(crate) mod prefetch_groups;
pub(crate) mod saved_state;
