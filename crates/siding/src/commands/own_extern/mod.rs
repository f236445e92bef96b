//! `siding extern`: files with which an author of externs in C begins.

mod name;

use crate::cli::{ExternCommand, ExternHeaderArgs, ExternKindArg, ExternNewArgs};
use crate::output::{self, Exit};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The header as the C runtime and users' libraries know it.
const HEADER: &str = "siding_extern.h";

/// Stands for the name of the extern in the texts below. It is an identifier, so that they are C and P4 as they are.
const PLACEHOLDER: &str = "NAME";

const MAKEFILE: &str = include_str!("makefile.txt");

/// Texts of one kind of extern.
struct Texts {
    source: &'static str,
    program: &'static str,
    script: &'static str,
}

const FUNCTION: Texts = Texts {
    source: include_str!("function/extern.c"),
    program: include_str!("function/program.p4"),
    script: include_str!("function/test.stf"),
};

const OBJECT: Texts = Texts {
    source: include_str!("object/extern.c"),
    program: include_str!("object/program.p4"),
    script: include_str!("object/test.stf"),
};

pub fn run(command: &ExternCommand) -> Exit {
    let done = match command {
        ExternCommand::New(args) => new(args),
        ExternCommand::Header(args) => write_header(args),
    };
    done.err().unwrap_or(Exit::Ok)
}

/// The text of the header, which the binary has for compiling programs.
fn header() -> Result<&'static str, Exit> {
    let found = native::compile::RUNTIME.iter().find(|(name, _)| *name == HEADER);
    found.map(|(_, text)| *text).ok_or_else(|| {
        output::error_line(&format!("internal bug: the runtime has no {HEADER}"));
        Exit::Bug
    })
}

fn write_header(args: &ExternHeaderArgs) -> Result<(), Exit> {
    let text = header()?;
    let Some(dir) = &args.output else {
        output::out(text);
        return Ok(());
    };
    let path = dir.join(HEADER);
    let write = || {
        fs::create_dir_all(dir)?;
        output::replace_file(&path, text.as_bytes())
    };
    write().map_err(|error| cannot_make(&path, &error))?;
    output::out(&format!("{}\n", path.display()));
    Ok(())
}

fn new(args: &ExternNewArgs) -> Result<(), Exit> {
    let texts = match args.kind {
        ExternKindArg::Function => FUNCTION,
        ExternKindArg::Object => OBJECT,
    };
    let name = args.name.as_str();
    let program = texts.program.replace(PLACEHOLDER, name);
    name::check(name, &program).map_err(|message| {
        output::error_line(&message);
        Exit::Usage
    })?;
    let files = [
        (format!("{name}.c"), texts.source.replace(PLACEHOLDER, name)),
        (format!("{name}.p4"), program),
        (format!("{name}.stf"), texts.script.to_owned()),
        ("Makefile".to_owned(), MAKEFILE.replace(PLACEHOLDER, name)),
        (HEADER.to_owned(), header()?.to_owned()),
    ];
    let dir = args.dir.clone().unwrap_or_else(|| PathBuf::from(name));
    if fs::symlink_metadata(&dir).is_ok() {
        let shown = dir.display();
        output::error_line(&format!("{shown} exists already; --dir DIR makes another folder"));
        return Err(Exit::Usage);
    }
    make_folder(&dir, &files).map_err(|error| cannot_make(&dir, &error))?;
    let shown = dir.display();
    for (name, _) in &files {
        output::out(&format!("{shown}/{name}\n"));
    }
    output::out(&format!("To build and test it: make -C {shown} test\n"));
    Ok(())
}

/// Makes a folder with its files, or nothing: it is written elsewhere and then renamed.
fn make_folder(dir: &Path, files: &[(String, String)]) -> io::Result<()> {
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temporary = tempfile::Builder::new().prefix(".siding-").tempdir_in(parent)?;
    // The temporary folder is its owner's alone; this one gets the permissions of any new folder.
    let whole = temporary.path().join("folder");
    fs::create_dir(&whole)?;
    for (name, text) in files {
        fs::write(whole.join(name), text)?;
    }
    fs::rename(&whole, dir)
}

fn cannot_make(path: &Path, error: &io::Error) -> Exit {
    output::error_line(&format!("cannot make {}: {error}", path.display()));
    Exit::Environment
}
