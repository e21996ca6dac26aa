//! Suggests tools or prompts that a mistyped name may mean.
//!
//! Used by `catalog::catalog_names`, for error messages.

use std::collections::HashSet;

use super::{ItemLabel, NameStyle, word_split::words};

/// How many names are suggested.
const MAX_SUGGESTIONS: usize = 3;

/// Names longer than this are not compared by letters; people do not type them.
const MAX_COMPARED_CHARS: usize = 128;

/// A tool or prompt that may be suggested.
#[derive(Debug, Clone, Copy)]
pub(super) struct SuggestionCandidate<'c> {
    pub(super) label: &'c ItemLabel,
    /// The full name.
    pub(super) full: &'c str,
    /// The name to suggest.
    pub(super) shown: &'c str,
}

/// Returns up to three names, closest first: by edit distance, or if none is close, by words in common.
pub(super) fn closest(candidates: &[SuggestionCandidate<'_>], name: &str) -> Vec<String> {
    let by_letters = ranked(candidates, |candidate| by_letters(candidate, name));
    if !by_letters.is_empty() {
        return by_letters;
    }
    let typed: HashSet<_> = words(strip(name)).into_iter().collect();
    ranked(candidates, |candidate| by_words(candidate, &typed))
}

/// The names with the smallest distances; of equal ones the first in the alphabet.
fn ranked(
    candidates: &[SuggestionCandidate<'_>],
    distance: impl Fn(&SuggestionCandidate<'_>) -> Option<usize>,
) -> Vec<String> {
    let near = candidates.iter().filter_map(|near| Some((distance(near)?, near.shown)));
    let mut found: Vec<_> = near.collect();
    found.sort_unstable();
    found.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name.to_owned()).collect()
}

/// The distance to the closest of an item's names in any style, if it is close.
fn by_letters(candidate: &SuggestionCandidate<'_>, name: &str) -> Option<usize> {
    let SuggestionCandidate { label, full, .. } = *candidate;
    let gateway = label.name(NameStyle::Gateway);
    [full, &gateway, label.normal()].into_iter().filter_map(|known| distance(known, name)).min()
}

/// The number of words that only one of the two names has, if they share half of the words typed.
fn by_words(candidate: &SuggestionCandidate<'_>, typed: &HashSet<String>) -> Option<usize> {
    let known: HashSet<_> = words(strip(candidate.full)).into_iter().collect();
    let shared = known.intersection(typed).count();
    (shared > 0 && shared * 2 >= typed.len()).then(|| known.len() + typed.len() - 2 * shared)
}

/// Removes `mcp__`, which stands in every name.
fn strip(name: &str) -> &str {
    name.strip_prefix("mcp__").unwrap_or(name)
}

/// The edit distance of two names, ignoring case: letters changed, added, removed or swapped with a neighbour.
/// `None` if it exceeds a fourth of the typed name.
fn distance(known: &str, typed: &str) -> Option<usize> {
    let letters = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<Vec<_>>();
    if typed.len() > MAX_COMPARED_CHARS {
        return None;
    }
    let (known, typed) = (letters(known), letters(typed));
    let most = (typed.len() / 4).max(1);
    if known.len().abs_diff(typed.len()) > most {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=typed.len()).collect();
    for (row, letter) in known.iter().enumerate() {
        let mut next = Vec::with_capacity(last.len());
        next.push(row + 1);
        for (column, other) in typed.iter().enumerate() {
            let changed = last[column] + usize::from(letter != other);
            let mut steps = changed.min(last[column + 1] + 1).min(next[column] + 1);
            if row > 0 && column > 0 && *letter == typed[column - 1] && known[row - 1] == *other {
                steps = steps.min(before[column - 1] + 1);
            }
            next.push(steps);
        }
        if next.iter().min().is_some_and(|steps| *steps > most) {
            return None;
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().filter(|steps| *steps <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_apart() {
        for (known, typed, expected) in [
            ("create_issue", "create_issue", Some(0)),
            ("create_issue", "Create_Isue", Some(1)),
            ("create_issue", "craete_issue", Some(1)),
            ("create_issue", "createissues", Some(2)),
            ("create_issue", "delete_issue", None),
            ("create_issue", "list_pull", None),
            ("a", "b", Some(1)),
            ("ab", "xy", None),
            ("größe", "grosse", None),
            ("größe", "größe_", Some(1)),
        ] {
            assert_eq!(distance(known, typed), expected, "{known} {typed}");
        }
    }
}
