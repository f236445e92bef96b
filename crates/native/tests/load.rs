//! Shared objects that are not what they should be, and one written by hand that is.

mod common;

use common::TestDir;
use ir::Program;
use native::{
    BuildError, BurstPath, Instance, InstanceError, InstanceOptions, LoadError, Native, Pipeline, build_text,
};
use std::sync::Arc;
use target::BlockRunner;

/// A program with a state of two numbers, of which a parser counts up the first.
fn c_text(changes: &str) -> String {
    format!(
        "#include \"sd_runtime.h\"
struct state {{ uint32_t n; uint16_t spec; }};
static struct sd_instance *make(const struct sd_config *config);
static uint32_t run(uint32_t block, struct sd_worker *w, struct sd_packet *p, void *state)
{{
    struct state *s = state;
    if (block == 0) {{
        s->n++;
        p->cursor_bits = 12;
        s->spec = (uint16_t)w->now_ns;
        return p->length_bytes > 4 ? SD_END_DONE : SD_END_REJECTED + 3;
    }}
    if (block == 5) {{
        sd_emit_begin(w);
        sd_emit_bits(w, 12, s->n);
    }}
    return block == 3 ? SD_END_STEP_BUDGET : SD_END_DONE;
}}
static const struct sd_field_type fields[] = {{
    {{1, {{offsetof(struct state, spec), 2, 9, 0}}}},
}};
const struct sd_pipeline sd_pipeline = {{
    .abi_version = SD_ABI_VERSION,
    .abi_size = sizeof(struct sd_pipeline),
    .program_name = \"by hand\",
    .state_bytes = sizeof(struct state),
    .state_align = _Alignof(struct state),
    .n_fields = 1,
    .fields = fields,
    .control = &sd_control_ops,
    .create = make,
    .destroy = sd_instance_destroy,
    .worker = sd_instance_worker,
    .run_block = run,
{changes}}};
static struct sd_instance *make(const struct sd_config *config)
{{
    return sd_instance_create(&sd_pipeline, config);
}}
"
    )
}

fn load(dir: &TestDir, changes: &str) -> Result<Arc<Pipeline>, BuildError> {
    // A later initialiser takes the place of an earlier one; compilers warn of that.
    build_text(&c_text(changes), &dir.options())
}

fn load_error(dir: &TestDir, changes: &str) -> LoadError {
    match load(dir, changes) {
        Err(BuildError::Load(error)) => error,
        other => panic!("{changes}: {other:?}"),
    }
}

#[test]
fn another_abi_is_refused() {
    let dir = TestDir::new();
    for changes in [".abi_version = SD_ABI_VERSION + 1,\n", ".abi_size = sizeof(struct sd_pipeline) - 8,\n"] {
        let error = load_error(&dir, changes);
        assert!(matches!(error, LoadError::OtherAbi { .. }), "{error}");
    }
    let error = load_error(&dir, ".abi_version = 77,\n").to_string();
    assert!(error.contains("ABI is 77 of"), "{error}");
}

#[test]
fn what_contradicts_itself_is_refused() {
    let dir = TestDir::new();
    let cases = [
        (".run_block = NULL,\n", "a function is missing"),
        (".control = NULL,\n", "a function is missing"),
        (".n_tables = 3,\n", "an array has no address"),
        (".state_bytes = 5,\n", "a value lies outside of its memory"),
        (".state_align = 3,\n", "the alignment of the state"),
        (".state_align = 4096,\n", "the alignment of the state"),
        (".n_metadata = 1, .metadata = &(const struct sd_bytes_range){4, 5},\n", "a part of the state"),
    ];
    for (changes, expected) in cases {
        let error = load_error(&dir, changes).to_string();
        assert!(error.contains(expected), "{changes}: {error}");
    }
    match build_text("int x;\n", &dir.options()) {
        Err(BuildError::Load(LoadError::CannotLoad { .. })) => {}
        other => panic!("{other:?}"),
    }
}

/// Has nothing, as what was written by hand.
fn empty_program() -> Arc<Program> {
    let text = "architecture v1model\n";
    Arc::new(ir::text::parse(text).unwrap_or_else(|error| panic!("{error:?}")))
}

#[test]
fn packets_go_from_block_to_block() {
    use arch::{BlockRole, FieldRole};
    use target::{BlockEnd, StopReason};
    let dir = TestDir::new();
    let pipeline = load(&dir, "").unwrap();
    assert_eq!(pipeline.layout().program_name, "by hand");
    assert!(pipeline.source().exists());
    let options = InstanceOptions { n_workers: 1, seed: 0, path: BurstPath::Auto, table_size: 1024 };
    let instance = Instance::new(pipeline, empty_program(), options).unwrap();
    let mut native = Native::new(&instance, 100).unwrap();
    let mut packet = native.arrive(&[1, 2, 3, 4, 5]);
    let block = |role| arch::Architecture::v1model().pipeline().unwrap().block(role).unwrap();
    let run = |native: &mut Native, role, packet: &mut _| native.run(block(role), packet, 0x1234, &mut ());
    assert_eq!(run(&mut native, BlockRole::Parser, &mut packet), BlockEnd::Accepted);
    assert_eq!(native.field(&packet, FieldRole::EgressSpec), Some(0x1234));
    assert_eq!(native.field(&packet, FieldRole::IngressPort), None);
    native.set_field(&mut packet, FieldRole::EgressSpec, 0xffff);
    assert_eq!(native.field(&packet, FieldRole::EgressSpec), Some(0x1ff));
    assert_eq!(run(&mut native, BlockRole::Ingress, &mut packet), BlockEnd::Done);
    let stopped = BlockEnd::Stopped(StopReason::StepBudget);
    assert_eq!(run(&mut native, BlockRole::Egress, &mut packet), stopped);
    let mut copy = packet.clone();
    assert_eq!(run(&mut native, BlockRole::Parser, &mut copy), BlockEnd::Accepted);
    assert_eq!(run(&mut native, BlockRole::Deparser, &mut packet), BlockEnd::Done);
    assert_eq!(run(&mut native, BlockRole::Deparser, &mut copy), BlockEnd::Done);
    // Twelve bits, filled up, and from the next whole byte on what was not read.
    assert_eq!(native.deparsed_bytes(&packet), [0, 0x10, 3, 4, 5]);
    assert_eq!(native.deparsed_bytes(&copy), [0, 0x20, 3, 4, 5]);
    native.restart(&mut copy);
    assert_eq!(native.deparsed_bytes(&copy), [1, 2, 3, 4, 5]);
    assert_eq!(native.field(&copy, FieldRole::EgressSpec), Some(0));
    native.set_bytes(&mut copy, vec![9; 4]);
    assert_eq!(run(&mut native, BlockRole::Parser, &mut copy), BlockEnd::Rejected(3));
    assert_eq!(native.take_bytes(copy), [9; 4]);
}

#[test]
fn another_program_is_refused() {
    let dir = TestDir::new();
    let set = ".n_value_sets = 1, .value_sets = &(const struct sd_value_set_type){\"s\", 0, NULL, 1, 1},\n";
    let pipeline = load(&dir, set).unwrap();
    let options = InstanceOptions { n_workers: 1, seed: 0, path: BurstPath::Auto, table_size: 1024 };
    let refused = Instance::new(pipeline, empty_program(), options);
    assert!(matches!(refused, Err(InstanceError::OtherProgram(_))), "{refused:?}");
    let pipeline = load(&dir, "").unwrap();
    let none = InstanceOptions { n_workers: 0, ..options };
    assert!(matches!(Instance::new(pipeline, empty_program(), none), Err(InstanceError::NoMemory)));
}
