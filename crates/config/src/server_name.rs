//! Server names: validation, and normalisation for tool names and rules.
//!
//! Used by `workspace`, `import` and `core::catalog`.

/// A name that the command line does not accept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a name: use letters, digits, `_` and `-`")]
pub struct InvalidServerName(String);

/// Checks a name typed by a person. Files may use any name that is not empty.
pub fn check_server_name(name: &str) -> Result<(), InvalidServerName> {
    if !name.is_empty() && name.chars().all(is_plain) {
        Ok(())
    } else {
        Err(InvalidServerName(name.to_owned()))
    }
}

/// The name in tool names and rules: every character outside `[A-Za-z0-9_-]` becomes `_`.
pub fn normalize_server_name(name: &str) -> String {
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// The name of a connector: normalised, with runs of `_` collapsed and ends trimmed.
pub fn normalize_connector_name(name: &str) -> String {
    let parts = normalize_server_name(name);
    let parts: Vec<_> = parts.split('_').filter(|part| !part.is_empty()).collect();
    parts.join("_")
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}
