//! Fuzz targets that glue generators to oracles.
//!
//! Key types: [`Target`] turns bytes into an [`Input`] (a program and what is to be expected of it), and
//! [`oracle::judge`] says whether the front end kept its promises on it. [`Choices`] reads decisions from
//! bytes, so that any generator works under any fuzzer, and shorter bytes mean simpler programs.
//!
//! Invariants: the same bytes and the same corpus always give the same input. Bytes that run out read as
//! zero, and zero always picks what ends soonest.
//!
//! Non-goals: whether an error message is good; that is for the literate tests of each crate.
//!
//! Start reading at [`Target`]; the binary of this crate runs the targets without nightly tools.

mod choices;
pub mod corpus;
pub mod differential;
mod generate;
pub mod minimise;
mod mutate;
pub mod oracle;
pub mod requests;
pub mod runnable;
mod soup;
pub mod twin;

pub use choices::Choices;
pub use corpus::Corpus;
pub use oracle::{Finding, judge};

/// A program and what is to be expected of it.
#[derive(Clone, Debug)]
pub struct Input {
    pub text: String,
    /// Made to be free of errors.
    pub is_valid: bool,
}

/// The source of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The bytes as they are.
    Bytes,
    /// Tokens of P4 in any order.
    Tokens,
    /// A program of the corpus, damaged or crossed with another.
    Mutate,
    /// A well-formed program.
    Generate,
}

impl Target {
    pub const ALL: [Target; 4] = [Target::Bytes, Target::Tokens, Target::Mutate, Target::Generate];

    pub fn name(self) -> &'static str {
        match self {
            Target::Bytes => "bytes",
            Target::Tokens => "tokens",
            Target::Mutate => "mutate",
            Target::Generate => "generate",
        }
    }

    pub fn named(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Makes the input that bytes stand for.
    pub fn input(self, data: &[u8], corpus: &Corpus) -> Input {
        let mut choices = Choices::new(data);
        match self {
            Target::Bytes => Input { text: String::from_utf8_lossy(data).into_owned(), is_valid: false },
            Target::Tokens => Input { text: soup::soup(&mut choices), is_valid: false },
            Target::Mutate => Input { text: mutate::mutate(&mut choices, corpus), is_valid: false },
            Target::Generate => Input { text: generate::program(&mut choices), is_valid: true },
        }
    }
}

/// For fuzzers that call a function with bytes: panics when something is wrong.
pub fn run(target: Target, data: &[u8]) {
    let corpus = corpus::own();
    let input = target.input(data, corpus);
    if let Err(finding) = judge(&input, corpus) {
        panic!("{finding}\n{}", input.text);
    }
}
