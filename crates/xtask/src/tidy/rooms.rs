//! The Rooms table of ARCHITECTURE.md against what crates depend on and what their sources name.
//!
//! A crate depends only on crates of rows above its own. The last column lists in backticks what its sources must not
//! use: a crate or library by name (looked up in `[dependencies]`, direct ones), a path such as `std::fs`, a macro such
//! as `println!`, or `outside`, which stands for the names on the lines of the page that begin with "`outside`:".

use super::Problem;
use crate::File;
use crate::house::House;
use crate::source::PathKind;

pub(super) const PAGE: &str = "ARCHITECTURE.md";
const HEADING: &str = "| crate |";

/// One crate of the table.
pub(super) struct Room {
    pub name: String,
    pub line: usize,
    pub must_not_use: Vec<String>,
}

/// The crates of the table from top to bottom, and what `outside` stands for.
pub(super) fn table(page: &File) -> (Vec<Room>, Vec<String>) {
    let mut rooms: Vec<Room> = Vec::new();
    let mut outside = Vec::new();
    let mut lines = page.text.lines().enumerate();
    while let Some((_, line)) = lines.next() {
        if line.starts_with(HEADING) {
            for (i, row) in lines.by_ref().take_while(|(_, l)| l.starts_with('|')) {
                let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
                let must_not_use: Vec<String> = cells.get(3).map(|c| quoted(c)).unwrap_or_default();
                let names = quoted(cells[0]).into_iter().filter(|name| !name.ends_with('/'));
                rooms.extend(names.map(|name| Room {
                    name,
                    line: i + 1,
                    must_not_use: must_not_use.clone(),
                }));
            }
        }
        if line.starts_with("`outside`:") {
            outside.extend(quoted(line).into_iter().skip(1));
            for (_, line) in lines.by_ref().take_while(|(_, l)| !l.is_empty()) {
                outside.extend(quoted(line));
            }
        }
    }
    (rooms, outside)
}

/// The words in backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

pub(super) fn rooms(house: &House, problems: &mut Vec<Problem>) {
    let Some(page) = house.get(PAGE) else { return };
    let (rooms, outside) = table(page);
    if rooms.is_empty() {
        problems.push(Problem::new(page, 0, "there is no table of rooms"));
    }
    let mut is_needed = vec![false; house.rules.rooms.exception.len()];
    let is_manifest = |f: &&File| super::crates::is_manifest(&f.path);
    for manifest in house.files.iter().filter(is_manifest) {
        let name = manifest.crate_name().unwrap_or("");
        let Some(place) = rooms.iter().position(|r| r.name == name) else {
            let message = format!("crate `{name}` has no row in the table of rooms in {PAGE}");
            problems.push(Problem::new(manifest, 0, message));
            continue;
        };
        let forbidden = Forbidden::new(&rooms[place], &outside);
        let mut uses: Vec<(&File, usize, &str, String)> = Vec::new();
        for (line, dependency) in dependencies(&manifest.text) {
            if rooms.iter().position(|r| r.name == dependency).is_some_and(|p| p >= place) {
                let message = format!("`{name}` depends on `{dependency}`, which stands below it");
                problems.push(Problem::new(manifest, line, message));
            } else if let Some(entry) = forbidden.names.iter().find(|n| **n == dependency) {
                uses.push((manifest, line, entry, dependency));
            }
        }
        for file in house.files.iter().filter(|f| f.crate_name() == Some(name)) {
            let Some(source) = house.sources.get(file.path.as_str()) else { continue };
            for used in &source.paths {
                if let Some((entry, path)) = forbidden.find(&used.segments, used.kind) {
                    uses.push((file, used.line, entry, path.to_string()));
                }
            }
        }
        uses.dedup_by(|a, b| std::ptr::eq(a.0, b.0) && a.1 == b.1 && a.3 == b.3);
        for (file, line, entry, path) in uses {
            let exception = house.rules.rooms.exception.iter().position(|e| {
                e.of_crate == name && e.uses == entry && e.file.as_ref().is_none_or(|f| *f == file.path)
            });
            match exception {
                Some(i) => is_needed[i] = true,
                None => {
                    let message =
                        format!("`{path}` in crate `{name}`, which must not use it ({PAGE}, Rooms)");
                    problems.push(Problem::new(file, line, message));
                }
            }
        }
    }
    for (exception, _) in house.rules.rooms.exception.iter().zip(&is_needed).filter(|(_, needed)| !**needed) {
        let message =
            format!("`{}` uses `{}` no more: remove the exception", exception.of_crate, exception.uses);
        problems.push(Problem::shrunk(crate::rules::ROOMS, message));
    }
    for exception in house.rules.rooms.exception.iter().filter(|e| e.reason.trim().is_empty()) {
        let message = format!("no reason why `{}` uses `{}`", exception.of_crate, exception.uses);
        problems.push(Problem { path: crate::rules::ROOMS.into(), line: 0, message, is_shrunk: false });
    }
    if house.get("Cargo.toml").is_some() {
        for room in &rooms {
            if house.get(&format!("crates/{}/Cargo.toml", room.name)).is_none() {
                problems.push(Problem::new(page, room.line, format!("there is no crate `{}`", room.name)));
            }
        }
    }
}

/// Names that one crate must not use.
struct Forbidden<'page> {
    /// Crates and libraries, by their names in manifests.
    names: Vec<&'page str>,
    /// Macros and paths, each with the entry of the table that brings it.
    paths: Vec<(&'page str, &'page str)>,
}

impl<'page> Forbidden<'page> {
    fn new(room: &'page Room, outside: &'page [String]) -> Forbidden<'page> {
        let mut forbidden = Forbidden { names: Vec::new(), paths: Vec::new() };
        for entry in &room.must_not_use {
            if entry == "outside" {
                forbidden.paths.extend(outside.iter().map(|path| (entry.as_str(), path.as_str())));
            } else if entry.contains("::") || entry.ends_with('!') {
                forbidden.paths.push((entry, entry));
            } else {
                forbidden.names.push(entry);
            }
        }
        forbidden
    }

    /// The entry of the table and the path that it forbids.
    fn find(&self, segments: &[String], kind: PathKind) -> Option<(&'page str, &'page str)> {
        self.paths.iter().copied().find(|(_, path)| match path.strip_suffix('!') {
            Some(name) => kind == PathKind::Macro && segments.last().is_some_and(|s| s == name),
            None => {
                let wanted = path.split("::");
                segments.len() >= wanted.clone().count() && wanted.zip(segments).all(|(w, s)| w == s)
            }
        })
    }
}

/// Line and name of each dependency of the crate itself and of its build script. Tests may depend on anything.
fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_dependencies = false;
    for (i, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            is_dependencies = line.contains("dependencies") && !line.contains("dev-dependencies");
        } else if is_dependencies {
            let key = line.split(['.', '=', ' ']).next().unwrap_or("");
            let package = line.split("package = \"").nth(1).and_then(|rest| rest.split('"').next());
            let name = package.unwrap_or(key);
            if !name.is_empty() && !name.starts_with('#') {
                found.push((i + 1, name.to_string()));
            }
        }
    }
    found
}
