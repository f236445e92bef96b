pub(crate) mod code;
pub(crate) mod names;
pub(crate) mod types;
