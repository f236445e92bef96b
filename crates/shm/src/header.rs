//! Records as structs of C, for clients that are compiled for one program.

use shm_client::wire::part;
use shm_client::{FieldLayout, TableLayout};
use std::collections::HashSet;
use std::fmt::Write as _;

/// Reserved words of C and C++ that P4 does not reserve and that people may use as names.
const RESERVED: &[&str] = &[
    "auto",
    "break",
    "case",
    "char",
    "class",
    "const",
    "continue",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "float",
    "for",
    "goto",
    "if",
    "int",
    "long",
    "namespace",
    "new",
    "operator",
    "private",
    "public",
    "register",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "template",
    "this",
    "typedef",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
];

/// A place of a record.
struct Member {
    name: String,
    offset: u32,
    n_bytes: u32,
}

/// A header with a struct for each table whose entries can be records, its ids, the indices of its actions, and its hash.
pub fn c_header(program: &str, tables: &[TableLayout]) -> String {
    let guard = identifier(program).to_uppercase();
    let mut text = format!(
        "/* Records of {program} for siding_shm.h, written by `siding build --emit shm-header`. A record is valid as long as\n\
         \x20* siding_shm_table() returns a layout with the hash that stands here. */\n\
         #ifndef SIDING_SHM_{guard}_H\n#define SIDING_SHM_{guard}_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n\
         #ifdef __cplusplus\n#define SIDING_SHM_ASSERT static_assert\n#else\n\
         #define SIDING_SHM_ASSERT _Static_assert\n#endif\n"
    );
    for table in tables.iter().filter(|table| table.record_bytes > 0) {
        write_table(table, &mut text);
    }
    text + "\n#endif\n"
}

/// Writing to a `String` cannot fail.
fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(line);
    text.push('\n');
}

fn write_table(table: &TableLayout, text: &mut String) {
    let name = identifier(&table.name);
    let upper = name.to_uppercase();
    let mut names = HashSet::from(["action".to_owned(), "data".to_owned(), "kind".to_owned()]);
    let mut members = Vec::new();
    let mut add = |name: &str, offset: u32, n_bytes: u32| {
        members.push(Member { name: unique(&mut names, identifier(name)), offset, n_bytes });
    };
    for key in &table.keys {
        let FieldLayout { name, offset, n_bytes, .. } = &key.field;
        add(name, *offset, *n_bytes);
        if let Some(at) = key.second_at {
            add(&format!("{name}_mask"), at, *n_bytes);
        }
    }
    if let Some(at) = table.priority_at {
        add("priority", at, 4);
    }
    for (at, names) in [
        (table.idle_timeout_at, &["idle_timeout_ns"][..]),
        (table.count_at, &["n_packets", "n_bytes"]),
        (table.rates_at, &["cir", "cburst", "pir", "pburst", "eburst"]),
    ] {
        for (i, name) in (0u32..).zip(names) {
            if let Some(at) = at {
                add(name, at + 8 * i, 8);
            }
        }
    }
    if let Some(at) = table.rates_at {
        add("has_rates", at + 40, 4);
    }
    if let Some(at) = table.kind_at {
        members.push(Member { name: "kind".to_owned(), offset: at, n_bytes: 1 });
    }
    members.push(Member { name: "action".to_owned(), offset: table.action_at, n_bytes: table.action_bytes });
    let data_at =
        members.iter().filter(|member| !is_part(table, member.offset)).map(Member::end).max().unwrap_or(0);
    let has_data = table.actions.iter().any(|action| !action.params.is_empty());
    line(text, format_args!("\n/* {} */", table.name));
    line(text, format_args!("#define SIDING_{upper}_TABLE {}u", table.id));
    line(text, format_args!("#define SIDING_{upper}_PARTS {}u", table.parts & part::ALL));
    line(text, format_args!("#define SIDING_{upper}_HASH UINT64_C({:#018x})", table.hash()));
    let mut constants = HashSet::new();
    for action in &table.actions {
        let of = unique(&mut constants, identifier(&action.name).to_uppercase());
        line(text, format_args!("#define SIDING_{upper}_ACTION_{of} {}", action.index));
    }
    line(text, format_args!("struct __attribute__((packed)) siding_{name} {{"));
    members.sort_by_key(|member| member.offset);
    let mut end = 0;
    let mut is_written = !has_data;
    for member in &members {
        if !is_written && member.offset >= data_at {
            end = write_data(table, data_at, text);
            is_written = true;
        }
        write_member(member, &mut end, "    ", text);
    }
    if !is_written {
        end = write_data(table, data_at, text);
    }
    fill(&mut end, table.record_bytes, "    ", text);
    line(text, format_args!("}};"));
    line(
        text,
        format_args!(
            "SIDING_SHM_ASSERT(sizeof(struct siding_{name}) == {}, \"record\");",
            table.record_bytes
        ),
    );
    for member in &members {
        line(
            text,
            format_args!(
                "SIDING_SHM_ASSERT(offsetof(struct siding_{name}, {}) == {}, \"record\");",
                member.name, member.offset
            ),
        );
    }
}

impl Member {
    fn end(&self) -> u32 {
        self.offset + self.n_bytes
    }
}

/// Parts behind the data of the action.
fn is_part(table: &TableLayout, offset: u32) -> bool {
    let first = [table.idle_timeout_at, table.count_at, table.rates_at].into_iter().flatten().min();
    first.is_some_and(|first| offset >= first)
}

/// Bytes without a meaning up to a position.
fn fill(end: &mut u32, to: u32, indent: &str, text: &mut String) {
    if *end < to {
        line(text, format_args!("{indent}uint8_t unused_{end}[{}];", to - *end));
        *end = to;
    }
}

fn write_member(member: &Member, end: &mut u32, indent: &str, text: &mut String) {
    fill(end, member.offset, indent, text);
    let Member { name, n_bytes, .. } = member;
    match n_bytes {
        1 | 2 | 4 | 8 => line(text, format_args!("{indent}uint{}_t {name};", 8 * n_bytes)),
        _ => line(text, format_args!("{indent}uint8_t {name}[{n_bytes}]; /* little-endian */")),
    }
    *end = member.end();
}

/// The data of all actions in one place. Returns its end.
fn write_data(table: &TableLayout, data_at: u32, text: &mut String) -> u32 {
    let mut names = HashSet::new();
    let mut end_max = data_at;
    line(text, format_args!("    union {{"));
    for action in table.actions.iter().filter(|action| !action.params.is_empty()) {
        let last = action.name.rsplit('.').next().unwrap_or(&action.name);
        let name = unique(&mut names, identifier(last));
        line(text, format_args!("        struct __attribute__((packed)) {{"));
        let (mut end, mut params) = (data_at, HashSet::new());
        let mut members: Vec<Member> = (action.params.iter())
            .map(|param| Member {
                name: unique(&mut params, identifier(&param.name)),
                offset: param.offset,
                n_bytes: param.n_bytes,
            })
            .collect();
        members.sort_by_key(|member| member.offset);
        members.iter().for_each(|member| write_member(member, &mut end, "            ", text));
        line(text, format_args!("        }} {name};"));
        end_max = end_max.max(end);
    }
    line(text, format_args!("    }} data;"));
    end_max
}

/// A name of P4 as one of C: `a.b` is `a__b`.
fn identifier(name: &str) -> String {
    let mut text = name.replace('.', "__").replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "_");
    if text.starts_with(|c: char| c.is_ascii_digit()) || text.is_empty() {
        text.insert(0, '_');
    }
    if RESERVED.contains(&text.as_str()) {
        text.push('_');
    }
    text
}

fn unique(names: &mut HashSet<String>, mut name: String) -> String {
    while !names.insert(name.clone()) {
        name.push('_');
    }
    name
}
