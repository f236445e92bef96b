//! All parts of the page, in its order.

mod asynchronous;
mod control;
mod hazards;
mod models;
mod state;

use crate::part::{Part, Research};

pub fn all() -> Vec<&'static Part> {
    [asynchronous::PARTS, control::PARTS, hazards::PARTS, models::PARTS, state::PARTS]
        .into_iter()
        .flatten()
        .collect()
}

/// The parts that these names mean: of single ones, or of lines of research. The error lists the names that are known.
pub fn selected(names: &[String]) -> Result<Vec<&'static Part>, String> {
    let known = all();
    for name in names {
        let is_research = Research::ALL.iter().any(|research| research.name() == name);
        if !is_research && !known.iter().any(|part| part.name == name) {
            let lines: Vec<&str> = Research::ALL.iter().map(|research| research.name()).collect();
            let parts: Vec<&str> = known.iter().map(|part| part.name).collect();
            return Err(format!(
                "there is no part `{name}`; lines of research are {}; parts are {}",
                lines.join(", "),
                parts.join(", ")
            ));
        }
    }
    let is_wanted =
        |part: &&&Part| names.is_empty() || names.iter().any(|n| n == part.name || n == part.research.name());
    Ok(known.iter().filter(is_wanted).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::{Need, Size};

    #[test]
    fn names_begin_with_the_line_of_research_and_differ() {
        let all = all();
        let mut names: Vec<&str> = all.iter().map(|part| part.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
        assert!(all.iter().all(|part| part.name.starts_with(&format!("{}-", part.research.name()))));
        assert!(all.is_sorted_by_key(|part| part.research));
    }

    #[test]
    fn files_come_from_earlier_parts() {
        let all = all();
        for (i, part) in all.iter().enumerate() {
            for need in part.needs {
                let Need::File(file, maker) = need else { continue };
                let made = all[..i].iter().find(|earlier| earlier.name == *maker).unwrap();
                let line = (made.commands)(Size::Quick)[0].1.join(" ");
                assert!(line.contains(file), "{}", part.name);
            }
        }
    }

    #[test]
    fn names_select() {
        let names = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
            selected(&wanted).map(|parts| parts.iter().map(|part| part.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap().len(), all().len());
        assert_eq!(
            names(&["hazards-1a", "state"]).unwrap(),
            ["hazards-1a", "state-throughput", "state-latency"]
        );
        let message = names(&["hazards-9"]).unwrap_err();
        assert!(
            message.contains("`hazards-9`") && message.contains("hazards-1a") && message.contains("async,"),
            "{message}"
        );
    }

    #[test]
    fn a_quick_page_takes_ten_minutes() {
        let seconds: f64 = all().iter().map(|part| part.estimate_s[1]).sum();
        assert!(seconds < 600.0, "{seconds} s");
    }
}
