//! Names of servers.

/// A name the command line does not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a name: use letters, digits, `_` and `-`")]
pub struct InvalidServerName(String);

/// Checks a name typed by a person. Files may use any name but the empty one.
pub fn check_server_name(name: &str) -> Result<(), InvalidServerName> {
    if !name.is_empty() && name.chars().all(is_plain) {
        Ok(())
    } else {
        Err(InvalidServerName(name.to_owned()))
    }
}

/// The name as it stands in tool names and rules: everything outside `[A-Za-z0-9_-]` becomes `_`.
pub fn normalize_server_name(name: &str) -> String {
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// The same for a connector, whose runs of `_` also collapse and whose ends are trimmed.
pub fn normalize_connector_name(name: &str) -> String {
    let parts = normalize_server_name(name);
    let parts: Vec<_> = parts.split('_').filter(|part| !part.is_empty()).collect();
    parts.join("_")
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}
