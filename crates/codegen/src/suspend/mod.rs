pub(crate) mod plan;
pub(crate) mod prefetch_groups;
