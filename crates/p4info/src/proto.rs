//! The messages of P4Runtime v1, one Rust module per protobuf package.
//!
//! Names follow prost: message `p4.v1.TableEntry` is [`p4::v1::TableEntry`],
//! the oneof `entity` in `Entity` is [`p4::v1::entity::Entity`], enum constants
//! lose the prefix that repeats the enum's name. `bytes` are `Vec<u8>`, maps are
//! `BTreeMap`s.

use std::sync::LazyLock;

use prost_reflect::DescriptorPool;

#[allow(clippy::all, clippy::pedantic, reason = "written by prost-build")]
pub mod p4 {
    //! Packages below `p4`.
    pub mod config {
        //! Packages below `p4.config`.
        pub mod v1 {
            //! P4Info: what is in a program.
            include!("generated/p4.config.v1.rs");
        }
    }
    pub mod v1 {
        //! P4Runtime: entities, requests, streams.
        include!("generated/p4.v1.rs");
    }
}

#[allow(clippy::all, clippy::pedantic, reason = "written by prost-build")]
pub mod google {
    //! Packages below `google` that are not in `prost_types`.
    pub mod rpc {
        //! gRPC's error model.
        include!("generated/google.rpc.rs");
    }
}

#[allow(clippy::all, clippy::pedantic, reason = "written by prost-build")]
pub mod siding {
    //! Packages below `siding`.
    pub mod bulk {
        //! Packages below `siding.bulk`.
        pub mod v1 {
            //! Table entries in columns. `bytes` are [`prost::bytes::Bytes`].
            include!("generated/siding.bulk.v1.rs");
        }
    }
    pub mod v1 {
        //! Our own messages beside those of P4Runtime.
        include!("generated/siding.v1.rs");
    }
}

#[allow(clippy::all, clippy::pedantic, reason = "written by prost-build")]
pub mod stratum {
    //! Messages of Stratum's controllers.
    include!("generated/stratum.rs");
}

/// An encoded `google.protobuf.FileDescriptorSet` of all our definitions and
/// their imports, for reflection and for generating the P4Runtime service.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("generated/descriptors.bin");

/// [`FILE_DESCRIPTOR_SET`], decoded once.
pub fn descriptor_pool() -> &'static DescriptorPool {
    static POOL: LazyLock<DescriptorPool> =
        LazyLock::new(|| DescriptorPool::decode(FILE_DESCRIPTOR_SET).expect("tests/generated.rs wrote it"));
    &POOL
}
