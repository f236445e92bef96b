//! The control plane's view of an architecture: the externs that it can reach, and the table properties that attach
//! them.

/// An architecture, known by the package of `main`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Architecture {
    V1Model,
    Psa,
    Pna,
    Ubpf,
    Ebpf,
    Xdp,
}

/// The role of an extern for the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExternRole {
    Counter,
    DirectCounter,
    Meter,
    DirectMeter,
    Register,
    ActionProfile,
    ActionSelector,
    Digest,
}

/// An extern type that a control plane can reach. Parameters go by name: their positions differ between
/// overloaded constructors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlPlaneExtern {
    pub name: &'static str,
    pub role: ExternRole,
    /// Constructor parameter with the number of elements.
    pub size: Option<&'static str>,
    /// Constructor parameter with the unit of counting.
    pub unit: Option<&'static str>,
    /// Position of the type argument that is stored (registers) or sent (digests).
    pub data_type: Option<usize>,
    /// Position of the type argument that is the index.
    pub index_type: Option<usize>,
}

/// The unit in which counters and meters count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    Packets,
    Bytes,
    PacketsAndBytes,
}

impl Unit {
    /// By the name of the member of `CounterType`, `MeterType` and their kin.
    pub fn of_member(name: &str) -> Option<Unit> {
        match name {
            "packets" | "PACKETS" => Some(Unit::Packets),
            "bytes" | "BYTES" => Some(Unit::Bytes),
            "packets_and_bytes" | "PACKETS_AND_BYTES" => Some(Unit::PacketsAndBytes),
            _ => None,
        }
    }
}

/// The value that makes a table notify the control plane of idle entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleTimeout {
    /// `true`
    Flag,
    /// This member of an enum.
    Member(&'static str),
}

/// Names of table properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableProperties {
    pub implementation: &'static str,
    pub direct_counter: &'static str,
    pub direct_meter: &'static str,
    /// Not everywhere.
    pub idle_timeout: Option<(&'static str, IdleTimeout)>,
}

const fn object(name: &'static str, role: ExternRole) -> ControlPlaneExtern {
    ControlPlaneExtern { name, role, size: None, unit: None, data_type: None, index_type: None }
}

const V1MODEL: &[ControlPlaneExtern] = &[
    ControlPlaneExtern { size: Some("size"), unit: Some("type"), ..object("counter", ExternRole::Counter) },
    ControlPlaneExtern { unit: Some("type"), ..object("direct_counter", ExternRole::DirectCounter) },
    ControlPlaneExtern { size: Some("size"), unit: Some("type"), ..object("meter", ExternRole::Meter) },
    ControlPlaneExtern { unit: Some("type"), ..object("direct_meter", ExternRole::DirectMeter) },
    ControlPlaneExtern { size: Some("size"), data_type: Some(0), ..object("register", ExternRole::Register) },
    ControlPlaneExtern { size: Some("size"), ..object("action_profile", ExternRole::ActionProfile) },
    ControlPlaneExtern { size: Some("size"), ..object("action_selector", ExternRole::ActionSelector) },
];

const PORTABLE: &[ControlPlaneExtern] = &[
    ControlPlaneExtern {
        size: Some("n_counters"),
        unit: Some("type"),
        index_type: Some(1),
        ..object("Counter", ExternRole::Counter)
    },
    ControlPlaneExtern { unit: Some("type"), ..object("DirectCounter", ExternRole::DirectCounter) },
    ControlPlaneExtern {
        size: Some("n_meters"),
        unit: Some("type"),
        index_type: Some(0),
        ..object("Meter", ExternRole::Meter)
    },
    ControlPlaneExtern { unit: Some("type"), ..object("DirectMeter", ExternRole::DirectMeter) },
    ControlPlaneExtern {
        size: Some("size"),
        data_type: Some(0),
        index_type: Some(1),
        ..object("Register", ExternRole::Register)
    },
    ControlPlaneExtern { size: Some("size"), ..object("ActionProfile", ExternRole::ActionProfile) },
    ControlPlaneExtern { size: Some("size"), ..object("ActionSelector", ExternRole::ActionSelector) },
    ControlPlaneExtern { data_type: Some(0), ..object("Digest", ExternRole::Digest) },
];

/// Counters of filters have no unit: the program says what it adds.
const FILTER: &[ControlPlaneExtern] =
    &[ControlPlaneExtern { size: Some("max_index"), ..object("CounterArray", ExternRole::Counter) }];

impl Architecture {
    /// By the type of `main`.
    pub fn of_package(name: &str) -> Option<Architecture> {
        match name {
            "V1Switch" => Some(Architecture::V1Model),
            "PSA_Switch" => Some(Architecture::Psa),
            "PNA_NIC" => Some(Architecture::Pna),
            "ubpf" => Some(Architecture::Ubpf),
            "ebpfFilter" => Some(Architecture::Ebpf),
            "xdp" => Some(Architecture::Xdp),
            _ => None,
        }
    }

    pub const ALL: [Architecture; 6] = [
        Architecture::V1Model,
        Architecture::Psa,
        Architecture::Pna,
        Architecture::Ubpf,
        Architecture::Ebpf,
        Architecture::Xdp,
    ];

    /// By the name that [`Architecture::name`] gives.
    pub fn of_name(name: &str) -> Option<Architecture> {
        Architecture::ALL.into_iter().find(|a| a.name() == name)
    }

    /// Returns the architecture's name in P4Info.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::V1Model => "v1model",
            Architecture::Psa => "psa",
            Architecture::Pna => "pna",
            Architecture::Ubpf => "ubpf",
            Architecture::Ebpf => "ebpf",
            Architecture::Xdp => "xdp",
        }
    }

    /// The extern type of that name, if a control plane can reach its objects.
    pub fn control_plane_extern(self, name: &str) -> Option<&'static ControlPlaneExtern> {
        let all = match self {
            Architecture::V1Model => V1MODEL,
            Architecture::Psa | Architecture::Pna | Architecture::Ubpf => PORTABLE,
            Architecture::Ebpf | Architecture::Xdp => FILTER,
        };
        let found = all.iter().find(|e| e.name == name)?;
        let has_digests = self != Architecture::Ubpf;
        (found.role != ExternRole::Digest || has_digests).then_some(found)
    }

    /// The extern function whose calls send digests, and the position of what is sent.
    pub fn digest_function(self) -> Option<(&'static str, usize)> {
        match self {
            Architecture::V1Model => Some(("digest", 1)),
            Architecture::Psa
            | Architecture::Pna
            | Architecture::Ubpf
            | Architecture::Ebpf
            | Architecture::Xdp => None,
        }
    }

    pub fn table_properties(self) -> TableProperties {
        match self {
            Architecture::V1Model => TableProperties {
                implementation: "implementation",
                direct_counter: "counters",
                direct_meter: "meters",
                idle_timeout: Some(("support_timeout", IdleTimeout::Flag)),
            },
            Architecture::Psa | Architecture::Ubpf => TableProperties {
                implementation: "psa_implementation",
                direct_counter: "psa_direct_counter",
                direct_meter: "psa_direct_meter",
                idle_timeout: (self == Architecture::Psa)
                    .then_some(("psa_idle_timeout", IdleTimeout::Member("NOTIFY_CONTROL"))),
            },
            Architecture::Ebpf | Architecture::Xdp => TableProperties {
                implementation: "implementation",
                direct_counter: "",
                direct_meter: "",
                idle_timeout: None,
            },
            Architecture::Pna => TableProperties {
                implementation: "pna_implementation",
                direct_counter: "pna_direct_counter",
                direct_meter: "pna_direct_meter",
                idle_timeout: Some(("pna_idle_timeout", IdleTimeout::Member("NOTIFY_CONTROL"))),
            },
        }
    }

    /// Returns the table properties that the architecture adds to the language's own; `None` if this crate has no list
    /// of them.
    pub fn known_table_properties(self) -> Option<&'static [&'static str]> {
        match self {
            Architecture::V1Model => Some(&["implementation", "counters", "meters", "support_timeout"]),
            Architecture::Psa => Some(&[
                "psa_implementation",
                "psa_direct_counter",
                "psa_direct_meter",
                "psa_idle_timeout",
                "psa_empty_group_action",
            ]),
            Architecture::Pna => Some(&[
                "pna_implementation",
                "pna_direct_counter",
                "pna_direct_meter",
                "pna_idle_timeout",
                "pna_empty_group_action",
                "add_on_miss",
                "idle_timeout_with_auto_delete",
                "default_idle_timeout_for_data_plane_added_entries",
            ]),
            Architecture::Ebpf | Architecture::Xdp => Some(&["implementation"]),
            Architecture::Ubpf => None,
        }
    }

    /// The constant that holds the version of the architecture's include file, and the versions there are
    /// (first and last).
    pub fn version_constant(self) -> Option<(&'static str, u32, u32)> {
        match self {
            Architecture::V1Model => Some(("__v1model_version", 20180101, 20200408)),
            Architecture::Psa
            | Architecture::Pna
            | Architecture::Ubpf
            | Architecture::Ebpf
            | Architecture::Xdp => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table must not speak of externs and properties that the include files do not have.
    #[test]
    fn names_occur_in_the_include_files() {
        let files = [
            (Architecture::V1Model, "v1model.p4"),
            (Architecture::Psa, "bmv2/psa.p4"),
            (Architecture::Pna, "pna.p4"),
        ];
        for (arch, file) in files {
            let text = crate::include_file(file).unwrap();
            let externs = if arch == Architecture::V1Model { V1MODEL } else { PORTABLE };
            for e in externs {
                assert!(text.contains(&format!("extern {}", e.name)), "{file}: {}", e.name);
                for parameter in [e.size, e.unit].into_iter().flatten() {
                    assert!(text.contains(&format!(" {parameter}")), "{file}: {}({parameter})", e.name);
                }
            }
            assert_eq!(
                Architecture::of_package(match arch {
                    Architecture::V1Model => "V1Switch",
                    Architecture::Psa => "PSA_Switch",
                    Architecture::Pna => "PNA_NIC",
                    Architecture::Ubpf => "ubpf",
                    Architecture::Ebpf => "ebpf",
                    Architecture::Xdp => "xdp",
                }),
                Some(arch)
            );
        }
    }

    #[test]
    fn properties_of_control_planes_are_known() {
        for arch in Architecture::ALL {
            let Some(known) = arch.known_table_properties() else { continue };
            let p = arch.table_properties();
            let used = [p.implementation, p.direct_counter, p.direct_meter];
            for name in used.into_iter().chain(p.idle_timeout.map(|t| t.0)).filter(|name| !name.is_empty()) {
                assert!(known.contains(&name), "{}: {name}", arch.name());
            }
        }
    }

    #[test]
    fn names_name_architectures() {
        for arch in Architecture::ALL {
            assert_eq!(Architecture::of_name(arch.name()), Some(arch));
        }
        assert_eq!(Architecture::of_name("V1Switch"), None);
    }

    #[test]
    fn ubpf_has_the_externs_of_psa_without_digests() {
        assert!(Architecture::Ubpf.control_plane_extern("Register").is_some());
        assert!(Architecture::Ubpf.control_plane_extern("Digest").is_none());
        assert!(Architecture::Psa.control_plane_extern("Digest").is_some());
        assert!(Architecture::Psa.control_plane_extern("Hash").is_none());
    }
}
