//! What of our environment a server gets to see.
//!
//! Enough to run, and no more: a person's API keys do not reach every server by accident.

use std::ffi::OsString;

/// Variables that programs need to find their way.
const NAMES: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "TZ",
    "TMPDIR",
    "PATH",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];
const PREFIXES: &[&str] = &["LC_", "XDG_"];

/// The part of `ours` that every server gets.
pub(crate) fn baseline(
    ours: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    ours.filter(|(name, _)| name.to_str().is_some_and(is_common))
        .collect()
}

fn is_common(name: &str) -> bool {
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_at_home() {
        let ours = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("OPENAI_API_KEY", "sk-1"),
            ("XDG_X", "y"),
        ];
        let ours = ours.map(|(name, value)| (name.into(), value.into()));
        let names: Vec<_> = baseline(ours.into_iter())
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["PATH", "LC_ALL", "XDG_X"]);
    }
}
