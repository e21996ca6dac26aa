//! Which of a caller's variables every process gets.
//!
//! Enough to run, and no more: a person's API keys do not reach a server or a helper by accident. What one needs beyond
//! this stands in its entry.

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

/// Whether every process gets the variable of this name.
pub fn is_baseline(name: &str) -> bool {
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::is_baseline;

    #[test]
    fn keys_stay_at_home() {
        let ours = ["PATH", "LC_ALL", "OPENAI_API_KEY", "XDG_X", "PATHS", "GITHUB_TOKEN"];
        let passed: Vec<_> = ours.into_iter().filter(|name| is_baseline(name)).collect();
        assert_eq!(passed, ["PATH", "LC_ALL", "XDG_X"]);
    }
}
