//! The mirrors of the ABI against what C compilers say.

use native::abi::{self, LAYOUTS};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Prints sizes, alignments and offsets, one line each, and the numbers that both sides know by name.
fn c_text() -> String {
    let mut out = String::from(
        "#include \"sd_abi.h\"\n#include \"worker/sd_trace.h\"\n#include <stdio.h>\nint main(void)\n{\n",
    );
    for layout in LAYOUTS {
        let name = layout.c_name;
        let _ = writeln!(
            out,
            "    printf(\"{name} %zu %zu\\n\", sizeof(struct {name}), _Alignof(struct {name}));"
        );
        for (field, _) in layout.fields {
            let _ = writeln!(
                out,
                "    printf(\"{name}.{field} %zu %zu\\n\", offsetof(struct {name}, {field}), \
                 sizeof(((struct {name} *)0)->{field}));"
            );
        }
    }
    for (name, _) in NUMBERS {
        let _ = writeln!(out, "    printf(\"{name} %llu\\n\", (unsigned long long){name});");
    }
    out + "    return 0;\n}\n"
}

/// The number of a reason.
const fn drop(name: &str) -> u64 {
    let mut i = 0;
    while i < abi::DROP_REASONS.len() {
        let (a, b) = (abi::DROP_REASONS[i].as_bytes(), name.as_bytes());
        let mut j = 0;
        while j < a.len() && j < b.len() && a[j] == b[j] {
            j += 1;
        }
        if j == a.len() && j == b.len() {
            return i as u64;
        }
        i += 1;
    }
    u64::MAX
}

const NUMBERS: &[(&str, u64)] = &[
    ("SD_ABI_VERSION", abi::VERSION as u64),
    ("SD_REQUEST_CLONE", abi::request::CLONE as u64),
    ("SD_REQUEST_RESUBMIT", abi::request::RESUBMIT as u64),
    ("SD_REQUEST_RECIRCULATE", abi::request::RECIRCULATE as u64),
    ("SD_REQUEST_TRUNCATE", abi::request::TRUNCATE as u64),
    ("SD_REQUEST_DROP", abi::request::DROP as u64),
    ("SD_REQUEST_PASS", abi::request::PASS as u64),
    ("SD_REQUEST_DIGEST", abi::request::DIGEST as u64),
    ("SD_END_DONE", abi::end::DONE as u64),
    ("SD_END_STEP_BUDGET", abi::end::STEP_BUDGET as u64),
    ("SD_END_ASSERTION_FAILED", abi::end::ASSERTION_FAILED as u64),
    ("SD_END_ASSUMPTION_FAILED", abi::end::ASSUMPTION_FAILED as u64),
    ("SD_END_EXTERN_NOT_SUPPLIED", abi::end::EXTERN_NOT_SUPPLIED as u64),
    ("SD_END_STOPPED_BY_EXTERN", abi::end::STOPPED_BY_EXTERN as u64),
    ("SD_END_TOO_LONG", abi::end::TOO_LONG as u64),
    ("SD_END_REJECTED", abi::end::REJECTED as u64),
    ("SD_VERDICT_SEND", abi::verdict::SEND as u64),
    ("SD_VERDICT_DROP", abi::verdict::DROP as u64),
    ("SD_VERDICT_AFTER_INGRESS", abi::verdict::AFTER_INGRESS as u64),
    ("SD_VERDICT_AFTER_EGRESS", abi::verdict::AFTER_EGRESS as u64),
    ("SD_VERDICT_NO_HEADROOM", abi::verdict::NO_HEADROOM as u64),
    ("SD_DROP_INGRESS", drop("ingress_drop")),
    ("SD_DROP_EGRESS", drop("egress_drop")),
    ("SD_DROP_PARSER_REJECTED", drop("parser_rejected")),
    ("SD_DROP_ABORTED", drop("aborted")),
    ("SD_DROP_STEP_BUDGET", drop("step_budget")),
    ("SD_DROP_ASSERTION_FAILED", drop("assertion_failed")),
    ("SD_DROP_ASSUMPTION_FAILED", drop("assumption_failed")),
    ("SD_DROP_EXTERN_NOT_SUPPLIED", drop("extern_not_supplied")),
    ("SD_DROP_STOPPED_BY_EXTERN", abi::DROP_STOPPED_BY_EXTERN as u64),
    ("SD_N_DROPS", abi::DROP_REASONS.len() as u64),
    ("SD_TRACE_NODE", abi::trace::NODE as u64),
    ("SD_TRACE_STATEMENT", abi::trace::STATEMENT as u64),
    ("SD_TRACE_TERMINATOR", abi::trace::TERMINATOR as u64),
    ("SD_TRACE_LOOKUP", abi::trace::LOOKUP as u64),
    ("SD_TRACE_CALL", abi::trace::CALL as u64),
    ("SD_TRACE_IN_STATE", abi::trace::IN_STATE as u64),
    ("SD_MATCH_EXACT", abi::match_kind::EXACT as u64),
    ("SD_MATCH_LPM", abi::match_kind::LPM as u64),
    ("SD_MATCH_TERNARY", abi::match_kind::TERNARY as u64),
    ("SD_MATCH_RANGE", abi::match_kind::RANGE as u64),
    ("SD_MATCH_OPTIONAL", abi::match_kind::OPTIONAL as u64),
    ("SD_OBJECT_OTHER", abi::object::OTHER as u64),
    ("SD_OBJECT_COUNTER", abi::object::COUNTER as u64),
    ("SD_OBJECT_METER", abi::object::METER as u64),
    ("SD_OBJECT_REGISTER", abi::object::REGISTER as u64),
    ("SD_OBJECT_ACTION_PROFILE", abi::object::ACTION_PROFILE as u64),
    ("SD_OBJECT_ACTION_SELECTOR", abi::object::ACTION_SELECTOR as u64),
    ("SD_OK", abi::status::OK as u64),
    ("SD_EXISTS", abi::status::EXISTS as u64),
    ("SD_NOT_FOUND", abi::status::NOT_FOUND as u64),
    ("SD_FULL", abi::status::FULL as u64),
    ("SD_NO_MEMORY", abi::status::NO_MEMORY as u64),
    ("SD_IN_USE", abi::status::IN_USE as u64),
    ("SD_OUT_OF_RANGE", abi::status::OUT_OF_RANGE as u64),
    ("SD_CONST", abi::status::CONST as u64),
    ("SD_CONCURRENT_READ", abi::concurrent_op::READ as u64),
    ("SD_CONCURRENT_INSERT", abi::concurrent_op::INSERT as u64),
    ("SD_CONCURRENT_MODIFY", abi::concurrent_op::MODIFY as u64),
    ("SD_CONCURRENT_REMOVE", abi::concurrent_op::REMOVE as u64),
    ("SD_CONCURRENT_EXPIRE", abi::concurrent_op::EXPIRE as u64),
    ("SD_ENTRY_ACTION", abi::entry::ACTION as u64),
    ("SD_ENTRY_MEMBER", abi::entry::MEMBER as u64),
    ("SD_ENTRY_GROUP", abi::entry::GROUP as u64),
    ("SD_ENTRY_ONE_SHOT", abi::entry::ONE_SHOT as u64),
    ("SD_ARG_IN", abi::arg::IN as u64),
    ("SD_ARG_FIELDS", abi::arg::FIELDS as u64),
    ("SD_ARG_REF", abi::arg::REF as u64),
    ("SD_ARG_STRING", abi::arg::STRING as u64),
    ("SD_ARG_ABSENT", abi::arg::ABSENT as u64),
    ("SD_SUSPENDED_ALIGN", abi::SUSPENDED_ALIGN as u64),
    ("SD_SUSPENDED_POINT_AT", abi::SUSPENDED_POINT_AT as u64),
    ("SD_ASYNC_FULL_DROP", abi::async_full::DROP as u64),
    ("SD_ASYNC_FULL_INLINE", abi::async_full::INLINE as u64),
    ("SD_ASYNC_FULL_BACKPRESSURE", abi::async_full::BACKPRESSURE as u64),
    ("SD_NO_FIELD_LIST", abi::NO_FIELD_LIST as u64),
    ("SD_DEFAULT_ENTRY", abi::DEFAULT_ENTRY),
];

#[test]
fn mirrors_agree_with_c() {
    let dir = env::temp_dir().join(format!("siding-abi-test-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let source = dir.join("layout.c");
    fs::write(&source, c_text()).unwrap();
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rt");
    let mut n_compilers = 0;
    for compiler in ["gcc", "clang"] {
        let program = dir.join(compiler);
        let compiled =
            Command::new(compiler).arg("-I").arg(&runtime).arg("-o").arg(&program).arg(&source).output();
        let Ok(compiled) = compiled else { continue };
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let printed = String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap();
        compare(&printed);
        n_compilers += 1;
    }
    assert!(n_compilers > 0, "neither gcc nor clang is there");
    fs::remove_dir_all(&dir).unwrap();
}

/// Every field begins where C says; where fields end is checked through the next field and the size.
fn compare(printed: &str) {
    let mut expected = Vec::new();
    for layout in LAYOUTS {
        expected.push((layout.c_name.to_owned(), layout.size as u64, Some(layout.align as u64)));
        for (i, (field, offset)) in layout.fields.iter().enumerate() {
            let end = layout.fields.get(i + 1).map_or(layout.size, |(_, next)| *next);
            expected.push((
                format!("{}.{field}", layout.c_name),
                *offset as u64,
                Some((end - offset) as u64),
            ));
        }
    }
    expected.extend(NUMBERS.iter().map(|(name, n)| (String::from(*name), *n, None)));
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), expected.len());
    for (line, (name, first, second)) in lines.iter().zip(expected) {
        let mut words = line.split(' ');
        assert_eq!(words.next(), Some(name.as_str()));
        let mut number = || words.next().map(|word| word.parse::<u64>().unwrap());
        assert_eq!(number(), Some(first), "{name}");
        let (found, wanted) = (number(), second);
        if name.contains('.') {
            // Padding may follow a field.
            let (found, room) = (found.unwrap(), wanted.unwrap());
            assert!(found <= room && room < found + 8, "{name}: {found} bytes in {room}");
        } else {
            assert_eq!(found, wanted, "{name}");
        }
    }
}
