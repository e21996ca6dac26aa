//! Splits text into the words that people search for.
//!
//! Used by `catalog::search` and `catalog::suggest`.

/// Returns the words of `text`, in lower case: split at characters that are neither letter nor digit, and inside
/// `camelCase`.
pub(super) fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).flat_map(humps);
    parts.map(|part| singular(part.to_lowercase())).collect()
}

/// `parseJSONFile` → `parse`, `JSON`, `File`.
fn humps(word: &str) -> Vec<&str> {
    let letters: Vec<_> = word.char_indices().collect();
    let mut starts = vec![0];
    for at in 1..letters.len() {
        let (before, (place, this)) = (letters[at - 1].1, letters[at]);
        let ends_acronym = before.is_uppercase()
            && letters.get(at + 1).is_some_and(|(_, next)| next.is_lowercase());
        if this.is_uppercase() && (!before.is_uppercase() || ends_acronym) {
            starts.push(place);
        }
    }
    let ends = starts.iter().skip(1).copied().chain([word.len()]);
    let parts = starts.iter().zip(ends).map(|(start, end)| &word[*start..end]);
    parts.filter(|part| !part.is_empty()).collect()
}

/// Makes a plural singular: `issues` becomes `issue`; `class` and `status` stay.
fn singular(mut word: String) -> String {
    let is_plural = word.len() > 3
        && word.ends_with('s')
        && !["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    if is_plural {
        word.pop();
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_apart() {
        for (text, expected) in [
            ("", ""),
            ("get_pull-request", "get pull request"),
            ("parseJSONFile2Text", "parse json file2 text"),
            ("listIssues", "list issue"),
            ("class status gas", "class status gas"),
            ("Größe ändern, 世界!", "größe ändern 世界"),
            ("ÉcoleÉté", "école été"),
        ] {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
    }
}
