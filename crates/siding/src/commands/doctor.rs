//! `siding doctor`: what of the system is there, what is missing, and which command mends it.

use super::compiling::ScratchDir;
use super::tools;
use crate::cli::DoctorArgs;
use crate::output::{self, Exit};
use dpdk::InstallationError;
use native::{CacheOptions, CompileError, CompileOptions, Machine};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A minimal C file that uses the runtime.
const TRIVIAL: &str =
    "#include \"sd_runtime.h\"\nint siding_doctor(void);\nint siding_doctor(void) { return 0; }\n";

/// Minimum of memory that may be locked, for the queues and buffers of all workers.
const MEMLOCK_BYTES_MIN: u64 = 64 << 20;

/// Minimum of free space for compiled programs.
const FREE_BYTES_MIN: u64 = 256 << 20;

/// Bits of capability sets (linux/capability.h).
const CAP_NET_ADMIN: u32 = 12;
const CAP_NET_RAW: u32 = 13;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ok,
    Warn,
    Fail,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warn => "warn",
            State::Fail => "fail",
        }
    }
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Check {
    what: &'static str,
    /// Commands or features that need it.
    needed_for: &'static str,
    state: State,
    found: String,
    /// A command that mends it, or a hint if there is no such command.
    mend: Option<String>,
}

impl Check {
    fn ok(what: &'static str, needed_for: &'static str, found: impl Into<String>) -> Check {
        Check { what, needed_for, state: State::Ok, found: found.into(), mend: None }
    }

    fn warn(what: &'static str, needed_for: &'static str, found: impl Into<String>, mend: &str) -> Check {
        let state = State::Warn;
        Check { what, needed_for, state, found: found.into(), mend: Some(mend.to_string()) }
    }

    fn fail(what: &'static str, needed_for: &'static str, found: impl Into<String>, mend: &str) -> Check {
        Check { state: State::Fail, ..Check::warn(what, needed_for, found, mend) }
    }
}

pub fn run(args: &DoctorArgs) -> Exit {
    let steps: [&dyn Fn() -> Check; 16] = [
        &cache,
        &free_space,
        &iproute2,
        &|| capability("CAP_NET_RAW", CAP_NET_RAW),
        &|| capability("CAP_NET_ADMIN", CAP_NET_ADMIN),
        &memlock,
        &af_xdp,
        &tap,
        &huge_pages,
        &transparent_huge_pages,
        &isolated_cores,
        &governor,
        &dpdk,
        &nftables,
        &ipvs,
        // Last, as it may take seconds.
        &|| compiler(args),
    ];
    let mut checks = Vec::new();
    for step in steps {
        let check = step();
        if !args.json {
            output::out(&line(&check));
        }
        checks.push(check);
    }
    let is_usable = checks.iter().all(|check| check.state != State::Fail);
    if args.json {
        let lines: Vec<_> = checks
            .iter()
            .map(|check| {
                serde_json::json!({
                    "check": check.what, "state": check.state.name(), "found": check.found,
                    "needed_for": check.needed_for, "mend": check.mend,
                })
            })
            .collect();
        let value = serde_json::json!({ "version": 1, "usable": is_usable, "checks": lines });
        output::out(&format!("{value}\n"));
    }
    if is_usable { Exit::Ok } else { Exit::Environment }
}

fn line(check: &Check) -> String {
    let Check { what, needed_for, state, found, mend } = check;
    let mut text = format!("{:4}  {what}: {found} (for {needed_for})\n", state.name());
    if let Some(mend) = mend {
        text.push_str(&format!("      {mend}\n"));
    }
    text
}

const BUILDS: &str = "`build` and compiled code";
const LIVE: &str = "`switch` on live interfaces";
const SPEED: &str = "speed";

/// Drivers of DPDK's devices that Siding's documents use.
const DPDK_DRIVERS: [&str; 4] = ["memif", "vhost", "virtio", "af_xdp"];

fn compiler(args: &DoctorArgs) -> Check {
    const WHAT: &str = "C compiler";
    const MEND: &str = "apt-get install gcc libc6-dev";
    let Some(path) = tools::compiler(args.cc.as_deref()) else {
        return Check::fail(WHAT, BUILDS, "none", MEND);
    };
    let version = tools::version(&path).unwrap_or_default();
    let found = format!("{} ({version})", path.display());
    match compile_trivial(&path, Machine::ThisOne) {
        Ok(_) => Check::ok(WHAT, BUILDS, found),
        Err(error) => match compile_trivial(&path, Machine::Any) {
            Ok(_) => {
                Check::warn(WHAT, SPEED, format!("{found} without -march=native"), "build with --portable")
            }
            Err(_) => {
                let reason = error.lines().find(|line| line.contains("error")).unwrap_or(&error);
                Check::fail(WHAT, BUILDS, format!("{found} does not work: {reason}"), MEND)
            }
        },
    }
}

/// Compiles a minimal program, or finds it in the cache. Where there is no cache, a scratch directory takes its place.
fn compile_trivial(compiler: &Path, machine: Machine) -> Result<(), String> {
    let compile = |dir: Option<PathBuf>| {
        let cache = CacheOptions { dir, ..CacheOptions::default() };
        let compiler = Some(compiler.to_owned());
        native::compile(TRIVIAL, &CompileOptions { compiler, machine, cache, ..CompileOptions::default() })
    };
    let compiled = match compile(None) {
        Err(CompileError::Cache(error)) => match ScratchDir::new() {
            Ok(scratch) => compile(Some(scratch.path.clone())),
            Err(_) => Err(CompileError::Cache(error)),
        },
        compiled => compiled,
    };
    compiled.map(drop).map_err(|error| error.to_string())
}

/// Where compiled programs are kept: twin of what the cache itself chooses.
fn cache_dir() -> PathBuf {
    let from_home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
    base.or_else(from_home).unwrap_or_else(std::env::temp_dir).join("siding")
}

fn cache() -> Check {
    const WHAT: &str = "cache of compiled programs";
    let dir = cache_dir();
    let shown = dir.display();
    let probe = dir.join(format!("doctor-{}", std::process::id()));
    let written =
        fs::create_dir_all(&dir).and_then(|()| fs::write(&probe, b"")).and_then(|()| fs::remove_file(&probe));
    match written {
        Ok(()) => {
            let mib = size_of(&dir) as f64 / f64::from(1 << 20);
            Check::ok(WHAT, BUILDS, format!("{shown}, {mib:.1} MiB"))
        }
        Err(error) => Check::warn(
            WHAT,
            "compiling each program once only",
            format!("{shown} cannot be written: {error}"),
            &format!("mkdir -p {shown} && chown -R $(id -u) {shown}, or set XDG_CACHE_HOME"),
        ),
    }
}

/// Returns the bytes of all files below a directory.
fn size_of(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

fn free_space() -> Check {
    const WHAT: &str = "free space for temporary files";
    let dir = std::env::temp_dir();
    let output = Command::new("df").args(["-Pk", "--"]).arg(&dir).stdin(Stdio::null()).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let Some(bytes) = free_bytes(&text) else {
        return Check::warn(WHAT, BUILDS, "unknown", "df must be on PATH");
    };
    let found = format!("{} MiB in {}", bytes >> 20, dir.display());
    match bytes >= FREE_BYTES_MIN {
        true => Check::ok(WHAT, BUILDS, found),
        false => Check::warn(WHAT, BUILDS, found, "free some, or set TMPDIR to another directory"),
    }
}

/// Parses the output of `df -Pk`, whose sizes are in kilobytes. Returns the free bytes.
fn free_bytes(text: &str) -> Option<u64> {
    let kilobytes: u64 = text.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

fn iproute2() -> Check {
    match tools::find(OsStr::new("ip")) {
        Some(path) => Check::ok("iproute2", LIVE, path.display().to_string()),
        None => Check::warn("iproute2", "test interfaces", "none", "apt-get install iproute2"),
    }
}

const KERNEL: &str = "`bench state --app`";

fn nftables() -> Check {
    const WHAT: &str = "nftables";
    // The kernel tracks connections: built in, or loaded.
    let tracks = Path::new("/proc/sys/net/netfilter/nf_conntrack_max").exists();
    match (tools::find(OsStr::new("nft")), tracks) {
        (Some(path), true) => Check::ok(WHAT, KERNEL, path.display().to_string()),
        (Some(path), false) => Check::warn(
            WHAT,
            KERNEL,
            format!("{}; the kernel does not track connections", path.display()),
            "modprobe -a nf_tables nf_conntrack nft_ct nft_masq nft_nat nft_hash (as root)",
        ),
        (None, _) => Check::warn(WHAT, KERNEL, "none", "apt-get install nftables"),
    }
}

fn ipvs() -> Check {
    const WHAT: &str = "ipvs";
    let is_loaded = Path::new("/proc/net/ip_vs").exists();
    match (tools::find(OsStr::new("ipvsadm")), is_loaded) {
        (Some(path), true) => Check::ok(WHAT, KERNEL, path.display().to_string()),
        (Some(_), false) => Check::warn(
            WHAT,
            KERNEL,
            "not in this kernel, or not loaded",
            "modprobe ip_vs (as root); nftables takes its place",
        ),
        (None, _) => Check::warn(WHAT, KERNEL, "none", "apt-get install ipvsadm; nftables takes its place"),
    }
}

fn capability(name: &'static str, bit: u32) -> Check {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    match effective_capabilities(&status).is_some_and(|set| set >> bit & 1 == 1) {
        true => Check::ok(name, LIVE, "granted"),
        false => {
            let binary =
                std::env::current_exe().map_or_else(|_| "siding".into(), |path| path.display().to_string());
            let mend = format!("setcap cap_net_raw,cap_net_admin+ep {binary} (as root)");
            Check::warn(name, LIVE, "not granted", &mend)
        }
    }
}

fn effective_capabilities(status: &str) -> Option<u64> {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(set.trim(), 16).ok()
}

const MEMLOCK_FOR: &str = "AF_XDP, and cards with DPDK";

fn memlock() -> Check {
    const WHAT: &str = "locked memory";
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let mend = "ulimit -l unlimited, or `* - memlock unlimited` in /etc/security/limits.conf";
    match memlock_limit(&limits) {
        Some(None) => Check::ok(WHAT, MEMLOCK_FOR, "unlimited"),
        Some(Some(bytes)) if bytes >= MEMLOCK_BYTES_MIN => {
            Check::ok(WHAT, MEMLOCK_FOR, format!("{} MiB", bytes >> 20))
        }
        Some(Some(bytes)) => Check::warn(WHAT, MEMLOCK_FOR, format!("{} KiB only", bytes >> 10), mend),
        None => Check::warn(WHAT, MEMLOCK_FOR, "unknown", mend),
    }
}

/// The soft limit; the inner `None` is no limit.
fn memlock_limit(limits: &str) -> Option<Option<u64>> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(None),
        bytes => bytes.parse().ok().map(Some),
    }
}

fn af_xdp() -> Check {
    const WHAT: &str = "AF_XDP";
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    // Sockets of this family show up here once the kernel has them.
    let protocols = fs::read_to_string("/proc/net/protocols").unwrap_or_default();
    match protocols.lines().any(|line| line.starts_with("XDP")) {
        true => Check::ok(WHAT, "fast interfaces", format!("in Linux {release}")),
        false => Check::warn(
            WHAT,
            "fast interfaces",
            format!("not in this kernel, Linux {release}"),
            "a kernel with CONFIG_XDP_SOCKETS; AF_PACKET is used instead",
        ),
    }
}

fn tap() -> Check {
    const WHAT: &str = "TAP";
    const NEEDED_FOR: &str = "`tap:` ports";
    const DEVICE: &str = "/dev/net/tun";
    match fs::OpenOptions::new().read(true).write(true).open(DEVICE) {
        Ok(_) => Check::ok(WHAT, NEEDED_FOR, DEVICE),
        Err(error) => Check::warn(WHAT, NEEDED_FOR, format!("{DEVICE}: {error}"), "modprobe tun (as root)"),
    }
}

fn huge_pages() -> Check {
    const WHAT: &str = "huge pages";
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    match field(&meminfo, "HugePages_Free:").unwrap_or(0) {
        0 => Check::warn(WHAT, "DPDK", "none free", "sysctl -w vm.nr_hugepages=512 (as root)"),
        n => Check::ok(WHAT, "DPDK", format!("{n} free")),
    }
}

fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

fn transparent_huge_pages() -> Check {
    const WHAT: &str = "transparent huge pages";
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    let text = fs::read_to_string(path).unwrap_or_default();
    match chosen(&text) {
        Some("never") => {
            Check::warn(WHAT, "large tables", "never", &format!("echo madvise > {path} (as root)"))
        }
        Some(word) => Check::ok(WHAT, "large tables", word),
        None => Check::ok(WHAT, "large tables", "not in this kernel"),
    }
}

/// The word in brackets.
fn chosen(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(word, _)| word)
}

fn isolated_cores() -> Check {
    const WHAT: &str = "isolated cores";
    let cores = fs::read_to_string("/sys/devices/system/cpu/isolated").unwrap_or_default();
    match cores.trim() {
        "" => Check::warn(
            WHAT,
            "measurements without jitter",
            "none",
            "boot with isolcpus=2-3 nohz_full=2-3, for example, on the kernel's command line",
        ),
        cores => Check::ok(WHAT, "measurements without jitter", cores),
    }
}

fn governor() -> Check {
    const WHAT: &str = "frequency of cores";
    let text =
        fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").unwrap_or_default();
    match text.trim() {
        "" => Check::ok(WHAT, SPEED, "not governed here"),
        "performance" => Check::ok(WHAT, SPEED, "performance"),
        other => Check::warn(WHAT, SPEED, other, "cpupower frequency-set -g performance (as root)"),
    }
}

fn dpdk() -> Check {
    const WHAT: &str = "DPDK";
    const NEEDED_FOR: &str = "`dpdk:` ports";
    match dpdk::Installation::find() {
        Ok(installation) => {
            let (there, missing): (Vec<&str>, Vec<&str>) =
                DPDK_DRIVERS.into_iter().partition(|driver| installation.has_net_driver(driver));
            let version = &installation.version;
            match missing.as_slice() {
                [] => Check::ok(WHAT, NEEDED_FOR, format!("{version} with {}", there.join(", "))),
                missing => Check::warn(
                    WHAT,
                    NEEDED_FOR,
                    format!("{version} without {}", missing.join(", ")),
                    "a libdpdk that is built with these drivers of network devices",
                ),
            }
        }
        Err(InstallationError::NotInstalled) => {
            Check::warn(WHAT, NEEDED_FOR, "none", "apt install libdpdk-dev")
        }
        Err(InstallationError::NoPkgConfig) => {
            Check::warn(WHAT, NEEDED_FOR, "unknown without pkg-config", "apt install pkg-config libdpdk-dev")
        }
        Err(InstallationError::TooOld { version }) => {
            let (year, month) = dpdk::VERSION_MIN;
            Check::warn(
                WHAT,
                NEEDED_FOR,
                format!("{version}, which is too old"),
                &format!(
                    "a libdpdk-dev of {year}.{month} or later, or PKG_CONFIG_PATH with the directory of its libdpdk.pc"
                ),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_system_are_understood() {
        let status = "Name:\tx\nCapEff:\t0000000000003000\n";
        assert_eq!(effective_capabilities(status), Some(0x3000));
        assert_eq!(effective_capabilities("CapEff:\tzz\n"), None);
        let limits = |value: &str| format!("Limit Soft Hard Units\nMax locked memory  {value}  8 bytes\n");
        assert_eq!(memlock_limit(&limits("65536")), Some(Some(65536)));
        assert_eq!(memlock_limit(&limits("unlimited")), Some(None));
        assert_eq!(memlock_limit(""), None);
        assert_eq!(free_bytes("Filesystem 1024-blocks Used Available\n/dev/x 10 3 7 30% /\n"), Some(7168));
        assert_eq!(free_bytes(""), None);
        assert_eq!(chosen("always [madvise] never"), Some("madvise"));
        assert_eq!(chosen("none"), None);
        assert_eq!(field("HugePages_Total: 9\nHugePages_Free:    4\n", "HugePages_Free:"), Some(4));
    }

    #[test]
    fn each_line_says_what_mends_it() {
        let check = Check::warn("iproute2", "test interfaces", "none", "apt-get install iproute2");
        assert_eq!(
            line(&check),
            "warn  iproute2: none (for test interfaces)\n      apt-get install iproute2\n"
        );
    }
}
