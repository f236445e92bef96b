//! How C is generated.

/// How C is generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The name of the program in comments.
    pub program_name: String,
    /// The name of the C file in `#line`.
    pub file_name: String,
    /// Lead back to the P4 program.
    pub line_directives: bool,
    /// Tell the host of every step, when compiled with `-DSD_TRACE`.
    pub trace: bool,
    /// Entries of tables that do not say their size.
    pub table_size: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            program_name: "program.p4".to_string(),
            file_name: "program.c".to_string(),
            line_directives: true,
            trace: false,
            table_size: 1024,
        }
    }
}
