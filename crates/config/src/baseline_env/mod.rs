//! The baseline environment: which of a caller's variables every process gets, and with which value.
//!
//! Used by `core::connection`, `sources::connectors`, `cli::environment` and the page `docs/reference/environment.md`.
//! It holds enough to run, to reach the network and to download a server, and no more, so that the user's API keys,
//! or the password in a proxy's URL, do not reach a server or a helper by accident. Further variables stand in the
//! entry.

mod url_credentials;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

use crate::redact;
use url_credentials::{strip_proxy_credentials, strip_url_credentials};

/// A group of baseline variables.
#[derive(Debug, Clone, Copy)]
pub struct BaselineGroup {
    /// The purpose of the variables.
    pub purpose: &'static str,
    /// Their names; a final `*` stands for any ending.
    pub names: &'static [&'static str],
    rule: BaselineRule,
}

/// What happens to the value of a baseline variable.
#[derive(Debug, Clone, Copy)]
enum BaselineRule {
    Unchanged,
    /// A proxy URL, which loses user and password.
    Proxy,
    /// A setting of a package manager: credentials are withheld, URLs lose user and password.
    PackageManager,
}

/// What every process gets of one variable of the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaselineVariable<'a> {
    /// The variable is not one of the baseline.
    NotBaseline,
    /// The whole value.
    Whole(&'a OsStr),
    /// The value without the user and password in its URLs.
    WithoutCredentials(String),
    /// Nothing: the variable of a package manager or proxy is a credential, or holds one that cannot be cut out.
    Withheld,
}

/// npm reads these variables in any case of letters.
const NPM_PREFIX: &str = "npm_config_";

/// The last part of names under `npm_config_` that npm sets for the programs it starts. They describe that one run
/// of npm: with `npm_config_package` of the `npx` that started a client, every `npx` below would run the client's
/// package.
const NPM_RUN_SETTINGS: [&str; 11] = [
    "call",
    "global_prefix",
    "include_workspace_root",
    "init_module",
    "local_prefix",
    "node_gyp",
    "npm_version",
    "package",
    "user_agent",
    "workspace",
    "workspaces",
];

/// Parts of names of package managers' variables that hold credentials, beside those that [`redact`] knows.
const CREDENTIAL_NAME_PARTS: [&str; 3] = ["username", "uv_publish_", "npm_config_otp"];

/// Variables that many servers read, and that hold credentials or choose code, so that no server gets them unasked; `*`
/// stands for any text.
pub const OFTEN_NEEDED_VARIABLES: [&str; 19] = [
    "*_ACCESS_KEY",
    "*_API_KEY",
    "*_TOKEN",
    "AWS_*",
    "AZURE_*",
    "DATABASE_URL",
    "DENO_CERT",
    "DOCKER_HOST",
    "GIT_SSL_CAINFO",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "KUBECONFIG",
    "NIX_SSL_CERT_FILE",
    "NODE_OPTIONS",
    "PGHOST",
    "PGPASSWORD",
    "PGUSER",
    "PYTHONPATH",
    "SSH_AUTH_SOCK",
    "VIRTUAL_ENV",
];

/// All baseline variables.
const BASELINE_GROUPS: &[BaselineGroup] = &[
    BaselineGroup {
        purpose: "the person, the language, the terminal",
        names: &[
            "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_*", "TZ", "TMPDIR", "PATH",
        ],
        rule: BaselineRule::Unchanged,
    },
    BaselineGroup {
        purpose: "the desktop session",
        names: &["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_*"],
        rule: BaselineRule::Unchanged,
    },
    BaselineGroup {
        purpose: "proxies, without user and password",
        names: &[
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "http_proxy",
            "https_proxy",
            "all_proxy",
        ],
        rule: BaselineRule::Proxy,
    },
    BaselineGroup {
        purpose: "hosts that are reached without a proxy",
        names: &["NO_PROXY", "no_proxy"],
        rule: BaselineRule::Unchanged,
    },
    BaselineGroup {
        purpose: "certificates to trust",
        names: &[
            "NODE_EXTRA_CA_CERTS",
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
            "REQUESTS_CA_BUNDLE",
            "CURL_CA_BUNDLE",
        ],
        rule: BaselineRule::Unchanged,
    },
    BaselineGroup {
        purpose: "package registries, without credentials",
        names: &["npm_config_*", "UV_*", "PIP_*"],
        rule: BaselineRule::PackageManager,
    },
];

/// Returns the groups of baseline variables.
pub fn baseline_groups() -> &'static [BaselineGroup] {
    BASELINE_GROUPS
}

/// Returns what every process gets of this variable.
pub fn baseline_variable<'a>(name: &str, value: &'a OsStr) -> BaselineVariable<'a> {
    let is_of = |group: &&BaselineGroup| group.names.iter().any(|pattern| matches(pattern, name));
    match BASELINE_GROUPS.iter().find(is_of).map(|group| group.rule) {
        None => BaselineVariable::NotBaseline,
        Some(BaselineRule::Unchanged) => BaselineVariable::Whole(value),
        Some(BaselineRule::Proxy) => strip(value, |text| Some(strip_proxy_credentials(text))),
        Some(BaselineRule::PackageManager) => package_manager_variable(name, value),
    }
}

/// Returns the value of this variable for every process; `None` if processes do not get it. A URL comes without
/// user and password: the proxy or registry then asks for them, which is easier to understand than an unreachable
/// network.
pub fn baseline_value<'a>(name: &str, value: &'a OsStr) -> Option<Cow<'a, OsStr>> {
    match baseline_variable(name, value) {
        BaselineVariable::Whole(value) => Some(Cow::Borrowed(value)),
        BaselineVariable::WithoutCredentials(value) => Some(Cow::Owned(value.into())),
        BaselineVariable::NotBaseline | BaselineVariable::Withheld => None,
    }
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

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(NPM_PREFIX) => npm_setting(name).is_some(),
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}

/// The part of a name after `npm_config_`.
fn npm_setting(name: &str) -> Option<&str> {
    let (prefix, setting) = name.split_at_checked(NPM_PREFIX.len())?;
    prefix.eq_ignore_ascii_case(NPM_PREFIX).then_some(setting)
}

fn package_manager_variable<'a>(name: &str, value: &'a OsStr) -> BaselineVariable<'a> {
    let is_of_run = |setting: &str| {
        NPM_RUN_SETTINGS.iter().any(|run_setting| setting.eq_ignore_ascii_case(run_setting))
    };
    let lower_name = name.to_ascii_lowercase();
    if npm_setting(name).is_some_and(is_of_run) {
        BaselineVariable::NotBaseline
    } else if redact::is_secret_name(name)
        || CREDENTIAL_NAME_PARTS.iter().any(|part| lower_name.contains(part))
    {
        BaselineVariable::Withheld
    } else if lower_name.ends_with("proxy") && !lower_name.ends_with("noproxy") {
        strip(value, |text| Some(strip_proxy_credentials(text)))
    } else {
        strip(value, strip_url_credentials)
    }
}

/// Applies a function that cuts credentials out of a text, or returns `None` where it cannot.
fn strip<'a>(
    value: &'a OsStr,
    cut: impl FnOnce(&'a str) -> Option<Cow<'a, str>>,
) -> BaselineVariable<'a> {
    match value.to_str().filter(|text| !redact::is_token(text)).and_then(cut) {
        Some(Cow::Borrowed(text)) if text.len() == value.len() => BaselineVariable::Whole(value),
        Some(text) => BaselineVariable::WithoutCredentials(text.into_owned()),
        None => BaselineVariable::Withheld,
    }
}

#[cfg(test)]
mod tests {
    use super::{BaselineVariable, baseline_groups, baseline_value, baseline_variable};

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
        let proxies = baseline_groups().iter().filter(|group| group.purpose.starts_with("proxies"));
        let names = proxies.flat_map(|group| group.names.iter().copied());
        let names = names.chain(["npm_config_https_proxy", "NPM_CONFIG_PROXY", "PIP_PROXY"]);
        for name in names {
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
                let is_whole = baseline_variable(name, value.as_ref())
                    == BaselineVariable::Whole(value.as_ref());
                assert_eq!(is_whole, value == expected, "{name}={value}");
            }
        }
        assert_eq!(passed("NO_PROXY", "a@b,c").as_deref(), Some("a@b,c"));
        assert_eq!(passed("npm_config_noproxy", "a,b").as_deref(), Some("a,b"));
    }

    #[test]
    fn certificates_and_registries_pass_without_credentials() {
        let check = |name: &str, value: &str, expected: Option<&str>| {
            assert_eq!(passed(name, value).as_deref(), expected, "{name}={value}");
        };
        for name in ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE"] {
            check(name, "/etc/ssl/company@home.pem", Some("/etc/ssl/company@home.pem"));
        }
        check("npm_config_registry", "https://r.example/npm/", Some("https://r.example/npm/"));
        check("NPM_CONFIG_REGISTRY", "https://ann:hush@r.example/", Some("https://r.example/"));
        check(
            "npm_config_@acme:registry",
            "https://r.example/@acme/",
            Some("https://r.example/@acme/"),
        );
        check("npm_config_cafile", "/etc/ssl/company.pem", Some("/etc/ssl/company.pem"));
        check("UV_PYTHON", "cpython@3.12", Some("cpython@3.12"));
        check(
            "UV_INDEX",
            "one=https://ann:hush@a.example/s two=https://b.example/s",
            Some("one=https://a.example/s two=https://b.example/s"),
        );
        check(
            "PIP_EXTRA_INDEX_URL",
            "https://ann@a.example:8443/s\nhttps://[::1]:80/s",
            Some("https://a.example:8443/s\nhttps://[::1]:80/s"),
        );
        for (name, value) in [
            ("npm_config__auth", "YW5uOmh1c2g="),
            ("NPM_CONFIG__AUTHTOKEN", "x"),
            ("npm_config_//r.example/:_authToken", "x"),
            ("npm_config_//r.example/:_password", "x"),
            ("npm_config_//r.example/:username", "ann"),
            ("npm_config_key", "-----BEGIN"),
            ("npm_config_otp", "123456"),
            ("UV_PUBLISH_URL", "https://r.example/"),
            ("UV_INDEX_ACME_USERNAME", "ann"),
            ("UV_INDEX_ACME_PASSWORD", "hush"),
            ("PIP_SOMETHING", "npm_0123456789abcdef"),
            ("PIP_INDEX_URL", "https://ann:hu/sh@r.example/"),
            ("PIP_INDEX_URL", "https://ann:hu sh@r.example/"),
            ("PIP_INDEX_URL", "https://ann:hu@sh/hush@r.example/"),
            ("PIP_INDEX_URL", "https://r.example/?token=hush"),
            ("PIP_INDEX_URL", "https://a.example/,https://ann:hush@r.example/"),
            ("PIP_INDEX_URL", "ann:hush@r.example"),
        ] {
            check(name, value, None);
            let outcome = baseline_variable(name, value.as_ref());
            assert_eq!(outcome, BaselineVariable::Withheld, "{name}={value}");
        }
    }

    #[test]
    fn what_npm_says_of_its_own_run_is_not_passed() {
        for name in ["npm_config_package", "npm_config_call", "npm_config_local_prefix"] {
            assert_eq!(baseline_variable(name, "x".as_ref()), BaselineVariable::NotBaseline);
        }
    }
}
