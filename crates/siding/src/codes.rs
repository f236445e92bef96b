//! All diagnostic codes of all crates.

use diagnostics::Code;

/// Every code, by id.
pub fn all() -> Vec<Code> {
    let crates =
        [syntax::codes::ALL, check::codes::ALL, p4info::codes::ALL, elaborate::codes::ALL, stf::codes::ALL];
    let mut codes: Vec<Code> = crates.concat();
    codes.sort_by_key(|code| code.id);
    codes
}

/// The code with this id (`P1308`, `p1308`) or name (`type-error`).
pub fn find(id_or_name: &str) -> Option<Code> {
    all().into_iter().find(|c| c.id.eq_ignore_ascii_case(id_or_name) || same_name(c.name, id_or_name))
}

/// p4c spells some names with `_` and some with `-`; people need not remember which.
fn same_name(a: &str, b: &str) -> bool {
    a.replace('_', "-") == b.replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_identify() {
        let codes = all();
        for pair in codes.windows(2) {
            assert!(pair[0].id < pair[1].id, "{} is declared twice", pair[0].id);
        }
        for code in codes {
            assert!(code.id.len() == 5 && code.id.starts_with('P'), "{}", code.id);
            let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
            assert!(code.name.bytes().all(fits), "{}", code.name);
            // One name may cover several codes, as in p4c.
            assert!(find(code.name).is_some_and(|c| same_name(c.name, code.name)), "{}", code.name);
            assert!(!code.summary.is_empty() && !code.summary.ends_with('.'), "{}", code.id);
        }
    }

    #[test]
    fn names_may_be_spelt_either_way() {
        assert_eq!(find("uninitialized_use").map(|c| c.name), Some("uninitialized-use"));
        assert_eq!(find("uninitialized-use").map(|c| c.name), Some("uninitialized-use"));
    }
}
