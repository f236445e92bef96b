//! The resources of a stage.

/// Number of [`Resource`]s.
pub const N_RESOURCES: usize = 15;

/// A resource of which each stage has a fixed number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Resource {
    Sram,
    Tcam,
    MapRam,
    LogicalTables,
    TernaryTables,
    /// Bytes of the crossbar for keys of tables in SRAM. Tables that read the same byte share it.
    ExactBytes,
    /// Bytes of the crossbar for keys of tables in TCAM, shared in the same way.
    TernaryBytes,
    HashBits,
    HashDistribution,
    Gateways,
    /// Actions of the ingress block. Each block has an instruction memory of its own.
    Instructions,
    /// Actions of the egress block.
    EgressInstructions,
    ActionBytes,
    /// Units for registers, meters and selectors.
    RegisterUnits,
    CounterUnits,
}

/// An amount of each resource.
pub type Amounts = [u64; N_RESOURCES];

impl Resource {
    pub const ALL: [Resource; N_RESOURCES] = [
        Resource::Sram,
        Resource::Tcam,
        Resource::MapRam,
        Resource::LogicalTables,
        Resource::TernaryTables,
        Resource::ExactBytes,
        Resource::TernaryBytes,
        Resource::HashBits,
        Resource::HashDistribution,
        Resource::Gateways,
        Resource::Instructions,
        Resource::EgressInstructions,
        Resource::ActionBytes,
        Resource::RegisterUnits,
        Resource::CounterUnits,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Resource::Sram => "SRAM",
            Resource::Tcam => "TCAM",
            Resource::MapRam => "map RAM",
            Resource::LogicalTables => "logical tables",
            Resource::TernaryTables => "ternary tables",
            Resource::ExactBytes => "exact crossbar bytes",
            Resource::TernaryBytes => "ternary crossbar bytes",
            Resource::HashBits => "hash bits",
            Resource::HashDistribution => "hash distribution",
            Resource::Gateways => "gateways",
            Resource::Instructions => "instructions",
            Resource::EgressInstructions => "egress instructions",
            Resource::ActionBytes => "action data bytes",
            Resource::RegisterUnits => "register units",
            Resource::CounterUnits => "counter units",
        }
    }

    /// The name in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Resource::Sram => "sram",
            Resource::Tcam => "tcam",
            Resource::MapRam => "map_ram",
            Resource::LogicalTables => "logical_tables",
            Resource::TernaryTables => "ternary_tables",
            Resource::ExactBytes => "exact_bytes",
            Resource::TernaryBytes => "ternary_bytes",
            Resource::HashBits => "hash_bits",
            Resource::HashDistribution => "hash_distribution",
            Resource::Gateways => "gateways",
            Resource::Instructions => "instructions",
            Resource::EgressInstructions => "egress_instructions",
            Resource::ActionBytes => "action_bytes",
            Resource::RegisterUnits => "register_units",
            Resource::CounterUnits => "counter_units",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_the_list() {
        for (i, resource) in Resource::ALL.into_iter().enumerate() {
            assert_eq!(resource as usize, i);
        }
    }
}
