//! `siding reproduce` from outside: a page that is whole, results that are kept, and bad input.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Parts that compile no C and take no time.
const SHORT: &str = "hazards-1a,hazards-1b,hazards-1c,hazards-datacenter,models-blocks,models-extern";

fn reproduce(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siding"));
    command.arg("reproduce").args(args).current_dir(dir).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn page(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("siding-reproduction.html")).unwrap()
}

/// The names of all parts, by `--list`.
fn parts(dir: &Path) -> Vec<String> {
    let list = text(&reproduce(dir, &["--list"]).stdout);
    let lines = list.lines().skip(1).filter(|line| !line.starts_with("about"));
    lines.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

/// Fails if the page would fetch anything, has a script, or a picture that is not XML.
fn check_whole(page: &str) -> usize {
    for attribute in
        ["src=", "srcset=", "@import", "url(", "<script", "<iframe", "<object", "<embed", "<base"]
    {
        assert!(!page.contains(attribute), "{attribute}");
    }
    for (at, _) in page.match_indices("href=\"") {
        let target: String = page[at + 6..].chars().take_while(|c| *c != '"').collect();
        assert!(target.starts_with('#') || target.starts_with("data:"), "{target}");
        if let Some(place) = target.strip_prefix('#') {
            assert!(page.contains(&format!("id=\"{place}\"")), "no place {place}");
        }
    }
    let mut n = 0;
    for piece in page.split("<svg ").skip(1) {
        let end = piece.find("</svg>").unwrap();
        let svg = format!("<svg {}</svg>", &piece[..end]);
        let tree = roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
        let root = tree.root_element();
        assert!(root.attribute("aria-label").is_some_and(|label| label.len() > 20), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        n += 1;
    }
    n
}

#[test]
fn the_page_is_whole_and_results_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let output = reproduce(dir.path(), &["--smoke", "--only", SHORT, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let first = page(dir.path());
    assert!(check_whole(&first) >= 7);
    // Every part is there, made or named with the command that makes it.
    let all = parts(dir.path());
    assert!(all.len() >= 25, "{all:?}");
    assert_eq!(summary["parts"].as_array().unwrap().len(), all.len());
    for name in &all {
        assert!(first.contains(&format!("<h3 id=\"{name}\">")), "{name}");
        let is_made = SHORT.split(',').any(|short| short == name);
        let part = summary["parts"].as_array().unwrap().iter().find(|part| part["part"] == **name).unwrap();
        assert_eq!(part["status"], if is_made { "done" } else { "left-out" }, "{part}");
        assert_eq!(is_made, !first.contains(&format!("siding reproduce --smoke --only {name}<")), "{name}");
    }
    // Readings are computed: the published number of blocks is found by the model.
    let blocks =
        summary["parts"].as_array().unwrap().iter().find(|part| part["part"] == "models-blocks").unwrap();
    assert_eq!(blocks["readings"][0]["agreement"], "same", "{blocks}");
    assert_eq!(blocks["readings"][0]["here"], "254, 408, 544, 578 and 612");
    let progress = text(&output.stderr);
    assert!(progress.contains("[1/6] hazards-1a: ") && progress.contains(" left\n"), "{progress}");

    // A second run finds all results; with `--fresh` it makes them again.
    let kept = dir.path().join("siding-reproduction.parts/smoke/hazards-1a.json");
    let written = std::fs::metadata(&kept).unwrap().modified().unwrap();
    let again = reproduce(dir.path(), &["--smoke", "--only", SHORT]);
    assert!(text(&again.stderr).contains("0 parts to run, 6 are there already"), "{}", text(&again.stderr));
    assert_eq!(std::fs::metadata(&kept).unwrap().modified().unwrap(), written);
    assert!(text(&again.stdout).starts_with("siding-reproduction.html: 6 of "), "{}", text(&again.stdout));
    let fresh = reproduce(dir.path(), &["--smoke", "--only", "hazards-1a", "--fresh", "--quiet"]);
    assert_eq!((fresh.status.code(), text(&fresh.stderr)), (Some(0), String::new()));
    assert_ne!(std::fs::metadata(&kept).unwrap().modified().unwrap(), written);

    // Text of results is text on the page, whatever it is.
    let mut record: Value = serde_json::from_slice(&std::fs::read(&kept).unwrap()).unwrap();
    record["outputs"][0][1]["title"] = "<script>alert(1)</script>\u{1} & \"x\"".into();
    record["outputs"][0][1]["notes"] = serde_json::json!(["<img src=x onerror=alert(1)>"]);
    record["machine"] = serde_json::json!([["processor", "<b>other</b>"]]);
    std::fs::write(&kept, record.to_string()).unwrap();
    reproduce(dir.path(), &["--smoke", "--only", SHORT, "--quiet"]);
    let hostile = page(dir.path());
    assert!(
        hostile.contains("&lt;img src=x")
            && hostile.contains("&lt;script&gt;")
            && hostile.contains("&lt;b&gt;other")
    );
    assert!(!hostile.contains("<img") && !hostile.contains("<b>"));
    check_whole(&hostile.replace("src=x", ""));
}

#[test]
fn shards_make_one_page() {
    let dir = tempfile::tempdir().unwrap();
    let only = ["--smoke", "--only", "hazards-1a,hazards-1b,models-extern", "--state", "results", "--quiet"];
    for (shard, n_done) in [("1/2", 2), ("2/2", 3)] {
        let output = reproduce(dir.path(), &[&only[..], &["--shard", shard]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains(&format!(": {n_done} of ")), "{}", text(&output.stdout));
    }
    check_whole(&page(dir.path()));
}

#[test]
fn a_part_that_fails_is_on_the_page() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_siding"));
    command.args(["reproduce", "--smoke", "--only", "async-4,hazards-1a", "--quiet"]);
    let compiler = dir.path().join("cc");
    std::fs::write(&compiler, "#!/bin/sh\necho 'this <compiler> is broken' >&2\nexit 1\n").unwrap();
    std::fs::set_permissions(&compiler, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = command
        .env("CC", &compiler)
        .env("XDG_CACHE_HOME", dir.path())
        .current_dir(dir.path())
        .output()
        .unwrap();
    let page = page(dir.path());
    check_whole(&page);
    // One core has no such part.
    if std::thread::available_parallelism().map_or(1, std::num::NonZero::get) >= 2 {
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
        assert!(
            text(&output.stdout).contains("async-4 failed: siding bench async"),
            "{}",
            text(&output.stdout)
        );
        assert!(page.contains("This part has failed.") && page.contains("this &lt;compiler&gt; is broken"));
    }
    assert!(page.contains("<h3 id=\"hazards-1a\">") && page.contains("Sizes of packets"));
    // Without a compiler the part is named with what to install.
    let output = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["reproduce", "--smoke", "--only", "async-breakdown", "--quiet"])
        .env("CC", "/no/such/compiler")
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stdout);
    assert!(
        said.contains("async-breakdown is missing: there is no C compiler; apt-get install gcc"),
        "{said}"
    );
}

#[test]
fn bad_input_is_refused_before_anything_runs() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |args: &[&str], code: i32, words: &str| {
        let output = reproduce(dir.path(), args);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
        assert!(stderr.contains(words), "{args:?}: {stderr}");
        assert!(output.stdout.is_empty());
    };
    refused(
        &["--only", "async-9"],
        2,
        "there is no part `async-9`; lines of research are async, control, hazards",
    );
    refused(&["--only", ""], 2, "there is no part ``");
    refused(&["--quick", "--smoke"], 2, "cannot be used with");
    for shard in ["0/2", "3/2", "x", "1/0"] {
        refused(&["--shard", shard], 2, "--shard");
    }
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    refused(&["-o", "folder"], 2, "it is a directory");
    refused(&["-o", "no/page.html"], 4, "there is no directory no");
    std::fs::write(dir.path().join("file"), "x").unwrap();
    refused(&["--state", "file"], 4, "file/full");
    let old = dir.path().join("old/full");
    std::fs::create_dir_all(&old).unwrap();
    std::fs::write(old.join("hazards-1a.json"), "{\"siding_reproduce\": 1, \"siding\": \"0.0.1\"}").unwrap();
    refused(&["--state", "old"], 2, "a result of Siding 0.0.1");
    std::fs::write(old.join("hazards-1a.json"), "not json").unwrap();
    refused(&["--state", "old"], 2, "this is not a result of `siding reproduce`");
    assert!(!dir.path().join("siding-reproduction.html").exists());
}
