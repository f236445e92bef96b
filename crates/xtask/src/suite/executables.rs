//! Test executables as cargo builds and describes them.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A test executable, and what cargo tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable {
    pub path: PathBuf,
    pub package: String,
    pub version: String,
    /// The folder of the package, in which its tests run.
    pub folder: PathBuf,
    /// `lib`, `bin` or `test`.
    pub kind: String,
    pub target: String,
}

impl Executable {
    /// The options of `cargo test` that run it by itself.
    pub fn name(&self) -> String {
        match self.kind.as_str() {
            "lib" => format!("-p {} --lib", self.package),
            kind => format!("-p {} --{kind} {}", self.package, self.target),
        }
    }
}

/// Builds all tests; nothing if they do not compile, which cargo has explained then.
pub fn build(root: &Path) -> Result<Option<Vec<Executable>>> {
    let arguments = [
        "test",
        "--quiet",
        "--locked",
        "--workspace",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ];
    let output = cargo(root, &arguments)?;
    if !output.status.success() {
        return Ok(None);
    }
    let metadata = metadata(root)?;
    parse(&String::from_utf8_lossy(&output.stdout), &metadata).map(Some).map_err(Error::other)
}

/// The folder of everything that cargo builds.
pub fn target_directory(root: &Path) -> Result<PathBuf> {
    let metadata = metadata(root)?;
    let folder =
        metadata["target_directory"].as_str().ok_or_else(|| Error::other("no `target_directory`"))?;
    Ok(folder.into())
}

/// The test executables among the messages of a build; `metadata` describes their packages.
pub fn parse(messages: &str, metadata: &Value) -> std::result::Result<Vec<Executable>, String> {
    let packages: BTreeMap<&str, &Value> = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let mut found = Vec::new();
    // Other lines come from build scripts and tools.
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Value =
            serde_json::from_str(line).map_err(|error| format!("a message of cargo: {error}"))?;
        let Some(path) = message["executable"].as_str() else { continue };
        if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
            continue;
        }
        let text = |value: &Value, what: &str| {
            value.as_str().map(str::to_owned).ok_or_else(|| format!("{path}: cargo does not say its {what}"))
        };
        let id = text(&message["package_id"], "package")?;
        let package = packages.get(id.as_str()).ok_or_else(|| format!("{path}: unknown package {id}"))?;
        let manifest = PathBuf::from(text(&package["manifest_path"], "manifest")?);
        found.push(Executable {
            path: path.into(),
            package: text(&package["name"], "package")?,
            version: text(&package["version"], "version")?,
            folder: manifest.parent().map(Path::to_path_buf).unwrap_or_default(),
            kind: text(&message["target"]["kind"][0], "kind")?,
            target: text(&message["target"]["name"], "target")?,
        });
    }
    found.sort_by_key(Executable::name);
    if found.is_empty() { Err("cargo has built no tests".into()) } else { Ok(found) }
}

fn metadata(root: &Path) -> Result<Value> {
    let output = cargo(root, &["metadata", "--locked", "--no-deps", "--format-version", "1"])?;
    if !output.status.success() {
        return Err(Error::other("cargo metadata failed"));
    }
    serde_json::from_slice(&output.stdout).map_err(Error::other)
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<std::process::Output> {
    Command::new(env!("CARGO")).args(arguments).current_dir(root).stderr(Stdio::inherit()).output()
}
