//! Names of a script and those of the program.

use super::{Resolver, Result, fault};
use crate::script::Name;
use control::schema::{self, KeyElement, Objects};
use control::{Fault, Problem};
use diagnostics::Diagnostic;

/// Names that a note lists; more would hide the message.
const N_LISTED_MAX: usize = 8;

/// Spellings that a name may stand for, the likeliest first.
fn spellings(text: &str) -> Vec<String> {
    let text = indices(text);
    let mut spellings = vec![text.clone()];
    if let Some(header) = text.strip_suffix(".valid").or_else(|| text.strip_suffix(".$valid$")) {
        spellings.push(format!("{header}.$valid$"));
        spellings.push(format!("{header}.isValid()"));
    }
    if text == "valid" || text == "$valid$" {
        spellings.push("$valid$".to_string());
        spellings.push("isValid()".to_string());
    }
    spellings.push(format!("{text}$"));
    spellings.push(format!("{text}.$valid$"));
    spellings.push(format!("{text}.isValid()"));
    spellings
}

/// `a$0.b` as `a[0].b`: brackets were no part of names once.
fn indices(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split('.').enumerate() {
        if i > 0 {
            out.push('.');
        }
        match part.rsplit_once('$') {
            Some((stack, index))
                if !stack.is_empty() && !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()) =>
            {
                out.push_str(&format!("{stack}[{index}]"));
            }
            _ => out.push_str(part),
        }
    }
    out
}

/// The only name that is meant by one with `_` for each dot, or with something else before it.
fn loosely<T>(text: &str, names: impl Iterator<Item = (T, impl AsRef<str>)> + Clone) -> Option<T> {
    let only = |wanted: &dyn Fn(&str) -> bool| {
        let mut found = names.clone().filter(|(_, name)| wanted(name.as_ref()));
        found.next().filter(|_| found.next().is_none()).map(|(item, _)| item)
    };
    let ending = format!("_{text}");
    only(&|name| name.replace('.', "_") == text)
        .or_else(|| only(&|name| name.replace('.', "_").ends_with(&ending)))
        .or_else(|| only(&|name| name == text.trim_start_matches('_')))
        .or_else(|| only(&|name| name.ends_with(text) && text.len() > 1))
}

fn is_unknown(fault: &Fault) -> bool {
    matches!(fault.problem(), Problem::UnknownName { .. })
}

/// The place of `field3`, in a dialect that knows no names of keys.
fn position(text: &str) -> Option<usize> {
    text.rsplit('.').next()?.strip_prefix("field")?.parse().ok()
}

/// A key or a field of a value set, tried in all spellings.
fn element<'s>(
    name: &Name,
    elements: &'s [KeyElement],
    find: impl Fn(&str) -> std::result::Result<&'s KeyElement, Fault>,
) -> Result<&'s KeyElement> {
    let mut first = None;
    for spelling in spellings(&name.text) {
        match find(&spelling) {
            Ok(found) => return Ok(found),
            Err(f) if !is_unknown(&f) => return Err(fault(&f, name.span)),
            Err(f) => {
                first.get_or_insert(f);
            }
        }
    }
    let text = name.text.strip_prefix("key.").unwrap_or(&name.text);
    if let Some(found) = loosely(text, elements.iter().map(|e| (e, e.name.as_str()))) {
        return Ok(found);
    }
    if let Some(found) = position(text).and_then(|i| elements.get(i)) {
        return Ok(found);
    }
    let Some(first) = first else {
        return super::error(&crate::codes::UNKNOWN_NAME, name.span, "no such key", "unknown");
    };
    let diagnostic = fault(&first, name.span);
    if elements.is_empty() {
        return Err(Box::new((*diagnostic).note("it has no keys")));
    }
    Err(listing(diagnostic, "it has", elements.iter().map(|e| e.name.as_str())))
}

impl<'s> Resolver<'s> {
    fn object<T: schema::Object>(&self, objects: &'s Objects<T>, name: &Name) -> Result<&'s T> {
        let text = indices(&name.text);
        objects.find(&text).or_else(|f| {
            let names = objects.iter().map(|object| (object, object.names().name.clone()));
            let found = if is_unknown(&f) { loosely(&text, names.clone()) } else { None };
            found.ok_or_else(|| {
                let diagnostic = fault(&f, name.span);
                match f.problem() {
                    Problem::UnknownName { suggestion: None, .. } => {
                        let names: Vec<_> = names.map(|(_, name)| name).collect();
                        listing(diagnostic, "the program has", names.iter().map(|name| name.as_str()))
                    }
                    _ => diagnostic,
                }
            })
        })
    }

    pub(super) fn table(&self, name: &Name) -> Result<&'s schema::Table> {
        self.object(&self.schema.tables, name)
    }

    pub(super) fn profile(&self, name: &Name) -> Result<&'s schema::ActionProfile> {
        self.object(&self.schema.profiles, name)
    }

    pub(super) fn counter(&self, name: &Name) -> Result<&'s schema::Counter> {
        self.object(&self.schema.counters, name)
    }

    pub(super) fn direct_counter(&self, name: &Name) -> Result<&'s schema::DirectCounter> {
        self.object(&self.schema.direct_counters, name)
    }

    pub(super) fn meter(&self, name: &Name) -> Result<&'s schema::Meter> {
        self.object(&self.schema.meters, name)
    }

    pub(super) fn direct_meter(&self, name: &Name) -> Result<&'s schema::DirectMeter> {
        self.object(&self.schema.direct_meters, name)
    }

    pub(super) fn register(&self, name: &Name) -> Result<&'s schema::Register> {
        self.object(&self.schema.registers, name)
    }

    pub(super) fn digest(&self, name: &Name) -> Result<&'s schema::Digest> {
        self.object(&self.schema.digests, name)
    }

    pub(super) fn value_set(&self, name: &Name) -> Result<&'s schema::ValueSet> {
        self.object(&self.schema.value_sets, name)
    }

    pub(super) fn key(&self, table: &'s schema::Table, name: &Name) -> Result<&'s KeyElement> {
        element(name, &table.keys, |text| table.find_key(text))
    }

    pub(super) fn field(&self, value_set: &'s schema::ValueSet, name: &Name) -> Result<&'s KeyElement> {
        element(name, &value_set.fields, |text| value_set.find_field(text))
    }

    pub(super) fn action(&self, table: &'s schema::Table, name: &Name) -> Result<&'s schema::Action> {
        let text = indices(&name.text);
        table.find_action(self.schema, &text).or_else(|f| {
            let names = self.actions(table).map(|action| (action, action.names.name.clone()));
            let found = if is_unknown(&f) { loosely(&text, names) } else { None };
            found.ok_or_else(|| self.with_actions(table, fault(&f, name.span)))
        })
    }

    fn actions(
        &self,
        table: &'s schema::Table,
    ) -> impl Iterator<Item = &'s schema::Action> + Clone + use<'s> {
        let schema = self.schema;
        table.actions.iter().filter_map(|a| schema.actions.get(a.id))
    }

    /// Adds a note with the actions of a table, if they are few.
    pub(super) fn with_actions(
        &self,
        table: &'s schema::Table,
        diagnostic: Box<Diagnostic>,
    ) -> Box<Diagnostic> {
        listing(diagnostic, "it has", self.actions(table).map(|action| action.names.name.as_str()))
    }
}

/// Adds a note with names to choose from, if they are few.
fn listing<'n>(
    diagnostic: Box<Diagnostic>,
    intro: &str,
    names: impl Iterator<Item = &'n str>,
) -> Box<Diagnostic> {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    match names.len() {
        1..=N_LISTED_MAX => Box::new((*diagnostic).note(format!("{intro} {}", names.join(", ")))),
        _ => diagnostic,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_ways_to_write_indices() {
        assert_eq!(indices("a$0.b"), "a[0].b");
        assert_eq!(indices("x.extra$12"), "x.extra[12]");
        assert_eq!(indices("x.$valid$"), "x.$valid$");
        assert_eq!(indices("$0"), "$0");
        assert_eq!(indices("a$b"), "a$b");
    }

    #[test]
    fn names_without_dots() {
        let names = ["pipe.Check_src_ip", "NoAction", "pipe.Reject", "other.Reject"];
        let find = |text| loosely(text, names.iter().map(|n| (*n, *n)));
        assert_eq!(find("pipe_Check_src_ip"), Some("pipe.Check_src_ip"));
        assert_eq!(find("_NoAction"), Some("NoAction"));
        assert_eq!(find("pipe_Reject"), Some("pipe.Reject"));
        assert_eq!(find("Reject"), None);
        let nested = ["pipe.pipe.t", "pipe.pipe.u"];
        assert_eq!(loosely("pipe_t", nested.iter().map(|n| (*n, *n))), Some("pipe.pipe.t"));
        assert_eq!(find("src_ip"), Some("pipe.Check_src_ip"));
        assert_eq!(find("nothing"), None);
    }
}
