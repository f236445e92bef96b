//! `src/generated` is what tonic makes of the definitions in crate `p4info`.
//!
//! `SIDING_BLESS=1 cargo test -p grpc --test generated` rewrites it; protoc is not needed.

use std::fs;
use std::path::Path;

#[test]
fn generated_code_has_not_drifted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let fresh = Path::new(env!("CARGO_TARGET_TMPDIR")).join("grpc-generated");
    fs::create_dir_all(&fresh).unwrap();
    let mut compiler = protox::Compiler::new([root.join("../p4info/proto")]).unwrap();
    compiler
        .include_imports(true)
        .open_files(["p4/v1/p4runtime.proto", "siding/bulk/v1/bulk.proto"])
        .unwrap();
    tonic_prost_build::configure()
        .build_transport(false)
        .extern_path(".p4.v1", "::p4info::proto::p4::v1")
        .extern_path(".p4.config.v1", "::p4info::proto::p4::config::v1")
        .extern_path(".siding.bulk.v1", "::p4info::proto::siding::bulk::v1")
        .extern_path(".google.rpc", "::p4info::proto::google::rpc")
        .out_dir(&fresh)
        .compile_fds(compiler.file_descriptor_set())
        .unwrap();
    for name in ["p4.v1.rs", "siding.bulk.v1.rs"] {
        let committed = root.join("src/generated").join(name);
        // Lists are counted before they are decoded.
        let wanted = fs::read_to_string(fresh.join(name)).unwrap();
        let wanted = wanted.replace("tonic_prost::ProstCodec", "crate::bounded::BoundedCodec").into_bytes();
        if std::env::var_os("SIDING_BLESS").is_some() {
            fs::write(&committed, wanted).unwrap();
            continue;
        }
        let is_same = fs::read(&committed).ok() == Some(wanted);
        assert!(
            is_same,
            "{} is not what the definitions say; rerun with SIDING_BLESS=1",
            committed.display()
        );
    }
}
