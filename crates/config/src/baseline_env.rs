//! The baseline environment: which of a caller's variables every process gets, and with which value.
//!
//! Used by `core::connection`, `sources::connectors` and `cli::environment`. It holds enough to run and no
//! more, so that the user's API keys, or the password in a proxy's URL, do not reach a server or a helper by
//! accident. Further variables stand in the entry.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

/// Variables that most programs need.
const BASELINE_NAMES: &[&str] = &[
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
    "NO_PROXY",
    "no_proxy",
];
/// Variables with proxy URLs, which may hold a user name and password.
const PROXY_NAMES: &[&str] =
    &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
const BASELINE_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Returns the value of this variable for every process; `None` if processes do not get it. A proxy URL comes
/// without user and password: the proxy then asks for them, which is easier to understand than an unreachable
/// network.
pub fn baseline_value<'a>(name: &str, value: &'a OsStr) -> Option<Cow<'a, OsStr>> {
    if PROXY_NAMES.contains(&name) {
        let address = strip_credentials(value.to_str()?);
        return Some(match address {
            Cow::Borrowed(address) => Cow::Borrowed(OsStr::new(address)),
            Cow::Owned(address) => Cow::Owned(address.into()),
        });
    }
    let is_usual = BASELINE_NAMES.contains(&name)
        || BASELINE_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    is_usual.then_some(Cow::Borrowed(value))
}

/// The part of `variables` that every process gets.
pub fn baseline_environment(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    variables
        .filter_map(|(name, value)| {
            let value = baseline_value(name.to_str()?, &value)?.into_owned();
            Some((name, value))
        })
        .collect()
}

/// Whether every process gets this variable with its user and password removed.
pub fn has_proxy_credentials(name: &str, value: &str) -> bool {
    PROXY_NAMES.contains(&name) && value.contains('@')
}

/// Removes user and password from a proxy URL. They need not be escaped as URLs require, so everything before
/// the last `@` counts as theirs.
fn strip_credentials(address: &str) -> Cow<'_, str> {
    let Some((before, host)) = address.rsplit_once('@') else { return Cow::Borrowed(address) };
    match before.split_once("://") {
        Some((scheme, _)) => Cow::Owned(format!("{scheme}://{host}")),
        None => Cow::Borrowed(host),
    }
}

#[cfg(test)]
mod tests {
    use super::{PROXY_NAMES, baseline_value, has_proxy_credentials};

    fn passed(name: &str, value: &str) -> Option<String> {
        let value = baseline_value(name, value.as_ref())?;
        Some(value.to_str().unwrap().to_owned())
    }

    #[test]
    fn keys_stay_at_home() {
        let ours = ["PATH", "LC_ALL", "OPENAI_API_KEY", "XDG_X", "PATHS", "GITHUB_TOKEN"];
        let passed: Vec<_> = ours.into_iter().filter(|name| passed(name, "x").is_some()).collect();
        assert_eq!(passed, ["PATH", "LC_ALL", "XDG_X"]);
    }

    #[test]
    fn the_password_of_a_proxy_stays_at_home() {
        for name in PROXY_NAMES {
            for (value, expected) in [
                ("http://proxy:3128", "http://proxy:3128"),
                ("http://ann:hush@proxy:3128/", "http://proxy:3128/"),
                ("ann:hush@proxy:3128", "proxy:3128"),
                ("socks5h://ann@proxy", "socks5h://proxy"),
                ("http://ann:hu@sh/hush?@proxy:1", "http://proxy:1"),
                ("http://ann:hush@", "http://"),
                ("", ""),
            ] {
                assert_eq!(passed(name, value).as_deref(), Some(expected), "{name}={value}");
                assert_eq!(has_proxy_credentials(name, value), value != expected, "{name}={value}");
            }
        }
        assert_eq!(passed("NO_PROXY", "a@b,c").as_deref(), Some("a@b,c"));
        assert!(!has_proxy_credentials("PATH", "/a@b"));
    }
}
