//! "Did you mean": the known word that was probably meant.
//!
//! Key functions: [`closest`] for names that a program declares, [`nearest_word`] for words that are given
//! beforehand: keywords, options, codes.
//!
//! Invariant: the work for one candidate is bounded, however long the names are.

/// Longest name that is compared. Real names are shorter, and the work grows with the product of the lengths.
const NAME_BYTES_MAX: usize = 64;

/// Returns the candidate nearest to `name` by edit distance, if it is near enough for a typing error. Names
/// that differ only in case are near; among equally near ones the first in the alphabet wins.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let limit = match name.chars().count() {
        0..=2 => return None,
        3..=4 => 1,
        5..=8 => 2,
        _ => 3,
    };
    candidates
        .into_iter()
        .filter(|c| *c != name && c.len().abs_diff(name.len()) <= limit)
        .map(|c| (if c.eq_ignore_ascii_case(name) { 1 } else { strsim::osa_distance(name, c) }, c))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, c)| c)
}

/// Returns the word nearest to the typed one, in any case, if at most a third of it is wrong. Among equally
/// near ones the first wins.
pub fn nearest_word<'a>(typed: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if typed.len() > NAME_BYTES_MAX {
        return None;
    }
    let typed = typed.to_lowercase();
    words
        .into_iter()
        .filter(|word| word.len() <= NAME_BYTES_MAX)
        .map(|word| (strsim::osa_distance(&typed, &word.to_lowercase()), word))
        .filter(|(distance, word)| *distance <= (word.chars().count() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        assert_eq!(closest("ethrenet", ["ipv4", "ethernet"]), Some("ethernet"));
        assert_eq!(closest("setInvlid", ["setValid", "setInvalid"]), Some("setInvalid"));
        assert_eq!(closest("noaction", ["NoAction"]), Some("NoAction"));
        assert_eq!(closest("x", ["y"]), None);
        assert_eq!(closest("drop", ["forward"]), None);
        assert_eq!(closest("ethernet", ["ethernet"]), None);
    }

    #[test]
    fn words_are_found_in_any_case() {
        assert_eq!(nearest_word("contrl", ["table", "control"]), Some("control"));
        assert_eq!(nearest_word("retrun", ["const", "return"]), Some("return"));
        assert_eq!(nearest_word("unusd", ["unused", "shadow"]), Some("unused"));
        assert_eq!(nearest_word("p1038", ["P1308", "P2000"]), Some("P1308"));
        assert_eq!(nearest_word("", ["key"]), None);
        assert_eq!(nearest_word("xyz", ["unused", "shadow"]), None);
    }

    #[test]
    fn long_names_are_not_compared() {
        let (long, longer) = ("a".repeat(1 << 20), "a".repeat((1 << 20) + 1));
        assert_eq!(closest(&long, [longer.as_str()]), None);
        assert_eq!(nearest_word(&long, [longer.as_str()]), None);
        assert_eq!(nearest_word("a", [longer.as_str()]), None);
    }
}
