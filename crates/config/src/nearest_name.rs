//! Finds the known name that is closest to a mistyped one.
//!
//! Used by `source::fields` for members of files, and by `core::schema` for arguments of tools. It does not search tools
//! (`core::catalog` does).

/// Longer names are not compared.
const MAX_COMPARED_CHARS: usize = 64;

/// The name in `known` that differs from `typed` by a slip or two.
pub fn nearest_name<'k>(typed: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
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
    Some(strsim::levenshtein(&fold_name(a)?, &fold_name(b)?))
}

fn fold_name(name: &str) -> Option<String> {
    let fold = |c: char| if c == '-' { '_' } else { c.to_ascii_lowercase() };
    (name.chars().count() <= MAX_COMPARED_CHARS).then(|| name.chars().map(fold).collect())
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
            assert_eq!(nearest_name(typed, known.into_iter()), meant, "{typed}");
        }
    }
}
