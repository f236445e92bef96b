//! `siding shims`: commands with the names of p4c and BMv2, behind which Siding runs.
//!
//! They are symbolic links to the binary, which looks at the name that it was called by. Scripts would do for most users, but
//! then the process would be called `siding`, and `pkill simple_switch_grpc` would find nothing.

mod compile;
mod nodes;
mod prompt;
mod switch;

use crate::cli::ShimsArgs;
use crate::output::{self, Exit};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A command of p4c or BMv2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shim {
    SimpleSwitch,
    SimpleSwitchGrpc,
    SimpleSwitchCli,
    P4c,
    P4cBm2Ss,
}

impl Shim {
    const ALL: [Shim; 5] =
        [Shim::SimpleSwitch, Shim::SimpleSwitchGrpc, Shim::SimpleSwitchCli, Shim::P4c, Shim::P4cBm2Ss];

    fn name(self) -> &'static str {
        match self {
            Shim::SimpleSwitch => "simple_switch",
            Shim::SimpleSwitchGrpc => "simple_switch_grpc",
            Shim::SimpleSwitchCli => "simple_switch_CLI",
            Shim::P4c => "p4c",
            Shim::P4cBm2Ss => "p4c-bm2-ss",
        }
    }

    /// The shim that a process was called as.
    fn of(program: &OsStr) -> Option<Shim> {
        let name = Path::new(program).file_name()?;
        Shim::ALL.into_iter().find(|shim| name == shim.name())
    }
}

/// Work of a process by the name that it was called by.
pub enum Called {
    /// It is a command of Siding, with these arguments.
    Siding(Vec<OsString>),
    /// All is done.
    Done(Exit),
}

/// Does the work of a shim, or translates its arguments.
pub fn called(args: Vec<OsString>) -> Called {
    let Some(shim) = args.first().and_then(|program| Shim::of(program)) else { return Called::Siding(args) };
    match shim {
        Shim::SimpleSwitch | Shim::SimpleSwitchGrpc => match switch::translated(shim, &args[1..]) {
            Ok(args) => Called::Siding(args),
            Err(message) => {
                output::error_line(&message);
                Called::Done(Exit::Failed)
            }
        },
        Shim::SimpleSwitchCli => Called::Done(prompt::run(&args)),
        Shim::P4c | Shim::P4cBm2Ss => Called::Done(compile::run(shim, &args)),
    }
}

/// `siding shims`.
pub fn run(args: &ShimsArgs) -> Exit {
    match if args.remove { remove(&args.dir) } else { make(&args.dir) } {
        Ok(()) => Exit::Ok,
        Err(message) => {
            output::error_line(&message);
            Exit::Environment
        }
    }
}

fn make(dir: &Path) -> Result<(), String> {
    let siding = siding()?;
    fs::create_dir_all(dir).map_err(|error| format!("cannot make {}: {error}", dir.display()))?;
    let paths: Vec<PathBuf> = Shim::ALL.iter().map(|shim| dir.join(shim.name())).collect();
    if let Some(path) =
        paths.iter().find(|path| fs::symlink_metadata(path).is_ok() && !is_ours(path, &siding))
    {
        return Err(format!(
            "{} is there and is not of siding shims; name another directory, or remove it",
            path.display()
        ));
    }
    for path in &paths {
        let failed = |error| format!("cannot make {}: {error}", path.display());
        if fs::symlink_metadata(path).is_ok() {
            fs::remove_file(path).map_err(failed)?;
        }
        symlink(&siding, path).map_err(failed)?;
    }
    let names: Vec<&str> = Shim::ALL.iter().map(|shim| shim.name()).collect();
    let shown = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    output::out(&format!(
        "{} are Siding now, if you put their directory first on your PATH:\n  export PATH={}:$PATH\n",
        names.join(", "),
        shown.display()
    ));
    Ok(())
}

fn remove(dir: &Path) -> Result<(), String> {
    let siding = siding()?;
    for path in Shim::ALL.iter().map(|shim| dir.join(shim.name())) {
        if is_ours(&path, &siding) {
            fs::remove_file(&path).map_err(|error| format!("cannot remove {}: {error}", path.display()))?;
        }
    }
    Ok(())
}

fn siding() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("cannot tell where siding is: {error}"))
}

/// True for a link to this binary, or to one of the same name, which may be gone or be another version.
fn is_ours(path: &Path, siding: &Path) -> bool {
    fs::read_link(path).is_ok_and(|target| target == siding || target.file_name() == siding.file_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_what_it_was_called_as() {
        assert_eq!(Shim::of(OsStr::new("/x/simple_switch_grpc")), Some(Shim::SimpleSwitchGrpc));
        assert_eq!(Shim::of(OsStr::new("p4c")), Some(Shim::P4c));
        assert_eq!(Shim::of(OsStr::new("/x/siding")), None);
    }

    #[test]
    fn only_own_files_are_replaced() {
        let dir = tempfile::tempdir().unwrap();
        make(dir.path()).unwrap();
        make(dir.path()).unwrap();
        let p4c = dir.path().join("p4c");
        fs::remove_file(&p4c).unwrap();
        fs::write(&p4c, "").unwrap();
        assert!(make(dir.path()).unwrap_err().contains("is not of siding shims"));
        remove(dir.path()).unwrap();
        assert!(p4c.is_file());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
