//! Programs that run on their own.

mod common;

use common::TestDir;
use native::CompileError;
use native::executable::{RunError, Texts, executable, run};
use std::path::Path;

const MAIN: &str = "#include \"../number.h\"\n#include \"base/sd_base.h\"\n#include <stdio.h>\n\
    int main(int argc, char **argv) { puts(argv[argc - 1]); puts(\"more\"); return NUMBER; }\n";

fn texts(number: &'static str) -> Texts<'static> {
    Texts { main: "a/main.c", files: vec![("a/main.c", MAIN), ("number.h", number)] }
}

#[test]
fn what_is_printed_comes_back() {
    let dir = TestDir::new();
    let options = dir.options();
    let program = executable(&texts("#define NUMBER 0\n"), &options).unwrap();
    assert_eq!(run(&program.path, &["word".to_owned()]).unwrap(), ["word", "more"]);
    // Found again; another text is another program.
    assert_eq!(executable(&texts("#define NUMBER 0\n"), &options).unwrap(), program);
    let failing = executable(&texts("#define NUMBER 3\n"), &options).unwrap();
    assert_ne!(failing, program);
    assert!(matches!(run(&failing.path, &[]), Err(RunError::Failed { .. })));
    assert!(matches!(run(Path::new("/nowhere/at/all"), &[]), Err(RunError::CannotRun { .. })));
}

#[test]
fn what_cannot_be_compiled_is_refused() {
    let dir = TestDir::new();
    let refused = executable(&texts("#error no\n"), &dir.options());
    assert!(matches!(refused, Err(CompileError::Refused(_))), "{refused:?}");
}
