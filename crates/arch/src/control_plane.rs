//! The externs that a control plane can reach.

/// The role of an extern for the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlPlaneExtern {
    pub name: String,
    pub role: ExternRole,
    /// Constructor parameter with the number of elements.
    pub size: Option<String>,
    /// Constructor parameter with the unit of counting.
    pub unit: Option<String>,
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

#[cfg(test)]
mod tests {
    use crate::Architecture;

    /// Descriptions must not speak of externs and properties that the include files do not have.
    #[test]
    fn names_occur_in_the_include_files() {
        for (arch, file) in [("v1model", "v1model.p4"), ("psa", "bmv2/psa.p4"), ("pna", "pna.p4")] {
            let text = crate::include_file(file).unwrap();
            for e in &Architecture::of_name(arch).unwrap().externs {
                assert!(text.contains(&format!("extern {}", e.name)), "{file}: {}", e.name);
                for parameter in [&e.size, &e.unit].into_iter().flatten() {
                    assert!(text.contains(&format!(" {parameter}")), "{file}: {}({parameter})", e.name);
                }
            }
        }
    }

    #[test]
    fn ubpf_has_the_externs_of_psa_without_digests() {
        let has = |arch, name| Architecture::of_name(arch).unwrap().control_plane_extern(name).is_some();
        assert!(has("ubpf", "Register") && !has("ubpf", "Digest"));
        assert!(has("psa", "Digest") && !has("psa", "Hash"));
    }
}
