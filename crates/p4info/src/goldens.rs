//! p4c's expected outputs, `*.p4info.txtpb` and `*.entries.txtpb`, as a test of
//! this crate on its own, without a compiler.
//!
//! A golden file has names, and the ids and aliases that p4c gave them; so the
//! rules in [`crate::ids`] and [`crate::alias`] can be checked, except where
//! the program set an id with `@id`: the file does not tell.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::proto::p4::config::v1::{P4Info, Preamble};
use crate::{
    Format, ObjectKind, SymbolTable, assign_member_ids, decode_p4info, decode_write_request, encode_p4info,
    encode_write_request,
};

/// Result of [`check`].
#[derive(Debug, Default)]
pub struct Report {
    pub n_p4info_files: usize,
    pub n_entries_files: usize,
    /// Number of objects whose id and alias equal the computed ones.
    pub n_objects: usize,
    /// Objects and members whose id only an `@id` can explain, as `file: name`.
    pub ids_given: Vec<String>,
    /// All other deviations, as `file: deviation`.
    pub problems: Vec<String>,
}

/// Decodes and encodes all golden files in a directory and below it.
pub fn check(directory: &Path) -> io::Result<Report> {
    let mut report = Report::default();
    for path in files(directory)? {
        let name = path.display().to_string();
        if name.ends_with(".p4info.txtpb") {
            report.n_p4info_files += 1;
            let golden = fs::read(&path)?;
            match decode_p4info(&golden, Format::Text) {
                Err(error) => report.problems.push(format!("{name}:{error}")),
                Ok(p4info) => {
                    for format in [Format::Text, Format::Json, Format::Binary] {
                        let bytes = encode_p4info(&p4info, format);
                        check_encoding(&name, &golden, format, &bytes, &mut report);
                        if decode_p4info(&bytes, format).as_ref() != Ok(&p4info) {
                            report.problems.push(format!("{name}: lost in {format:?} and back"));
                        }
                    }
                    check_names(&name, &p4info, &mut report);
                }
            }
        } else if name.ends_with(".entries.txtpb") {
            report.n_entries_files += 1;
            let golden = fs::read(&path)?;
            match decode_write_request(&golden, Format::Text) {
                Err(error) => report.problems.push(format!("{name}:{error}")),
                Ok(request) => {
                    for format in [Format::Text, Format::Json, Format::Binary] {
                        let bytes = encode_write_request(&request, format);
                        check_encoding(&name, &golden, format, &bytes, &mut report);
                        if decode_write_request(&bytes, format).as_ref() != Ok(&request) {
                            report.problems.push(format!("{name}: lost in {format:?} and back"));
                        }
                    }
                }
            }
        }
    }
    Ok(report)
}

fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut entries = fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files.extend(self::files(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

fn check_encoding(name: &str, golden: &[u8], format: Format, bytes: &[u8], report: &mut Report) {
    if format == Format::Text && bytes != golden {
        report.problems.push(format!("{name}: our text has another layout"));
    }
}

fn check_names(file: &str, p4info: &P4Info, report: &mut Report) {
    let objects = objects(p4info);
    // First suppose that no id was given, then that the odd ones were.
    let mut given = BTreeMap::new();
    let mut table = SymbolTable::default();
    for (kind, preamble) in &objects {
        table.add(*kind, &preamble.name, None).expect("without an id nothing can go wrong");
    }
    let symbols = table.assign().expect("a golden file is small");
    for (kind, preamble) in &objects {
        if symbols.id(*kind, &preamble.name) != Some(preamble.id) {
            given.insert((*kind, preamble.name.as_str()), preamble.id);
            report.ids_given.push(format!("{file}: {}", preamble.name));
        }
    }
    let mut table = SymbolTable::default();
    for (kind, preamble) in &objects {
        let id = given.get(&(*kind, preamble.name.as_str())).copied();
        if let Err(error) = table.add(*kind, &preamble.name, id) {
            report.problems.push(format!("{file}: {error}"));
        }
    }
    let symbols = table.assign().expect("a golden file is small");
    for (kind, preamble) in &objects {
        let name = &preamble.name;
        // A header is known to the algorithms by the name of its type, which
        // the file lacks.
        let alias = match kind {
            ObjectKind::ControllerHeader => name,
            _ => symbols.alias(name),
        };
        let id = symbols.id(*kind, name);
        if id == Some(preamble.id) && alias == preamble.alias {
            report.n_objects += 1;
        } else {
            report.problems.push(format!(
                "{file}: {name} has {} and {}, computed {id:?} and {alias}",
                preamble.id, preamble.alias
            ));
        }
    }
    for (name, ids) in member_ids(p4info) {
        let computed = assign_member_ids(&vec![None; ids.len()]).expect("no ids are given");
        if ids != computed {
            report.ids_given.push(format!("{file}: members of {name}"));
        }
    }
}

fn objects(p4info: &P4Info) -> Vec<(ObjectKind, &Preamble)> {
    let mut objects = Vec::new();
    macro_rules! add {
        ($($field:ident: $kind:ident,)*) => {
            $(for object in &p4info.$field {
                objects.extend(object.preamble.as_ref().map(|p| (ObjectKind::$kind, p)));
            })*
        };
    }
    add! {
        tables: Table,
        actions: Action,
        action_profiles: ActionProfile,
        counters: Counter,
        direct_counters: DirectCounter,
        meters: Meter,
        direct_meters: DirectMeter,
        controller_packet_metadata: ControllerHeader,
        value_sets: ValueSet,
        registers: Register,
        digests: Digest,
    }
    objects
}

fn member_ids(p4info: &P4Info) -> Vec<(&str, Vec<u32>)> {
    let mut members = Vec::new();
    macro_rules! add {
        ($($field:ident.$part:ident,)*) => {
            $(for object in &p4info.$field {
                let name = object.preamble.as_ref().map_or("", |p| p.name.as_str());
                members.push((name, object.$part.iter().map(|part| part.id).collect()));
            })*
        };
    }
    add! {
        tables.match_fields,
        actions.params,
        controller_packet_metadata.metadata,
        value_sets.r#match,
    }
    members
}
