//! What programs contain.

/// Something that programs may contain, and how to tell from their text.
#[derive(Clone, Copy, Debug)]
pub struct Construct {
    pub name: &'static str,
    /// Found in programs that have it.
    pub text: &'static str,
}

pub const CONSTRUCTS: &[Construct] = &[];

/// Names of the constructs in a program.
pub fn constructs(text: &str) -> impl Iterator<Item = &'static str> + '_ {
    CONSTRUCTS.iter().filter(|c| text.contains(c.text)).map(|c| c.name)
}
