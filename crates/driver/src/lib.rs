//! From files to a checked program.
//!
//! Key types: [`FileLoader`] finds included files, [`Options`] says how to check, [`check`] runs the front
//! end, [`WarningPolicy`] is what `--Werror` and its kin ask for.
//!
//! [`archive`] is the file that `siding build` makes: everything about a compiled program, its P4 texts too.
//!
//! Invariants: this is the one crate of the front end that reads files; everything it calls is pure.
//! Nothing is ever written or printed here.
//!
//! Non-goals: command lines and printing (crate `siding`), judging results (crate `conformance`).
//!
//! Start reading at [`check`].

pub mod archive;
mod foreign;
mod loader;
mod policy;
mod runnable;

pub use arch::Architecture;
pub use check::{Checked, Options as CheckOptions};
pub use foreign::recognise as recognise_foreign;
pub use loader::{BuiltInLoader, FileLoader, ReadError, Source, read_source};
pub use policy::{Action, WarningPolicy};
pub use runnable::{Runnable, analysable, presentable, runnable};

use diagnostics::{Diagnostics, SourceMap};
use num_bigint::BigUint;
use syntax::Loader;

/// Options of parsing and checking.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub syntax: syntax::Options,
    pub check: CheckOptions,
}

/// Parses and checks one program. Faults are in the diagnostics beside the result.
pub fn check(source: &Source, loader: &dyn Loader, options: &Options) -> Checked {
    let mut check_options = options.check.clone();
    check_options.include_of.get_or_insert(arch::include_that_declares);
    check_options.table_properties.get_or_insert(known_table_properties);
    check::check(parse(source, loader, options), &check_options)
}

fn known_table_properties(package: &str) -> Option<&'static [String]> {
    Architecture::of_package(package)?.known_table_properties()
}

/// Control-plane description of a program.
#[derive(Clone, Debug)]
pub struct ControlPlane {
    pub p4info: p4info::P4Info,
    pub entries: p4info::WriteRequest,
    /// Constants of the program, and members of enums with values (`EtherType.Ipv4`), which entries may name.
    pub values: Vec<(String, BigUint)>,
    pub controller_headers: Vec<p4info::ControllerHeaderFields>,
}

/// Builds P4Info and initial entries, for the architecture of `main` unless `arch` is given. Adds its
/// findings to the diagnostics; returns `None` after errors.
pub fn control_plane(checked: &mut Checked, arch: Option<Architecture>) -> Option<ControlPlane> {
    if checked.diagnostics.has_errors() {
        return None;
    }
    let p4info::Built { p4info, entries, controller_headers, diagnostics } =
        p4info::build(&checked.program, &checked.sources, arch);
    checked.diagnostics.extend(diagnostics.into_vec());
    let values = named_values(&checked.program);
    (!checked.diagnostics.has_errors()).then_some(ControlPlane {
        p4info,
        entries,
        values,
        controller_headers,
    })
}

/// The numbers that have a name for the whole program; negative ones are left out.
fn named_values(program: &check::program::Program) -> Vec<(String, BigUint)> {
    let number = |value: Option<&check::value::Value>| match value {
        Some(check::value::Value::Int(value)) => value.to_biguint(),
        _ => None,
    };
    let constants = program.decls.iter().filter_map(|decl| match decl {
        check::program::DeclRef::Const(id) => {
            let constant = &program.constants[*id];
            Some((constant.name.to_string(), number(constant.init.value.as_deref())?))
        }
        _ => None,
    });
    let members = program.enums.iter().flat_map(|(_, decl)| {
        let name = |member: &check::program::EnumMember| format!("{}.{}", decl.name, member.name);
        decl.members.iter().filter_map(move |m| Some((name(m), number(m.value.as_ref())?)))
    });
    constants.chain(members).collect()
}

/// Parses without checking.
pub fn parse(source: &Source, loader: &dyn Loader, options: &Options) -> syntax::Parsed {
    syntax::parse(&source.name, std::sync::Arc::clone(&source.text), loader, &options.syntax)
}

/// Preprocesses only: returns the text that the parser would see, with line markers.
pub fn preprocess(
    source: &Source,
    loader: &dyn Loader,
    options: &Options,
) -> (String, SourceMap, Diagnostics) {
    let (mut sources, mut diagnostics) = (SourceMap::new(), Diagnostics::new());
    let text = std::sync::Arc::clone(&source.text);
    let tokens =
        syntax::preprocess(&source.name, text, loader, &options.syntax, &mut sources, &mut diagnostics);
    (syntax::print_preprocessed(&tokens, &sources), sources, diagnostics)
}
