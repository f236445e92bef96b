//! Places in the program as text.

use crate::story::{At, Story, Verdict};
use diagnostics::{SourceMap, Span};
use std::collections::BTreeMap;

/// The place of a span, with the first line of its text.
pub(crate) fn at(sources: &SourceMap, span: Span) -> Option<At> {
    let location = sources.locate(span)?;
    let text = sources.text(span).lines().next().unwrap_or("").trim().trim_end_matches('{').trim_end();
    let text = text.to_string();
    Some(At { file: location.file, line: location.line, column: location.column, text })
}

/// How places in the program are told.
pub(crate) enum Places {
    /// With whole paths.
    Full,
    /// Shortened paths of those files whose names are unambiguous.
    Short(BTreeMap<String, String>),
}

impl Places {
    pub(crate) fn short(story: &Story) -> Places {
        let reasons = story.verdicts.iter().map(|verdict| match verdict {
            Verdict::Dropped { because, .. } => because.as_ref(),
            Verdict::Sent { .. } | Verdict::ToController { .. } => None,
        });
        Places::short_for(story.steps.iter().map(|step| step.at.as_ref()).chain(reasons).flatten())
    }

    pub(crate) fn short_for<'a>(places: impl Iterator<Item = &'a At>) -> Places {
        let mut paths = BTreeMap::<String, Vec<&str>>::new();
        for at in places {
            let name = at.file.rsplit('/').next().unwrap_or(&at.file);
            let known = paths.entry(name.to_string()).or_default();
            if !known.contains(&&*at.file) {
                known.push(&at.file);
            }
        }
        let unambiguous = paths.into_iter().filter(|(_, paths)| paths.len() == 1);
        Places::Short(unambiguous.map(|(name, paths)| (paths[0].to_string(), name)).collect())
    }

    pub(crate) fn of(&self, at: &At) -> String {
        let file = match self {
            Places::Full => &at.file,
            Places::Short(names) => names.get(&at.file).unwrap_or(&at.file),
        };
        format!("{file}:{}", at.line)
    }
}
