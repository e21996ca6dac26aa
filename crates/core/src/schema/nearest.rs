//! Finds the known name that is closest to a mistyped one.
//!
//! Used by `schema::mistake`. Tool names have their own search (`catalog::suggest`).

/// Longer names are not compared.
const MAX_COMPARED_CHARS: usize = 64;

/// The name in `known` that differs from `typed` by a slip or two.
pub(super) fn nearest<'k>(typed: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let length = typed.chars().count();
    let allowed = length.div_ceil(3).clamp(1, 3);
    known
        .filter_map(|name| Some((distance(typed, name)?, name)))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The edit distance of two names; case and `_` against `-` do not count.
fn distance(a: &str, b: &str) -> Option<usize> {
    let (a, b) = (fold_name(a)?, fold_name(b)?);
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let change = corner + usize::from(left != right);
            corner = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(corner + 1);
        }
    }
    row.last().copied()
}

fn fold_name(name: &str) -> Option<Vec<char>> {
    let fold = |c: char| if c == '-' { '_' } else { c.to_ascii_lowercase() };
    let folded: Vec<char> = name.chars().take(MAX_COMPARED_CHARS + 1).map(fold).collect();
    (folded.len() <= MAX_COMPARED_CHARS).then_some(folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_seen_through() {
        let known = ["title", "body", "labels", "max_results"];
        for (typed, meant) in [
            ("titel", Some("title")),
            ("Body", Some("body")),
            ("label", Some("labels")),
            ("max-results", Some("max_results")),
            ("assignee", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known.into_iter()), meant, "{typed}");
        }
    }
}
