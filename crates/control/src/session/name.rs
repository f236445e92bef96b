//! Names of roles.

use smol_str::SmolStr;
use std::fmt;

/// The name of a role; empty for the default role, which may do everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoleName(pub SmolStr);

impl RoleName {
    pub fn is_default(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for RoleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_default() {
            true => f.write_str("the default role"),
            false => write!(f, "role `{}`", self.0),
        }
    }
}
