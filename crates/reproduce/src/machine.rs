//! The machine that measures, as the page names it.

use console::tools;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// The word for a build without full optimisation.
pub const DEVELOPMENT: &str = "a build for development";

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The value of a line `name : value`.
fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Facts about this machine now: names and values, in the order of the page.
pub fn facts(version: &str) -> Value {
    let cpuinfo = read("/proc/cpuinfo");
    let caches: Vec<String> = (0..8).filter_map(cache).collect();
    let siblings = read("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list");
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let flags = field(&cpuinfo, "flags").unwrap_or_default();
    let is_virtual = flags.split(' ').any(|flag| flag == "hypervisor");
    let compiler = tools::compiler(None);
    let compiler = compiler.map(|path| tools::version(&path).unwrap_or_else(|| path.display().to_string()));
    let isolated = read("/sys/devices/system/cpu/isolated");
    let pages = read("/sys/kernel/mm/transparent_hugepage/enabled");
    let pages = pages.split(['[', ']']).nth(1).unwrap_or("unknown").to_owned();
    let or_unknown =
        |text: Option<String>| text.filter(|t| !t.is_empty()).unwrap_or_else(|| "unknown".to_owned());
    let all = [
        ("processor", or_unknown(field(&cpuinfo, "model name"))),
        ("clock now", field(&cpuinfo, "cpu MHz").map_or("unknown".to_owned(), |mhz| format!("{mhz} MHz"))),
        ("processors", cores.to_string()),
        ("threads of the first core", or_unknown(Some(siblings))),
        ("caches of the first core", or_unknown(Some(caches.join(", ")))),
        ("isolated processors", if isolated.is_empty() { "none".to_owned() } else { isolated }),
        ("virtual machine", if is_virtual { "yes" } else { "no" }.to_owned()),
        ("memory", memory(&read("/proc/meminfo"))),
        ("transparent huge pages", pages),
        ("kernel", format!("{} {}", read("/proc/sys/kernel/ostype"), read("/proc/sys/kernel/osrelease"))),
        ("load at the start", read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(", ")),
        ("C compiler", compiler.unwrap_or_else(|| "none".to_owned())),
        (
            "Siding",
            format!("{version}, {}", if cfg!(debug_assertions) { DEVELOPMENT } else { "a release build" }),
        ),
    ];
    json!(all.map(|(name, value)| [name.to_owned(), value]))
}

/// A cache of the first processor: `L2 2048K`.
fn cache(i: usize) -> Option<String> {
    let of = |name: &str| read(&format!("/sys/devices/system/cpu/cpu0/cache/index{i}/{name}"));
    let (level, size, kind) = (of("level"), of("size"), of("type"));
    let kind = match kind.as_str() {
        "Instruction" => " instructions",
        "Data" => " data",
        _ => "",
    };
    (!size.is_empty()).then(|| format!("L{level}{kind} {size}"))
}

fn memory(meminfo: &str) -> String {
    let kib = field(meminfo, "MemTotal").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    kib.map_or("unknown".to_owned(), |kib| format!("{:.1} GiB", kib / f64::from(1 << 20)))
}

/// True when cores are not kept free from other processes.
pub fn has_shared_cores(facts: &Value) -> bool {
    facts.as_array().into_iter().flatten().any(|fact| fact[0] == "isolated processors" && fact[1] == "none")
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// `2026-11-26 21:30 UTC`
pub fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March, in eras of 400 years, so that leap days come last.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", rest / 3600, rest / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let cases = [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (951_868_800, "2000-03-01 00:00 UTC"),
            (1_735_689_599, "2024-12-31 23:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ];
        for (seconds, text) in cases {
            assert_eq!(date(seconds), text);
        }
    }

    #[test]
    fn facts_are_pairs() {
        let facts = facts("1.2.3");
        let facts = facts.as_array().unwrap();
        assert!(facts.iter().all(|fact| fact.as_array().is_some_and(|pair| pair.len() == 2)));
        assert!(facts.last().unwrap()[1].as_str().unwrap().starts_with("1.2.3, "));
        assert_eq!(memory("MemTotal:       16777216 kB\n"), "16.0 GiB");
        assert_eq!(field("model name\t: X: Y\n", "model name"), Some("X: Y".to_owned()));
    }
}
