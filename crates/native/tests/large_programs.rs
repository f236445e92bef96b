//! Programs with thousands of initial entries and cases of a `select`: the C text has one line of data for each, so that the
//! compiler's time stays in proportion.

mod common;

use common::TestDir;
use native::{BuildOptions, build};

fn text(n_entries: usize, n_cases: usize) -> String {
    let entries: String =
        (0..n_entries).map(|i| format!("{:#x}: set({});", 0x0a00_0000 + 7 * i, i % 500)).collect();
    let cases: String = (0..n_cases).map(|i| format!("{} .. {}: accept;", 3 * i, 3 * i + 1)).collect();
    format!(
        "#include <core.p4>
        #include <v1model.p4>
        header Key {{ bit<32> a; bit<16> b; }}
        struct Headers {{ Key key; }}
        struct Metadata {{}}
        parser Parse(packet_in p, out Headers h, inout Metadata m, inout standard_metadata_t s) {{
            state start {{ p.extract(h.key); transition select(h.key.b) {{ {cases} default: reject; }} }}
        }}
        control Sums(inout Headers h, inout Metadata m) {{ apply {{}} }}
        control In(inout Headers h, inout Metadata m, inout standard_metadata_t s) {{
            action set(bit<9> port) {{ s.egress_spec = port; }}
            table known {{
                key = {{ h.key.a: exact; }}
                actions = {{ set; }}
                const entries = {{ {entries} }}
            }}
            apply {{ known.apply(); }}
        }}
        control Out(inout Headers h, inout Metadata m, inout standard_metadata_t s) {{ apply {{}} }}
        control Deparse(packet_out p, in Headers h) {{ apply {{ p.emit(h.key); }} }}
        V1Switch(Parse(), Sums(), In(), Out(), Sums(), Deparse()) main;"
    )
}

fn n_lines(n_entries: usize, n_cases: usize) -> usize {
    let source = driver::Source { name: "large.p4".into(), text: text(n_entries, n_cases).into() };
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable =
        driver::runnable(&mut checked, None).unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let c = codegen::generate(&runnable.program, &checked.sources, &codegen::Options::default());
    c.lines().count()
}

#[test]
fn each_entry_and_each_case_is_a_line() {
    let few = n_lines(100, 100);
    assert_eq!(n_lines(1100, 100), few + 1000);
    assert_eq!(n_lines(100, 1100), few + 1000);
}

#[test]
fn thousands_of_them_compile() {
    let source = driver::Source { name: "large.p4".into(), text: text(5000, 2000).into() };
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable =
        driver::runnable(&mut checked, None).unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let dir = TestDir::new();
    // As users compile, where a statement for each took longer than the limit.
    let compile = native::CompileOptions { optimise: native::Optimise::Most, ..dir.options() };
    let options = BuildOptions { compile, ..Default::default() };
    build(&runnable.program, &checked.sources, &options).unwrap();
}
