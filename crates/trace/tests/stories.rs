//! Stories of packets, as prose and as JSON: `stories/*.p4` with the packets in comments, `//> packet PORT BYTES`.
//!
//! `SIDING_BLESS=1 cargo test -p trace --test stories` writes them anew; read the difference.

use interp::traffic::Config;
use std::path::{Path, PathBuf};
use trace::{Story, StoryBuilder, VERSION, Verdict, render};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories")
}

fn bytes(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    let byte = |i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn stories(path: &Path) -> Vec<Story> {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).unwrap();
    let source = driver::Source { name, text: text.as_str().into() };
    let loader = driver::FileLoader::default();
    let mut checked = driver::check(&source, &loader, &driver::Options::default());
    let runnable = driver::runnable(&mut checked, None);
    let runnable = runnable.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let mut switch = interp::switch(runnable.program, Config::default()).unwrap();
    let packets = text.lines().filter_map(|line| line.strip_prefix("//> packet "));
    let stories = packets.map(|packet| {
        let (port, packet) = packet.split_once(' ').unwrap();
        let mut story_builder = StoryBuilder::new(Some(&checked.sources));
        switch.inject(port.parse().unwrap(), &bytes(packet), &mut story_builder);
        switch.advance_clock(1_000_000_000, &mut story_builder);
        story_builder.finish()
    });
    stories.collect()
}

fn golden(path: &Path, text: &str) {
    if std::env::var_os("SIDING_BLESS").is_some() {
        std::fs::write(path, text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(expected, text, "{} differs; SIDING_BLESS=1 rewrites it", path.display());
}

#[test]
fn packets_are_told_as_written_down() {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "p4"));
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let stories = stories(&path);
        assert!(!stories.is_empty(), "{} has no packets", path.display());
        let prose: Vec<String> = stories.iter().map(render).collect();
        golden(&path.with_extension("txt"), &prose.join("\n"));
        let json = serde_json::to_string_pretty(&stories[0]).unwrap();
        golden(&path.with_extension("json"), &format!("{json}\n"));
        for story in &stories {
            assert_eq!(story.version, VERSION);
            let again: Story = serde_json::from_str(&serde_json::to_string(story).unwrap()).unwrap();
            assert_eq!(*story, again);
        }
    }
}

#[test]
fn copies_are_summed_up() {
    let sent = |port| Verdict::Sent { port, n_bytes: 1, hex: "00".to_string() };
    let dropped = |reason: &str| Verdict::Dropped {
        reason: reason.to_string(),
        because: None,
        decided_by: None,
        port: None,
    };
    let line = |verdicts: Vec<Verdict>| {
        let prose = render(&Story { verdicts, ..Story::default() });
        prose.lines().next().unwrap().to_string()
    };
    assert_eq!(line(vec![]), "still waits in the switch");
    assert_eq!(line(vec![dropped("egress_drop"), sent(2), sent(3)]), "2 copies sent to ports 2, 3; dropped");
    assert_eq!(
        line((1..=10).map(sent).collect()),
        "10 copies sent to ports 1, 2, 3, 4, 5, 6, 7, 8 and 2 more"
    );
    let lost = vec![dropped("no_such_port"), dropped("no_such_port"), sent(1)];
    assert_eq!(line(lost), "sent to port 1; 2 copies dropped (no_such_port)");
    let to_controller = Verdict::ToController { n_bytes: 1, hex: "00".to_string() };
    assert_eq!(line(vec![to_controller]), "sent to the controller");
}
