//! Random programs that do something with packets, for v1model, PSA and PNA: well-typed, and ending on every packet.
//!
//! [`Gen`] keeps what is in scope; each file adds one kind of construct. Programs are text, so that the
//! generator shares nothing with what it tests. What a program leaves undefined (variables that nobody wrote,
//! fields of invalid headers) is left in: the intermediate representation defines it.
//!
//! Programs end: parsers only go forward, or round a state that extracts; loops are bounded; packets go round
//! again only once, as their kind of instance tells, or as often as a switch allows.

pub mod coverage;

mod blocks;
mod expr;
mod externs;
mod objects;
mod parser;
mod pna;
mod portable;
mod psa;
mod stmt;
mod table;
mod types;

use crate::Choices;
use std::collections::BTreeMap;
use types::{Ty, TypeDef};

/// The architecture that a program is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    V1model,
    Psa,
    Pna,
}

impl Dialect {
    pub const ALL: [Dialect; 3] = [Dialect::V1model, Dialect::Psa, Dialect::Pna];

    pub fn name(self) -> &'static str {
        match self {
            Dialect::V1model => "v1model",
            Dialect::Psa => "psa",
            Dialect::Pna => "pna",
        }
    }

    pub fn named(name: &str) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|dialect| dialect.name() == name)
    }
}

/// An include file of an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edition {
    Usual,
    /// `dpdk/psa.p4`, `dpdk/pna.p4`: calls that are told the length of the packet.
    Dpdk,
    /// `bmv2/pna.p4`: no pre control, and sides of ports.
    Bmv2,
}

/// A place that can be read, or also written.
#[derive(Clone, Debug)]
struct Entry {
    path: String,
    ty: Ty,
    is_writable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    In,
    Out,
    InOut,
    /// Given by the control plane, or by a direct call.
    Data,
    /// Data of an entry that the action may change.
    Updatable,
}

impl Direction {
    fn prefix(self) -> &'static str {
        match self {
            Direction::In => "in ",
            Direction::Out => "out ",
            Direction::InOut => "inout ",
            Direction::Data => "",
            Direction::Updatable => "@__ref ",
        }
    }
}

#[derive(Clone, Debug)]
struct Param {
    name: String,
    ty: Ty,
    direction: Direction,
}

/// A function, an action, or an instance of a sub-control with `.apply`.
#[derive(Clone, Debug)]
struct Callable {
    name: String,
    params: Vec<Param>,
    result: Option<Ty>,
}

/// The kind of body that contains a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    ParserState,
    Function,
    Action,
    SubControl,
    Ingress,
    Egress,
    Deparser,
}

impl Place {
    fn may_exit(self) -> bool {
        match self {
            Place::ParserState | Place::Function | Place::Deparser => false,
            Place::Action | Place::SubControl | Place::Ingress | Place::Egress => true,
        }
    }
}

/// An object of PSA or PNA that adds up a checksum.
#[derive(Clone, Debug)]
struct Checksum {
    name: String,
    /// It is an `InternetChecksum`.
    is_internet: bool,
    /// Its data have a multiple of 16 bits.
    in_words: bool,
}

/// The instances of a control.
#[derive(Clone, Debug, Default)]
struct Objects {
    /// With the types of their cells.
    registers: Vec<(String, Ty, u32)>,
    counters: Vec<(String, u32)>,
    meters: Vec<(String, u32)>,
    /// With the actions that they may run.
    tables: Vec<(String, Vec<String>)>,
    subs: Vec<Callable>,
    /// Objects of PSA and PNA that hash, with the widths of their results.
    hashes: Vec<(String, u32)>,
    /// Objects of PSA and PNA that give random numbers of 16 bits.
    randoms: Vec<String>,
    checksums: Vec<Checksum>,
    /// Widths of indices, where they are not 32, by the names of objects.
    index_widths: BTreeMap<String, u32>,
    /// Objects of PSA and PNA that send digests, with the types of these.
    digests: Vec<(String, Ty)>,
}

/// The state of a program being written.
struct Gen<'a, 'b> {
    choices: &'a mut Choices<'b>,
    dialect: Dialect,
    edition: Edition,
    out: String,
    indent: usize,
    n_names: usize,
    types: Vec<TypeDef>,
    scope: Vec<Entry>,
    functions: Vec<Callable>,
    actions: Vec<Callable>,
    objects: Objects,
    place: Place,
    in_loop: bool,
    /// True if the program has asynchronous blocks. A program with direct meters has none: its packets do not suspend.
    has_asynchronous: bool,
    /// True if packets leave no state behind, so that the outputs of suspended packets may be compared in any order.
    keeps_nothing: bool,
    /// True inside an asynchronous block, which no statement may leave.
    is_asynchronous: bool,
    /// Actions, tables and controls that may end with `exit`.
    exiting: Vec<String>,
    /// Return type of the function being written.
    result: Option<Ty>,
    /// Statements that may still be written.
    fuel: usize,
}

/// Statements of a program, in all its parts.
const FUEL: usize = 140;

/// Writes one program.
pub fn program(choices: &mut Choices, dialect: Dialect) -> String {
    let has_asynchronous = choices.one_in(4) && dialect == Dialect::V1model;
    let keeps_nothing = has_asynchronous && !choices.one_in(3);
    let mut g = Gen {
        choices,
        dialect,
        edition: Edition::Usual,
        out: String::new(),
        indent: 0,
        n_names: 0,
        types: Vec::new(),
        scope: Vec::new(),
        functions: Vec::new(),
        actions: Vec::new(),
        objects: Objects::default(),
        place: Place::Function,
        in_loop: false,
        has_asynchronous,
        keeps_nothing,
        is_asynchronous: false,
        exiting: Vec::new(),
        result: None,
        fuel: FUEL,
    };
    match dialect {
        Dialect::V1model => g.program(),
        Dialect::Psa => g.psa(),
        Dialect::Pna => g.pna(),
    }
    g.out
}

impl Gen<'_, '_> {
    fn fresh(&mut self, prefix: &str) -> String {
        self.n_names += 1;
        format!("{prefix}{}", self.n_names)
    }

    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn open(&mut self, text: &str) {
        self.line(text);
        self.indent += 1;
    }

    fn close(&mut self, text: &str) {
        self.indent -= 1;
        self.line(text);
    }

    /// Remembers whether something may exit, whose text begins there in what was written.
    fn note_exits(&mut self, name: &str, from: usize) {
        let text = &self.out[from..];
        let mentions = |name: &String| {
            let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
            text.match_indices(name.as_str()).any(|(at, _)| {
                !is_part(text[..at].chars().next_back()) && !is_part(text[at + name.len()..].chars().next())
            })
        };
        if text.contains("exit;") || self.exiting.iter().any(mentions) {
            self.exiting.push(name.to_string());
        }
    }

    /// True if an object of this name may be called here.
    fn may_call(&self, name: &str) -> bool {
        !self.is_asynchronous || !self.exiting.iter().any(|exiting| exiting == name)
    }

    fn one_of(&mut self, texts: &[&'static str]) -> &'static str {
        self.choices.pick(texts).copied().unwrap_or("")
    }

    /// Declares a place with all its parts.
    fn declare(&mut self, path: &str, ty: &Ty, is_writable: bool) {
        if matches!(ty, Ty::Tuple(_)) && !is_writable {
            return;
        }
        self.scope.push(Entry { path: path.to_string(), ty: ty.clone(), is_writable });
        for (name, ty) in self.fields_of(ty) {
            // Programs must not change the count of a packet's rounds.
            let is_writable = is_writable && name != "rounds";
            self.declare(&format!("{path}.{name}"), &ty, is_writable);
        }
        if let Some((element, n)) = self.element_of(ty) {
            let last = n - 1;
            self.declare(&format!("{path}[0]"), &element, is_writable);
            if last > 0 {
                self.declare(&format!("{path}[{last}]"), &element, is_writable);
            }
        }
        if let Ty::Tuple(items) = ty {
            for (i, item) in items.clone().iter().enumerate() {
                self.declare(&format!("{path}[{i}]"), item, false);
            }
        }
    }

    /// Places of a kind, the latest preferred.
    fn places(&self, fits: impl Fn(&Entry) -> bool) -> Vec<Entry> {
        self.scope.iter().rev().filter(|e| fits(e)).take(60).cloned().collect()
    }

    fn place_of(&mut self, ty: &Ty, is_writable: bool) -> Option<String> {
        let found = self.places(|e| e.ty == *ty && (e.is_writable || !is_writable));
        self.choices.pick(&found).map(|e| e.path.clone())
    }
}
