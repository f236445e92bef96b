//! All scripts of the reference compiler's checkout, when `P4C` names one.

use std::path::{Path, PathBuf};

fn scripts(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            scripts(&path, into);
        } else if path.extension().is_some_and(|e| e == "stf") {
            into.push(path);
        }
    }
}

#[test]
fn all_scripts_parse() {
    let Some(p4c) = std::env::var_os("P4C") else {
        return;
    };
    let mut paths = Vec::new();
    scripts(&Path::new(&p4c).join("testdata"), &mut paths);
    assert!(paths.len() >= 300, "only {} scripts in {}", paths.len(), p4c.display());
    let mut faults = Vec::new();
    let mut n_commands = 0;
    for path in &paths {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy();
        let parsed = stf::parse(&name, &text);
        n_commands += parsed.script.commands.len();
        faults.extend(parsed.diagnostics.iter().map(|d| diagnostics::render::short(d, &parsed.sources)));
    }
    println!("{} scripts, {n_commands} commands", paths.len());
    // This one lacks a comma, and the runner there skips it.
    assert_eq!(faults, ["routing_default.stf:1:64: error[P2501]: expected `,` or `)`, found `port`"]);
}

/// The P4Info of the program that a script is for. The reference compiler's own has none for some architectures
/// and for older programs: a folder with further ones, `NAME.p4info.txtpb`, can be given as `P4INFO`.
fn p4info(script: &Path) -> Option<p4info::P4Info> {
    let folder = script.parent()?.file_name()?.to_str()?;
    let name = script.file_stem()?.to_str()?;
    let outputs = script.parent()?.parent()?.join(format!("{folder}_outputs"));
    let text = std::fs::read(outputs.join(format!("{name}.p4.p4info.txtpb"))).or_else(|e| {
        let further = PathBuf::from(std::env::var_os("P4INFO").ok_or(e)?);
        std::fs::read(further.join(format!("{name}.p4info.txtpb")))
    });
    p4info::decode_p4info(&text.ok()?, p4info::Format::Text).ok()
}

/// Every script names what its program has, and its updates are ones that a control plane may make.
#[test]
fn all_scripts_resolve() {
    let Some(p4c) = std::env::var_os("P4C") else {
        return;
    };
    let mut paths = Vec::new();
    scripts(&Path::new(&p4c).join("testdata"), &mut paths);
    paths.sort();
    let (mut n_resolved, mut n_updates, mut no_program, mut faults) = (0, 0, Vec::new(), Vec::new());
    for path in &paths {
        let name = path.file_name().unwrap().to_string_lossy().to_string();
        let text = std::fs::read_to_string(path).unwrap();
        let parsed = stf::parse(&name, &text);
        let is_about_objects = parsed.script.commands.iter().any(|c| {
            !matches!(
                c.kind,
                stf::script::CommandKind::Packet { .. }
                    | stf::script::CommandKind::Expect(_)
                    | stf::script::CommandKind::Wait
            )
        });
        if !is_about_objects {
            continue;
        }
        let Some(p4info) = p4info(path) else {
            no_program.push(name);
            continue;
        };
        let schema = match control::Schema::new(&p4info) {
            Ok(schema) => schema,
            Err(e) => {
                faults.push(format!("{name}: {e}"));
                continue;
            }
        };
        let (plan, found) = stf::resolve(&parsed.script, &schema);
        n_resolved += 1;
        for step in &plan.steps {
            if let stf::StepKind::Write(updates) = &step.kind {
                n_updates += updates.len();
            }
        }
        faults.extend(found.iter().map(|d| diagnostics::render::short(d, &parsed.sources)));
    }
    println!("{n_resolved} scripts resolved, {n_updates} updates; without program: {no_program:?}");
    assert_eq!(faults, [""; 0]);
}
