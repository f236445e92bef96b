//! Commands with the names of p4c and BMv2.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const ROUTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/01-router/router.p4");

struct Shims(tempfile::TempDir);

impl Shims {
    fn new() -> Shims {
        let dir = tempfile::tempdir().unwrap();
        let made = Command::new(env!("CARGO_BIN_EXE_siding")).arg("shims").arg(dir.path()).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        assert!(String::from_utf8_lossy(&made.stdout).contains("export PATH="));
        Shims(dir)
    }

    fn dir(&self) -> &Path {
        self.0.path()
    }

    /// Runs a shim in the directory of the shims, with sockets and a cache of its own.
    fn run(&self, name: &str, line: &str) -> Output {
        let mut command = Command::new(self.dir().join(name));
        command.args(line.split(' ')).current_dir(self.dir()).env("XDG_RUNTIME_DIR", self.dir());
        command.env("TMPDIR", self.dir()).output().unwrap()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn p4c_makes_p4info_and_a_program_that_runs() {
    let shims = Shims::new();
    let line = format!("--p4v 16 --p4runtime-files r.p4info.txtpb,r.p4info.json -o r.json {ROUTER}");
    let made = shims.run("p4c-bm2-ss", &line);
    assert!(made.status.success(), "{made:?}");
    assert!(fs::read_to_string(shims.dir().join("r.p4info.txtpb")).unwrap().contains("Router.routes"));
    let p4info = fs::read_to_string(shims.dir().join("r.p4info.json")).unwrap();
    assert!(serde_json::from_str::<Value>(&p4info).unwrap()["tables"].is_array());
    let program: Value = serde_json::from_slice(&fs::read(shims.dir().join("r.json")).unwrap()).unwrap();
    assert_eq!((&program["siding"], &program["architecture"]), (&1.into(), &"v1model".into()));

    let line = format!("--target bmv2 --arch v1model --std p4-16 --p4runtime-files f.txtpb -o out {ROUTER}");
    let made = shims.run("p4c", &line);
    assert!(made.status.success(), "{made:?}");
    let other = fs::read(shims.dir().join("out/router.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&other).unwrap(), program);

    let packet = "020000000000020000000099080045000000";
    let story = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["trace", "-p", packet])
        .arg(shims.dir().join("out/router.json"))
        .output()
        .unwrap();
    assert!(story.status.success(), "{story:?}");
}

#[test]
fn p4c_says_where_errors_are() {
    let shims = Shims::new();
    fs::write(shims.dir().join("broken.p4"), "#include <v1model.p4>\nconst bit<8> x = y;\n").unwrap();
    let failed = shims.run("p4c-bm2-ss", "--p4v 16 --p4runtime-files b.txtpb -o b.json broken.p4");
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    assert!(stderr(&failed).contains("broken.p4:2:18"), "{}", stderr(&failed));
    assert!(!shims.dir().join("b.json").exists() && !shims.dir().join("b.txtpb").exists());
    for line in
        ["--target dpdk x.p4", "--p4v 14 x.p4", "--p4runtime-files x.yaml x.p4", "missing.p4", "--wrong"]
    {
        let failed = shims.run("p4c", line);
        assert_eq!(failed.status.code(), Some(1), "{line}: {failed:?}");
        assert!(stderr(&failed).starts_with("error"), "{line}: {}", stderr(&failed));
    }
}

#[test]
fn switches_say_what_they_do_not_take() {
    let shims = Shims::new();
    let refused = shims.run("simple_switch_grpc", "--no-p4 --dp-grpc-server-addr 127.0.0.1:1");
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("packets do not come over gRPC"), "{refused:?}");
    fs::write(shims.dir().join("bmv2.json"), "{\"header_types\": [], \"pipelines\": []}").unwrap();
    let refused = shims.run("simple_switch", "bmv2.json --thrift-port 19099");
    assert!(!refused.status.success());
    assert!(stderr(&refused).contains("it is the BMv2 JSON that p4c writes"), "{refused:?}");
    let lost = shims.run("simple_switch_CLI", "--thrift-port 19098");
    assert_eq!(lost.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&lost.stdout).contains("Could not connect"), "{lost:?}");
}
