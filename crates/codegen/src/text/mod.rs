pub(crate) mod arrays;
pub(crate) mod code;
pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod types;
