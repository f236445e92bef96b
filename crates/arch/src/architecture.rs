//! The architectures that are known.

use crate::description::{Description, read};
use crate::{ControlPlaneExtern, PipelineModel};
use std::ops::Deref;
use std::sync::OnceLock;

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

impl BuiltIn {
    fn architecture(&'static self) -> Architecture {
        Architecture(self.description.get_or_init(|| match read(self.text) {
            Ok(description) => description,
            Err(fault) => unreachable!("the description of {}: {fault}", self.name),
        }))
    }
}

impl Architecture {
    /// All that come with the compiler.
    pub fn all() -> impl Iterator<Item = Architecture> {
        BUILT_IN.iter().map(BuiltIn::architecture)
    }

    /// Their names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|b| b.name)
    }

    /// By the name in P4Info.
    pub fn of_name(name: &str) -> Option<Architecture> {
        BUILT_IN.iter().find(|b| b.name == name).map(BuiltIn::architecture)
    }

    /// By the type of `main`.
    pub fn of_package(package: &str) -> Option<Architecture> {
        BUILT_IN.iter().find(|b| b.package == package).map(BuiltIn::architecture)
    }

    /// The architecture of the reference switch.
    pub fn v1model() -> Architecture {
        BUILT_IN[0].architecture()
    }

    /// The description, which outlives this handle.
    pub fn description(self) -> &'static Description {
        self.0
    }

    /// The blocks of programs that can run; `None` if programs of this architecture cannot run yet.
    pub fn pipeline(self) -> Option<&'static PipelineModel> {
        self.0.pipeline.as_ref().filter(|_| !self.0.only_for_analysis)
    }

    /// The blocks for analyses (`siding sim`), also for architectures that cannot run yet.
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
            assert_eq!(Architecture::of_package(entry.package), Some(architecture));
        }
        assert_eq!(Architecture::of_name("V1Switch"), None);
        assert_eq!(Architecture::v1model().name, "v1model");
    }
}
