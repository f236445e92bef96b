//! Places in the program as text.

use crate::story::{At, Story, Verdict};
use std::collections::BTreeMap;

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
        let mut paths = BTreeMap::<String, Vec<&str>>::new();
        for at in story.steps.iter().map(|step| step.at.as_ref()).chain(reasons).flatten() {
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
