//! Circles among the modules of a crate.
//!
//! A module is a file; `main.rs` and `lib.rs` together are the root. Module A uses module B if a path in A leads to an
//! item that B defines. Re-exports are followed to the file with the definition; so neither `mod b;` nor `pub use
//! b::Item;` makes an edge from a parent to its child, and a child that names `super::Item` uses the file that defines
//! `Item`. A parent may use its own descendants: that is what they are for, so only uses in the other directions count,
//! from a child to its parent or to its sibling. A glob import of a module uses that module. Calls of methods are not seen: `impl` blocks of one type may
//! stand in several files.

use super::Problem;
use crate::house::House;
use crate::rules::CIRCLES;
use crate::source::{PathKind, Source};
use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn circles(house: &House, problems: &mut Vec<Problem>) {
    let mut of_crates: BTreeMap<&str, Vec<(&str, &Source)>> = BTreeMap::new();
    for (path, source) in &house.sources {
        if let Some(name) = house.get(path).and_then(|file| file.crate_name())
            && !path.contains("/src/bin/")
        {
            of_crates.entry(name).or_default().push((path, source));
        }
    }
    let listed = &house.rules.circles.circle;
    let mut is_needed = vec![false; listed.len()];
    for (name, files) in of_crates {
        for circle in Modules::new(&files).circles() {
            let known = listed
                .iter()
                .position(|l| l.of_crate == name && (circle.names.iter().all(|m| l.modules.contains(m))));
            match known {
                Some(i) => {
                    is_needed[i] = true;
                    let is_smaller = listed[i].modules.len() > circle.names.len();
                    if is_smaller {
                        let message = format!(
                            "a circle of `{name}` is smaller than listed: {}",
                            circle.names.join(", ")
                        );
                        problems.push(Problem::shrunk(CIRCLES, message));
                    }
                }
                None => {
                    let message = format!(
                        "modules of `{name}` use each other: {} ({})",
                        circle.names.join(", "),
                        circle.edges.join("; ")
                    );
                    problems.push(Problem {
                        path: format!("crates/{name}"),
                        line: 0,
                        message,
                        is_shrunk: false,
                    });
                }
            }
        }
    }
    for (circle, _) in listed.iter().zip(&is_needed).filter(|(_, needed)| !**needed) {
        let message = format!(
            "`{}` has no circle of {} any more: remove it",
            circle.of_crate,
            circle.modules.join(", ")
        );
        problems.push(Problem::shrunk(CIRCLES, message));
    }
    for circle in listed.iter().filter(|c| c.reason.trim().is_empty()) {
        let message = format!("no reason for the circle of {}", circle.modules.join(", "));
        problems.push(Problem { path: CIRCLES.into(), line: 0, message, is_shrunk: false });
    }
}

/// Modules that use each other, directly or through others of them.
struct Circle {
    names: Vec<String>,
    /// One path for each arrow between them.
    edges: Vec<String>,
}

/// The modules of one crate.
struct Modules<'house> {
    /// Module paths without `crate`; the root is empty.
    by_path: BTreeMap<Vec<String>, usize>,
    modules: Vec<Module<'house>>,
}

struct Module<'house> {
    path: Vec<String>,
    sources: Vec<&'house Source>,
}

/// To what a path leads: a module, or an item that it defines.
#[derive(Clone, Copy)]
enum Found {
    Module(usize),
    Item(usize),
}

/// Names that are being looked up, by module: a re-export that leads to itself leads nowhere.
type Visited = BTreeSet<(usize, String)>;

impl<'house> Modules<'house> {
    fn new(files: &[(&str, &'house Source)]) -> Modules<'house> {
        let root = Module { path: Vec::new(), sources: Vec::new() };
        let mut all = Modules { by_path: BTreeMap::from([(Vec::new(), 0)]), modules: vec![root] };
        for (file, source) in files {
            let path = module_path(file);
            let next = all.modules.len();
            let index = *all.by_path.entry(path.clone()).or_insert(next);
            if index == next {
                all.modules.push(Module { path, sources: Vec::new() });
            }
            all.modules[index].sources.push(source);
        }
        all
    }

    fn circles(&self) -> Vec<Circle> {
        let mut graph: DiGraph<usize, String> = DiGraph::new();
        let nodes: Vec<NodeIndex> = (0..self.modules.len()).map(|i| graph.add_node(i)).collect();
        for (from, module) in self.modules.iter().enumerate() {
            for (to, path) in self.uses(from, module) {
                graph.add_edge(nodes[from], nodes[to], path);
            }
        }
        let mut circles = Vec::new();
        for members in tarjan_scc(&graph).into_iter().filter(|c| c.len() > 1) {
            let is_member: BTreeSet<NodeIndex> = members.iter().copied().collect();
            let mut edges: Vec<String> = graph
                .edge_indices()
                .filter_map(|e| {
                    let (from, to) = graph.edge_endpoints(e)?;
                    let is_inside = is_member.contains(&from) && is_member.contains(&to);
                    is_inside.then(|| {
                        format!("{} -> {}: {}", self.name(graph[from]), self.name(graph[to]), graph[e])
                    })
                })
                .collect();
            edges.sort();
            let mut names: Vec<String> = members.iter().map(|m| self.name(graph[*m])).collect();
            names.sort();
            circles.push(Circle { names, edges });
        }
        circles
    }

    fn name(&self, module: usize) -> String {
        let path = &self.modules[module].path;
        if path.is_empty() { "crate".to_string() } else { path.join("::") }
    }

    /// The other modules that this one uses, each with a path that leads there.
    fn uses(&self, from: usize, module: &Module) -> BTreeMap<usize, String> {
        let mut uses = BTreeMap::new();
        for used in module.sources.iter().flat_map(|s| &s.paths) {
            let to = match (used.kind, self.resolve(from, &used.segments, &mut Visited::new())) {
                (PathKind::Reexport, _) => continue,
                (PathKind::Glob, Some(Found::Module(to)))
                | (
                    PathKind::Code | PathKind::Import | PathKind::Glob | PathKind::Macro,
                    Some(Found::Item(to)),
                ) => to,
                (PathKind::Code | PathKind::Import | PathKind::Macro, Some(Found::Module(_)))
                | (PathKind::Code | PathKind::Import | PathKind::Glob | PathKind::Macro, None) => continue,
            };
            if !self.modules[to].path.starts_with(&module.path) {
                uses.entry(to).or_insert_with(|| used.segments.join("::"));
            }
        }
        uses
    }

    fn resolve(&self, from: usize, segments: &[String], visited: &mut Visited) -> Option<Found> {
        let (first, rest) = segments.split_first()?;
        let mut found = match first.as_str() {
            "crate" => Found::Module(*self.by_path.get(&Vec::new())?),
            "self" => Found::Module(from),
            "super" => Found::Module(self.parent(from)?),
            name => self.find(from, name, visited)?,
        };
        for segment in rest {
            found = match found {
                Found::Module(module) if segment == "super" => Found::Module(self.parent(module)?),
                Found::Module(module) => self.find(module, segment, visited)?,
                Found::Item(_) => return Some(found),
            };
        }
        Some(found)
    }

    fn parent(&self, module: usize) -> Option<usize> {
        let (_, parent) = self.modules[module].path.split_last()?;
        self.by_path.get(parent).copied()
    }

    /// The name as the module sees it.
    fn find(&self, module: usize, name: &str, visited: &mut Visited) -> Option<Found> {
        if !visited.insert((module, name.to_string())) {
            return None;
        }
        let Module { path, sources } = &self.modules[module];
        let mut child = path.clone();
        child.push(name.to_string());
        if let Some(child) = self.by_path.get(&child) {
            return Some(Found::Module(*child));
        }
        if sources.iter().any(|s| s.items.contains(name)) {
            return Some(Found::Item(module));
        }
        let imports = || sources.iter().flat_map(|s| &s.imports);
        if let Some(import) = imports().find(|i| i.name == name) {
            // `use name;` of another crate would lead to itself.
            return if import.segments == [name] {
                None
            } else {
                self.resolve(module, &import.segments, visited)
            };
        }
        imports().filter(|i| i.name == "*").find_map(|glob| {
            match self.resolve(module, &glob.segments, visited)? {
                Found::Module(target) if target != module => self.find(target, name, visited),
                Found::Module(_) | Found::Item(_) => None,
            }
        })
    }
}

/// The path of the module that the file is: `crates/a/src/b/c.rs` is `b::c`.
fn module_path(file: &str) -> Vec<String> {
    let inside = file.split("/src/").nth(1).unwrap_or(file).trim_end_matches(".rs");
    let mut path: Vec<String> = inside.split('/').map(str::to_string).collect();
    let is_root = path.len() == 1 && matches!(inside, "lib" | "main");
    if is_root || path.last().is_some_and(|name| name == "mod") {
        path.pop();
    }
    path
}
