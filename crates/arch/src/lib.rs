//! Descriptions of the architectures: nothing outside this crate spells v1model, PSA or PNA.
//!
//! Key items: [`include_file`] gives the include files that come with the compiler; [`Description`] says what is known
//! of an architecture: its blocks, its metadata, its externs, what a control plane can see. The built-in ones are the
//! TOML files in `descriptions/`.
//!
//! Non-goals: execution.
//!
//! Start reading at [`Architecture`].

mod architecture;
mod control_plane;
mod declared;
mod description;
mod externs;
mod pipeline;
mod roles;
pub mod table_state;

pub use architecture::Architecture;
pub use control_plane::{ControlPlaneExtern, ExternRole, Unit};
pub use declared::include_that_declares;
pub use description::flow;
pub use description::{
    Description, DigestFunction, DirectObjects, Fault, IdleTimeout, IdleTimeoutProperty, TableProperties,
    Version, read,
};
pub use externs::ExternOp;
pub use pipeline::{
    Answer, AssignedValue, Assignment, BlockModel, CallArgument, Decision, ExplainedFunction, ExternCall,
    InitialSession, PipelineModel, PortFault, PredicateTerm, QueueRules, SpecialPort,
};
pub use roles::{BlockIndex, BlockRole, FieldRole, IntrinsicValue, IntrinsicWrites, ParamRole, PassKind};

/// All include files by the name that programs use.
pub const INCLUDE_FILES: &[(&str, &str)] = &[
    ("core.p4", include_str!("../p4include/core.p4")),
    ("v1model.p4", include_str!("../p4include/v1model.p4")),
    ("psa.p4", include_str!("../p4include/psa.p4")),
    ("bmv2/psa.p4", include_str!("../p4include/bmv2/psa.p4")),
    ("dpdk/psa.p4", include_str!("../p4include/dpdk/psa.p4")),
    ("pna.p4", include_str!("../p4include/pna.p4")),
    ("bmv2/pna.p4", include_str!("../p4include/bmv2/pna.p4")),
    ("dpdk/pna.p4", include_str!("../p4include/dpdk/pna.p4")),
    ("ebpf_model.p4", include_str!("../p4include/ebpf_model.p4")),
    ("ubpf_model.p4", include_str!("../p4include/ubpf_model.p4")),
    ("xdp_model.p4", include_str!("../p4include/xdp_model.p4")),
    ("siding_externs.p4", include_str!("../p4include/siding_externs.p4")),
    ("siding_state.p4", include_str!("../p4include/siding_state.p4")),
];

/// The text of an include file, by the name between the angle brackets.
pub fn include_file(name: &str) -> Option<&'static str> {
    INCLUDE_FILES.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_file_is_listed_once_and_licensed() {
        let mut names: Vec<&str> = super::INCLUDE_FILES.iter().map(|(n, _)| *n).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), super::INCLUDE_FILES.len());
        for (name, text) in super::INCLUDE_FILES {
            assert!(text.contains("SPDX-License-Identifier: Apache-2.0"), "{name} has no licence line");
        }
        assert!(super::include_file("nothing.p4").is_none());
    }
}
