//! What the extern functions and objects of the architectures do: implements [`ExternHost`](crate::ExternHost).
