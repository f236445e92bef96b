//! Ids of P4Info objects and of entities that a control plane creates. They are plain numbers on the wire and
//! distinct types here, so they cannot be swapped.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        /// Hexadecimal, as P4Info ids are read: the top byte is the kind.
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{:#010x}", self.0)
            }
        }
    )*};
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    )*};
}

ids! {
    TableId
    ActionId
    /// An action profile or an action selector.
    ProfileId
    CounterId
    DirectCounterId
    MeterId
    DirectMeterId
    RegisterId
    DigestId
    ValueSetId
    ControllerHeaderId
    /// An instance of an extern that the specification does not define.
    ExternId
}

numbers! {
    /// An element of a table's key or of a value set; counted per table.
    FieldId
    /// A parameter of an action; counted per action.
    ParamId
    /// A member of an action profile; chosen by the controller.
    MemberId
    /// A group of an action selector; chosen by the controller, in a number space separate from [`MemberId`].
    GroupId
    MulticastGroupId
    CloneSessionId
    /// Type of an extern; the top byte of the ids of its instances.
    ExternTypeId
}
