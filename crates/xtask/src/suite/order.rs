//! The order of test executables: the long ones first, and last those that run alone.

use super::executables::Executable;

/// A test executable that must not share the machine.
pub struct Alone {
    pub package: &'static str,
    pub target: &'static str,
    pub reason: &'static str,
}

/// The only list of them. Network namespaces, sockets and folders of tests have names of their own, so that no
/// executable is here because of a name.
pub const ALONE: &[Alone] = &[
    Alone {
        package: "dataplane",
        target: "flood",
        reason: "offload workers have to be too slow and still get on",
    },
    Alone {
        package: "dataplane",
        target: "live",
        reason: "no packet of a steady stream may be lost, buffers are finite",
    },
    Alone {
        package: "dataplane",
        target: "lost",
        reason: "an offload worker without a core for 300 ms counts as hung",
    },
];

/// Executables that take longest, the longest first: one that begins last ends long after the others.
pub const LONG: &[(&str, &str)] = &[
    ("siding", "ports"),
    ("siding", "hostile"),
    ("siding", "externs"),
    ("siding", "build"),
    ("native", "entities"),
    ("siding", "bench"),
    ("native", "stories"),
    ("native", "state"),
    ("native", "load"),
    ("native", "asynchronous"),
    ("native", "records"),
    ("native", "large_programs"),
    ("native", "beside"),
    ("native", "bursts"),
    ("siding", "p4runtime"),
    ("siding", "migrate"),
];

/// Those that run alone, and the others with the long ones first.
pub fn split(tests: Vec<Executable>) -> (Vec<Executable>, Vec<Executable>) {
    let is_alone = |t: &Executable| ALONE.iter().any(|a| (a.package, a.target) == (&t.package, &t.target));
    let (alone, mut others): (Vec<_>, Vec<_>) = tests.into_iter().partition(is_alone);
    let place = |t: &Executable| LONG.iter().position(|long| *long == (&t.package, &t.target));
    others.sort_by_key(|t| place(t).unwrap_or(LONG.len()));
    (alone, others)
}
