//! `src/generated` is what prost makes of `proto/`.
//!
//! `SIDING_BLESS=1 cargo test -p p4info --test generated` rewrites it; protoc
//! is not needed. The crate must compile for that, so empty the files rather
//! than delete them when they are beyond repair.

use std::fs;
use std::path::Path;

use prost::Message;

const SOURCES: [&str; 8] = [
    "google/rpc/status.proto",
    "p4/config/v1/p4info.proto",
    "p4/config/v1/p4types.proto",
    "p4/v1/p4data.proto",
    "p4/v1/p4runtime.proto",
    "siding/bulk/v1/bulk.proto",
    "siding/v1/role.proto",
    "stratum/role.proto",
];

const GENERATED: [&str; 7] = [
    "google.rpc.rs",
    "p4.config.v1.rs",
    "p4.v1.rs",
    "siding.bulk.v1.rs",
    "siding.v1.rs",
    "stratum.rs",
    "descriptors.bin",
];

#[test]
fn generated_code_has_not_drifted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let fresh = Path::new(env!("CARGO_TARGET_TMPDIR")).join("p4info-generated");
    generate(&root.join("proto"), &fresh);
    for name in GENERATED {
        let committed = root.join("src/generated").join(name);
        let wanted = fs::read(fresh.join(name)).unwrap();
        if std::env::var_os("SIDING_BLESS").is_some() {
            fs::write(&committed, wanted).unwrap();
        } else {
            // Not assert_eq!: nobody wants to read two files in one line.
            assert!(
                fs::read(&committed).ok() == Some(wanted),
                "{} is not what proto/ says; rerun with SIDING_BLESS=1",
                committed.display()
            );
        }
    }
}

fn generate(protos: &Path, out: &Path) {
    fs::create_dir_all(out).unwrap();
    let mut compiler = protox::Compiler::new([protos]).unwrap();
    compiler.include_imports(true).include_source_info(true).open_files(SOURCES).unwrap();
    prost_build::Config::new()
        .btree_map(["."])
        // Columns are not copied.
        .bytes([".siding.bulk"])
        .enable_type_names()
        // What other languages' libraries put into google.protobuf.Any.
        .type_name_domain(["."], "type.googleapis.com")
        .out_dir(out)
        .compile_fds(compiler.file_descriptor_set())
        .unwrap();
    // Comments are in the Rust code; the descriptors need none.
    let mut descriptors = compiler.file_descriptor_set();
    for file in &mut descriptors.file {
        file.source_code_info = None;
    }
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec()).unwrap();
}
