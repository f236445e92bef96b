//! Errors of points files.

use std::fmt;

/// A points file that cannot be used, or points that make no sweep.
#[derive(Debug)]
pub enum Error {
    /// The system refuses to read or write.
    Io { file: String, error: std::io::Error },
    /// The first line is no header.
    NotPoints { file: String },
    /// A line is neither cut at the end of the file nor a result.
    Damaged { file: String, line: usize },
    /// The header is of another sweep than the expected one.
    Other { file: String, difference: String },
    /// A result of a point that the header does not name.
    UnknownPoint { file: String, line: usize, point: String },
    /// Two different results for one point.
    Contradiction { point: String, files: [String; 2] },
    /// Another process has locked the file.
    Busy { file: String },
    /// Two points of a sweep have one key.
    RepeatedPoint { point: String },
    /// There are no files to merge.
    NoFiles,
}

impl Error {
    /// True if the system is at fault, and neither the file's content nor the command line.
    pub fn is_environment(&self) -> bool {
        matches!(self, Error::Io { .. } | Error::Busy { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { file, error } => write!(f, "{file}: {error}"),
            Error::NotPoints { file } => write!(f, "{file}: this is not a points file"),
            Error::Damaged { file, line } => write!(f, "{file}: line {line} is damaged"),
            Error::Other { file, difference } => {
                write!(f, "{file}: its points are of another sweep: {difference}")
            }
            Error::UnknownPoint { file, line, point } => {
                write!(f, "{file}: line {line}: the sweep has no point `{point}`")
            }
            Error::Contradiction { point, files: [first, second] } if first == second => {
                write!(f, "{first}: the point `{point}` has two different results")
            }
            Error::Contradiction { point, files: [first, second] } => {
                write!(f, "the point `{point}` has one result in {first} and another in {second}")
            }
            Error::Busy { file } => {
                write!(f, "{file}: another process is writing to it; each shard needs a file of its own")
            }
            Error::RepeatedPoint { point } => write!(f, "two points of the sweep are called `{point}`"),
            Error::NoFiles => write!(f, "there are no files to merge"),
        }
    }
}

impl std::error::Error for Error {}
