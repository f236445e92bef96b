//! Translation between the messages of P4Runtime and the entities of `control`.
