pub mod bits; pub use bits::Bits;
