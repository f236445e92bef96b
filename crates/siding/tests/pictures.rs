//! The pictures in `docs/pictures` are what the commands on its page draw.
//!
//! `SIDING_BLESS=1 cargo test -p siding --test pictures` draws them anew.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the program in a folder that has the examples.
fn siding(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_siding")).args(args).current_dir(folder).output().unwrap()
}

/// A folder that looks like the repository, in which pictures are drawn.
fn workshop() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("docs/pictures")).unwrap();
    std::os::unix::fs::symlink(
        root().join("examples").canonicalize().unwrap(),
        folder.path().join("examples"),
    )
    .unwrap();
    folder
}

#[test]
fn pictures_of_the_page_are_drawn_anew() {
    let folder = workshop();
    let page = std::fs::read_to_string(root().join("docs/pictures/README.md")).unwrap();
    let commands: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("    siding ")).collect();
    assert!(commands.len() >= 6, "{commands:?}");
    for command in commands {
        let args: Vec<&str> = command.split_whitespace().collect();
        let output = siding(folder.path(), &args);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let name = args.iter().find(|arg| arg.ends_with(".svg")).unwrap();
        let drawn = std::fs::read_to_string(folder.path().join(name)).unwrap();
        let kept = root().join(name);
        if std::env::var_os("SIDING_BLESS").is_some() {
            std::fs::write(&kept, &drawn).unwrap();
        }
        assert!(std::fs::read_to_string(&kept).unwrap_or_default() == drawn, "{name} differs: {command}");
        let file = Path::new(name).file_name().unwrap().to_str().unwrap();
        assert!(page.contains(&format!("]({file})")), "{file} is not shown");
    }
}

fn dot(what: &str) -> String {
    let output = siding(&root(), &["graph", what, "examples/01-router/router.p4"]);
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn graphs_have_the_expressions_of_the_program() {
    let parser = dot("--parser");
    assert_eq!(parser.matches("label=\"start").count(), 1, "{parser}");
    assert!(parser.contains("select (headers.ethernet.ether_type)"), "{parser}");
    assert!(parser.contains("label=\"ETHER_TYPE_IPV4\""), "{parser}");
    assert!(parser.contains("(0, PROTOCOL_TCP)\\n(0, PROTOCOL_UDP)"), "{parser}");
    assert!(parser.contains("label=\"verify fails\""), "{parser}");
    let control = dot("--control");
    assert!(control.contains("!headers.ipv4.isValid() || headers.ipv4.ttl <= 1"), "{control}");
    assert!(control.contains("headers.ipv4.destination: lpm"), "{control}");
    assert!(control.contains("action Router.drop (default)"), "{control}");
    assert!(control.contains("label=\"hit\"") && control.contains("label=\"miss\""), "{control}");
    assert!(!control.contains('$'), "{control}");
    assert!(dot("--tables").contains("reverse: an action writes what the other table reads."));
}

#[test]
fn temporaries_are_not_drawn() {
    let output = siding(&root(), &["graph", "examples/05-tunnel/tunnel.p4"]);
    let control = String::from_utf8(output.stdout).unwrap();
    assert!(control.contains("label=\"standard.parser_error != error.NoError"), "{control}");
    let statements = control.lines().filter(|line| line.contains("\\l\", shape=box]"));
    let hits: Vec<&str> =
        statements.filter(|line| line.contains("is_opened") && line.contains(".hit")).collect();
    assert!(hits.is_empty(), "{hits:?}");
}

#[test]
fn boxes_have_tooltips_and_links() {
    let folder = workshop();
    let args = ["graph", "examples/01-router/router.p4", "-o", "docs/control.svg"];
    assert!(siding(folder.path(), &args).status.success());
    let svg = std::fs::read_to_string(folder.path().join("docs/control.svg")).unwrap();
    assert!(svg.contains("<a href=\"../examples/01-router/router.p4#L"), "{svg}");
    assert!(svg.contains("<title>action permit()"), "{svg}");
    assert!(svg.contains("prefers-color-scheme: dark"), "{svg}");
}

#[test]
fn kinds_of_pictures_that_cannot_be_drawn_are_refused() {
    for (name, word) in [("x.png", "rsvg-convert x.svg -o x.png"), ("x.jpg", ".svg"), ("x", ".svg")] {
        // The program does not matter: nothing is compiled for a picture that cannot be written.
        let output = siding(Path::new("/"), &["graph", "absent.p4", "-o", name]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(word) && message.contains(name), "{message}");
    }
}

#[test]
fn a_simulation_without_a_figure_has_nothing_to_draw() {
    let folder = workshop();
    let output = siding(folder.path(), &["sim", "--svg", "x.svg", "-n", "1000"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("--figure 1a, 1b, 1c or flow"), "{message}");
    assert!(!folder.path().join("x.svg").exists());
}

#[test]
fn published_points_stand_only_beside_figures_of_such_traffic() {
    let folder = workshop();
    let draw = |further: &[&str]| {
        let args = ["sim", "--figure", "1b", "-n", "2000", "--alpha", "1", "--quiet", "--svg", "x.svg"];
        let output = siding(folder.path(), &[&args, further].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read_to_string(folder.path().join("x.svg")).unwrap()
    };
    assert!(draw(&[]).contains("alpha = 1 (published)"));
    assert!(!draw(&["--profile", "mawi"]).contains("published)"));
    assert!(!draw(&["--key", "5-tuple"]).contains("published)"));
}
