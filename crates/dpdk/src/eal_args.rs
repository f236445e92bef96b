//! Arguments for EAL, so that it takes no more than it is given.

use std::fs;

/// Variable of the environment with more arguments for EAL, after ours, which they replace.
pub const ARGS_VARIABLE: &str = "SIDING_DPDK_ARGS";

/// Huge pages that a few ports need.
const HUGE_BYTES_MIN: u64 = 96 << 20;

/// Memory without huge pages, in MiB. It cannot grow; what is not used costs nothing.
const MEMORY_MIB: u32 = 512;

/// Arguments of EAL, and what they say about memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EalArgs {
    pub(crate) words: Vec<String>,
    pub(crate) has_huge_pages: bool,
}

impl EalArgs {
    /// For a process whose threads may run on `cores`.
    pub(crate) fn new(cores: &[usize], huge_bytes_free: u64, users: &str) -> EalArgs {
        let users: Vec<&str> = users.split_whitespace().collect();
        let has = |names: &[&str]| {
            let is_named = |word: &str, name: &str| {
                word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            };
            users.iter().any(|word| names.iter().any(|name| is_named(word, name)))
        };
        let mut words = vec!["siding".to_owned()];
        let mut add = |text: String| words.extend(text.split_whitespace().map(str::to_owned));
        add("--no-telemetry --no-shconf".to_owned());
        if !has(&["--lcores", "-l", "-c"]) {
            // One thread, which ends after the start, on all cores: nothing is pinned, no other thread is started.
            let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
            add(format!("--lcores=0@({})", cores.join(",")));
        }
        if !has(&["-a", "--allow", "-b", "--block", "--no-pci"]) {
            // An address that no device has. The scan reads sysfs only; devices are opened when ports name them.
            add("-a ffff:ff:1f.7".to_owned());
        }
        let is_without = has(&["--no-huge"]);
        let is_chosen =
            has(&["--in-memory", "--huge-dir", "-m", "--socket-mem", "--legacy-mem", "--huge-unlink"]);
        let has_huge_pages = !is_without && (is_chosen || huge_bytes_free >= HUGE_BYTES_MIN);
        match (is_without || is_chosen, has_huge_pages) {
            (true, _) => {}
            (false, true) => add("--in-memory --single-file-segments".to_owned()),
            (false, false) => add(format!("--no-huge -m {MEMORY_MIB}")),
        }
        words.extend(users.iter().map(|word| (*word).to_owned()));
        EalArgs { words, has_huge_pages }
    }

    /// For this process.
    pub(crate) fn for_this_process() -> EalArgs {
        let users = std::env::var(ARGS_VARIABLE).unwrap_or_default();
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        EalArgs::new(
            &packet_io::allowed_cores().unwrap_or_else(|_| vec![0]),
            huge_bytes_free(&meminfo),
            &users,
        )
    }
}

/// Free huge pages of the size that is the kernel's default, in bytes.
fn huge_bytes_free(meminfo: &str) -> u64 {
    let field = |name: &str| {
        let rest = meminfo.lines().find_map(|line| line.strip_prefix(name));
        rest.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    field("HugePages_Free:") * field("Hugepagesize:") * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(huge_bytes_free: u64, users: &str) -> (String, bool) {
        let args = EalArgs::new(&[0, 3], huge_bytes_free, users);
        (args.words.join(" "), args.has_huge_pages)
    }

    #[test]
    fn users_arguments_replace_ours() {
        let common = "siding --no-telemetry --no-shconf --lcores=0@(0,3) -a ffff:ff:1f.7";
        assert_eq!(args(0, ""), (format!("{common} --no-huge -m 512"), false));
        assert_eq!(args(1 << 30, ""), (format!("{common} --in-memory --single-file-segments"), true));
        assert_eq!(args(1 << 30, "--no-huge -m 99"), (format!("{common} --no-huge -m 99"), false));
        let (words, has_huge_pages) = args(0, "--allow=0000:00:04.0 -l 1 --socket-mem=64");
        assert!(has_huge_pages);
        assert_eq!(words, "siding --no-telemetry --no-shconf --allow=0000:00:04.0 -l 1 --socket-mem=64");
    }

    #[test]
    fn huge_pages_are_counted_in_bytes() {
        assert_eq!(huge_bytes_free("HugePages_Free:     3\nHugepagesize:       2048 kB\n"), 3 * 2048 * 1024);
        assert_eq!(huge_bytes_free("HugePages_Free:     3\n"), 0);
    }
}
