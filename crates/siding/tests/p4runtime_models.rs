//! Random operations of controllers on compiled programs behind `siding switch`, against small models.

#[path = "../../grpc/tests/p4runtime/bench.rs"]
#[expect(dead_code, unused_imports, reason = "a device in this process is for tests of crate `grpc`")]
mod bench;
#[path = "../../grpc/tests/p4runtime/desk.rs"]
#[expect(dead_code, reason = "refusals are for tests of crate `grpc`")]
mod desk;
#[path = "../../grpc/tests/p4runtime/history.rs"]
mod history;
#[path = "p4runtime/live_switch.rs"]
#[expect(dead_code, reason = "other tests give commands")]
mod live_switch;
#[path = "../../grpc/tests/p4runtime/models.rs"]
mod models;

use bench::{Bench, DEVICE};
use desk::{Desk, LINES};
use live_switch::LiveSwitch;

/// A switch that runs the program of the lines.
struct Running {
    _dir: tempfile::TempDir,
    switch: LiveSwitch,
}

impl Running {
    fn start(args: &[&str]) -> Running {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("lines.p4");
        std::fs::write(&program, LINES).unwrap();
        let switch = LiveSwitch::start(dir.path(), DEVICE, &[args, &[program.to_str().unwrap()]].concat());
        Running { _dir: dir, switch }
    }

    fn bench(&self) -> Bench {
        Bench::connected(self.switch.address.clone())
    }
}

#[test]
fn entities_of_compiled_programs_come_back_and_histories_are_serialisable() {
    let switch = Running::start(&["--no-arbitration"]);
    let desk = Desk::on(switch.bench());
    models::histories_are_serialisable(&desk);
    for key in 0..4 {
        desk.codes(&[&format!(
            "delete table_entry {{ table_id: $pairs exact(1,\\x07) exact(2,\\x0{key}) }}"
        )]);
    }
    models::what_is_written_comes_back(&desk);
}

#[test]
fn controllers_of_compiled_programs_behave_like_their_model() {
    let switch = Running::start(&[]);
    models::controllers_behave_like_their_model(switch.bench(), None, 9);
}
