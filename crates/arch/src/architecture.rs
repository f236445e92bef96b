//! The architectures that are known.

use crate::description::{Description, Fault, read};
use crate::{ControlPlaneExtern, PipelineModel};
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// An architecture: a description that lives as long as the process.
///
/// Two are equal when they are the same description.
#[derive(Clone, Copy)]
pub struct Architecture(&'static Description);

/// A description that comes with the compiler, read when it is first needed.
struct BuiltIn {
    name: &'static str,
    package: &'static str,
    text: &'static str,
    description: OnceLock<Description>,
}

const fn built_in(name: &'static str, package: &'static str, text: &'static str) -> BuiltIn {
    BuiltIn { name, package, text, description: OnceLock::new() }
}

static BUILT_IN: [BuiltIn; 6] = [
    built_in("v1model", "V1Switch", include_str!("../descriptions/v1model.toml")),
    built_in("psa", "PSA_Switch", include_str!("../descriptions/psa.toml")),
    built_in("pna", "PNA_NIC", include_str!("../descriptions/pna.toml")),
    built_in("ubpf", "ubpf", include_str!("../descriptions/ubpf.toml")),
    built_in("ebpf", "ebpfFilter", include_str!("../descriptions/ebpf.toml")),
    built_in("xdp", "xdp", include_str!("../descriptions/xdp.toml")),
];

/// A description that a user has added.
struct Added {
    text: &'static str,
    description: &'static Description,
}

/// Descriptions of users; few, and kept as long as the process.
static ADDED: Mutex<Vec<Added>> = Mutex::new(Vec::new());

fn added() -> MutexGuard<'static, Vec<Added>> {
    // Nothing here fails half-way.
    ADDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stands for packages that no description knows.
static UNKNOWN: BuiltIn = built_in(
    "unknown",
    "",
    "name = \"unknown\"\npackage = \"\"\ninclude = \"\"\n[table_properties]\nare_all_known = false\n",
);

impl BuiltIn {
    fn architecture(&'static self) -> Architecture {
        Architecture(self.description.get_or_init(|| match read(self.text) {
            Ok(description) => description,
            Err(fault) => unreachable!("the description of {}: {fault}", self.name),
        }))
    }
}

impl Architecture {
    /// All that come with the compiler, then those that were [added](Architecture::add).
    pub fn all() -> impl Iterator<Item = Architecture> {
        let added: Vec<Architecture> = added().iter().map(|a| Architecture(a.description)).collect();
        BUILT_IN.iter().map(BuiltIn::architecture).chain(added)
    }

    /// Their names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Architecture::all().map(|architecture| &*architecture.0.name)
    }

    /// Reads a description and makes it known for the rest of the process. The same text gives the same architecture.
    /// Fails if the text is no description, or if its name or its package is taken.
    pub fn add(text: &str) -> Result<Architecture, Fault> {
        if let Some(same) = added().iter().find(|a| a.text == text) {
            return Ok(Architecture(same.description));
        }
        let description = read(text)?;
        description.check_runs()?;
        for (what, taken, value) in [
            ("name", Architecture::of_name(&description.name), &description.name),
            ("package", Architecture::of_package(&description.package), &description.package),
        ] {
            if let Some(other) = taken {
                let message = format!("the {what} `{value}` is that of the architecture {}", other.name);
                return Err(Fault { message, place: None });
            }
        }
        // Offload workers go on at the steps of the reference switch.
        if description.has_asynchronous_blocks && !has_steps_of_reference(&description) {
            let message = "`asynchronous_blocks` needs the sections of v1model".to_owned();
            return Err(Fault { message, place: None });
        }
        let description: &'static Description = Box::leak(Box::new(description));
        added().push(Added { text: text.to_owned().leak(), description });
        Ok(Architecture(description))
    }

    /// True if packets go the way that they go through the reference switch, v1model.
    pub fn has_steps_of_reference(self) -> bool {
        has_steps_of_reference(self.0)
    }

    /// The text of the description that a user has added; `None` for those that come with the compiler.
    pub fn added_text(self) -> Option<&'static str> {
        added().iter().find(|a| std::ptr::eq(a.description, self.0)).map(|a| a.text)
    }

    /// By the name in P4Info.
    pub fn of_name(name: &str) -> Option<Architecture> {
        let built_in = BUILT_IN.iter().find(|b| b.name == name).map(BuiltIn::architecture);
        let unknown = Some(&UNKNOWN).filter(|b| b.name == name).map(BuiltIn::architecture);
        built_in.or(unknown).or_else(|| find_added(|description| description.name == name))
    }

    /// By the type of `main`.
    pub fn of_package(package: &str) -> Option<Architecture> {
        let built_in = BUILT_IN.iter().find(|b| b.package == package).map(BuiltIn::architecture);
        built_in.or_else(|| find_added(|description| description.package == package))
    }

    /// The architecture of programs whose package no description knows. They can be analysed, but not run.
    pub fn unknown() -> Architecture {
        UNKNOWN.architecture()
    }

    /// The architecture of the reference switch.
    pub fn v1model() -> Architecture {
        BUILT_IN[0].architecture()
    }

    /// The description, which outlives this handle.
    pub fn description(self) -> &'static Description {
        self.0
    }

    /// The blocks of programs that can run; `None` if programs of this architecture cannot run.
    pub fn pipeline(self) -> Option<&'static PipelineModel> {
        self.0.pipeline.as_ref().filter(|_| !self.0.only_for_analysis)
    }

    /// The blocks for analyses (`siding sim`), also for architectures that cannot run.
    pub fn analysis_pipeline(self) -> Option<&'static PipelineModel> {
        self.0.pipeline.as_ref()
    }

    /// The extern type of that name, if a control plane can reach its objects.
    pub fn control_plane_extern(self, name: &str) -> Option<&'static ControlPlaneExtern> {
        self.0.externs.iter().find(|e| e.name == name)
    }

    /// The table properties that the architecture adds to those of the language; `None` if it may have any.
    pub fn known_table_properties(self) -> Option<&'static [String]> {
        self.0.table_properties.known.as_deref()
    }
}

fn has_steps_of_reference(description: &Description) -> bool {
    let sections =
        |description: &'static Description| description.pipeline.as_ref().map(|model| &model.sections);
    let model = description.pipeline.as_ref();
    model.is_some_and(|model| sections(Architecture::v1model().0) == Some(&model.sections))
}

fn find_added(is_meant: impl Fn(&Description) -> bool) -> Option<Architecture> {
    added().iter().find(|a| is_meant(a.description)).map(|a| Architecture(a.description))
}

impl Deref for Architecture {
    type Target = Description;

    fn deref(&self) -> &Description {
        self.0
    }
}

impl PartialEq for Architecture {
    fn eq(&self, other: &Architecture) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Architecture {}

impl std::fmt::Debug for Architecture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_can_be_read_and_have_the_names_of_the_list() {
        for (entry, architecture) in BUILT_IN.iter().zip(Architecture::all()) {
            assert_eq!((entry.name, entry.package), (&*architecture.name, &*architecture.package));
            assert!(crate::include_file(&architecture.include).is_some(), "{}", architecture.include);
            assert_eq!(Architecture::of_name(entry.name), Some(architecture));
            assert_eq!(architecture.check_runs(), Ok(()), "{}", entry.name);
            assert_eq!(Architecture::of_package(entry.package), Some(architecture));
        }
        assert_eq!(Architecture::of_name("V1Switch"), None);
        assert_eq!(Architecture::v1model().name, "v1model");
    }

    #[test]
    fn architectures_of_users_are_added_once() {
        let text = "name = \"mine\"\npackage = \"Mine\"\ninclude = \"mine.p4\"\n";
        let mine = Architecture::add(text).unwrap();
        assert_eq!(Architecture::add(text), Ok(mine));
        assert_eq!(Architecture::of_package("Mine"), Some(mine));
        assert_eq!((mine.added_text(), Architecture::v1model().added_text()), (Some(text), None));
        assert!(Architecture::all().any(|known| known == mine));
        let other = Architecture::add(&text.replace("Mine", "V1Switch").replace("mine", "yours"));
        assert_eq!(other.unwrap_err().message, "the package `V1Switch` is that of the architecture v1model");
        let other = Architecture::add(&text.replace("Mine", "Yours"));
        assert_eq!(other.unwrap_err().message, "the name `mine` is that of the architecture mine");
    }
}
