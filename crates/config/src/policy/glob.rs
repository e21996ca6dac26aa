//! Glob patterns with `*` as the only wildcard.
//!
//! Used by policy rules, tool filters and permission rules.

/// Whether `text` matches `pattern`, in which `*` stands for any text, including none.
pub fn glob_matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(first) = parts.next() else {
        return text.is_empty();
    };
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    // Taking the leftmost match of each middle part leaves the most text for the parts after it.
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}
