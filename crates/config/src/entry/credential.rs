//! The credentials of an entry: the parts with which it reaches its server as the person who wrote it.
//!
//! Used by the engine, which gives every principal its own sign-in and refuses servers whose entry holds something
//! of that person's. The rule is wide on purpose: what may be a credential counts as one, and `signIn` says otherwise.
//! It knows no principals and no tokens.

use url::Url;

use super::types::{
    Entry, InheritEnv, OAuth, OAuthGrant, RemoteTransport, StdioTransport, Transport,
};
use crate::expand::{PROJECT_NAME_VARIABLE, PROJECT_ROOT_VARIABLE, TemplatePiece, split_template};
use crate::load::PLUGIN_ROOT_VARIABLE;
use crate::redact::redact_entry;
use crate::source::{ConfigNode, ConfigValue};

/// Variables that say where files are and hold no credential.
const FOLDER_VARIABLES: [&str; 6] =
    [PROJECT_ROOT_VARIABLE, PROJECT_NAME_VARIABLE, "HOME", "PATH", "USER", PLUGIN_ROOT_VARIABLE];

/// The shortest segment of a path that may be a key.
const MIN_KEY_LENGTH: usize = 16;

/// The credential of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryCredential {
    /// Nothing that belongs to a person.
    None,
    /// A sign-in, if the server wants one. Every principal can have its own.
    SignIn,
    /// A credential in the entry, which belongs to its author: the name of the first one.
    InEntry(String),
}

// === impl EntryCredential ===

impl EntryCredential {
    /// Finds the credential of an entry. `template` is the entry as written, before variables are replaced.
    pub(crate) fn of_entry(entry: &Entry, template: &ConfigNode) -> Self {
        let in_transport = match &entry.transport {
            Transport::Sdk => return Self::None,
            Transport::Stdio(stdio) => in_stdio(stdio),
            Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
                in_remote(remote)
            }
            Transport::SseIde(_) | Transport::WsIde(_) => Some("the open editor".to_owned()),
        };
        let in_entry =
            in_transport.or_else(|| find_reference(template)).or_else(|| find_secret(entry));
        match (in_entry, &entry.transport) {
            (Some(what), _) => Self::InEntry(what),
            (None, Transport::Http(_) | Transport::Sse(_)) => Self::SignIn,
            (None, _) => Self::None,
        }
    }
}

/// The variables of a process: a variable of any name may be a key.
fn in_stdio(stdio: &StdioTransport) -> Option<String> {
    if let Some(name) = stdio.env.keys().next() {
        return Some(format!("`env.{name}`"));
    }
    if stdio.env_file.is_some() {
        return Some("`envFile`".to_owned());
    }
    let inherits = match &stdio.inherit_env {
        InheritEnv::All(all) => *all,
        InheritEnv::Names(names) => !names.is_empty(),
    };
    inherits.then(|| "`inheritEnv`".to_owned())
}

fn in_remote(remote: &RemoteTransport) -> Option<String> {
    if let Some(name) = remote.headers.keys().next() {
        return Some(format!("the header `{name}`"));
    }
    if remote.headers_helper.is_some() {
        return Some("`headersHelper`".to_owned());
    }
    if remote.tls.as_ref().is_some_and(|tls| tls.cert_file.is_some() || tls.key_file.is_some()) {
        return Some("the certificate in `tls`".to_owned());
    }
    if let Some(what) = remote.oauth.as_ref().and_then(in_oauth) {
        return Some(what.to_owned());
    }
    let url = Url::parse(&remote.url).ok()?;
    if !url.username().is_empty() || url.password().is_some() {
        return Some("the user in `url`".to_owned());
    }
    if url.query().is_some() {
        return Some("the query of `url`".to_owned());
    }
    let mut segments = url.path_segments()?;
    segments.any(is_key_like).then(|| "the path of `url`".to_owned())
}

/// Whether a segment of a path looks like a key: some servers give each user an own address.
fn is_key_like(segment: &str) -> bool {
    segment.len() >= MIN_KEY_LENGTH && segment.bytes().any(|byte| byte.is_ascii_digit())
}

/// A sign-in without a page signs in the person who wrote the entry. The client's own id and secret name a program, and
/// every principal signs in through it; through an identity provider (`xaa`) each with its own sign-in there.
fn in_oauth(oauth: &OAuth) -> Option<&'static str> {
    match oauth.grant {
        Some(OAuthGrant::ClientCredentials | OAuthGrant::JwtBearer) => Some("`oauth.grant`"),
        _ if oauth.assertion_file.is_some() => Some("`oauth.assertionFile`"),
        Some(OAuthGrant::AuthorizationCode) | None => None,
    }
}

/// The first secret or variable that an entry names. The client of a sign-in is not looked at.
fn find_reference(template: &ConfigNode) -> Option<String> {
    let counts = template.members().iter().filter(|member| *member.key != *"oauth");
    counts.map(|member| &member.value).find_map(find_reference_in)
}

fn find_reference_in(node: &ConfigNode) -> Option<String> {
    match &node.value {
        ConfigValue::String(text) => {
            split_template(text).into_iter().find_map(|piece| match piece {
                TemplatePiece::Literal(_) => None,
                TemplatePiece::Reference { name, .. } if FOLDER_VARIABLES.contains(&name) => None,
                TemplatePiece::Reference { name, .. } => Some(format!("`${{{name}}}`")),
                TemplatePiece::Secret { written, .. } => Some(format!("`{written}`")),
            })
        }
        _ => {
            let members = node.members().iter().map(|member| &member.value);
            members.chain(node.elements()).find_map(find_reference_in)
        }
    }
}

/// The first member with a text that `switchboard get` would hide, such as a token among the arguments.
fn find_secret(entry: &Entry) -> Option<String> {
    let mut written = entry.to_json();
    let members = written.as_object_mut()?;
    members.remove("oauth");
    let shown = redact_entry(&written);
    let members = written.as_object()?.iter();
    let mut hidden = members.filter(|(name, value)| shown.get(name) != Some(value));
    hidden.next().map(|(name, _)| format!("a secret in `{name}`"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;
    use crate::entry_check::decode;
    use crate::source::SourceOrigin;

    fn check(written: &Value, expected: &str) {
        let at = SourceOrigin::text("test").start();
        let template = ConfigNode::from_json(written, &at);
        let variables =
            ["HOME", "KEY", "workspaceFolder"].map(|name| (name.to_owned(), "x".to_owned()));
        let variables: BTreeMap<_, _> = variables.into();
        let (entry, missing) = decode("s", &template, &variables, &mut Vec::new());
        assert!(missing.is_empty(), "{written}");
        let found = match EntryCredential::of_entry(&entry.unwrap(), &template) {
            EntryCredential::None => "none".to_owned(),
            EntryCredential::SignIn => "sign-in".to_owned(),
            EntryCredential::InEntry(what) => what,
        };
        assert_eq!(found, expected, "{written}");
    }

    #[test]
    fn what_belongs_to_a_person_in_a_process() {
        let with = |more: Value| {
            let mut entry = json!({ "command": "x" });
            entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            entry
        };
        for (more, expected) in [
            (json!({}), "none"),
            (json!({ "args": ["-y", "server", "--root", "/srv/files"] }), "none"),
            (json!({ "args": ["${workspaceFolder}", "${HOME}/notes"] }), "none"),
            (json!({ "env": { "LOG_LEVEL": "debug" } }), "`env.LOG_LEVEL`"),
            (json!({ "envFile": ".env" }), "`envFile`"),
            (json!({ "inheritEnv": true }), "`inheritEnv`"),
            (json!({ "inheritEnv": ["AWS_*"] }), "`inheritEnv`"),
            (json!({ "inheritEnv": false }), "none"),
            (json!({ "args": ["--name=${KEY}"] }), "`${KEY}`"),
            (json!({ "args": ["--name=${KEY:-none}"] }), "`${KEY}`"),
            (json!({ "cwd": "/srv/${KEY}" }), "`${KEY}`"),
            (json!({ "args": ["--token", "abc"] }), "a secret in `args`"),
            (json!({ "args": ["API_KEY=abc"] }), "a secret in `args`"),
            (json!({ "args": ["--header", "Authorization: Bearer abc"] }), "a secret in `args`"),
            (json!({ "args": ["postgres://ada:pw@db/x"] }), "a secret in `args`"),
            (json!({ "args": ["ghp_0123456789abcdef"] }), "a secret in `args`"),
        ] {
            check(&with(more), expected);
        }
    }

    #[test]
    fn what_belongs_to_a_person_in_a_remote_server() {
        let with = |kind: &str, more: Value| {
            let mut entry = json!({ "type": kind, "url": "https://api.example/mcp" });
            entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            entry
        };
        for kind in ["http", "sse"] {
            check(&with(kind, json!({})), "sign-in");
            let client =
                json!({ "oauth": { "clientId": "c", "clientSecret": "${KEY}", "scopes": ["a"] } });
            check(&with(kind, client), "sign-in");
        }
        check(&json!({ "type": "ws", "url": "wss://api.example/mcp" }), "none");
        check(
            &json!({ "type": "ws", "url": "wss://api.example/", "headers": { "x": "y" } }),
            "the header `x`",
        );
        for (more, expected) in [
            (json!({ "headers": { "X-Region": "eu" } }), "the header `X-Region`"),
            (json!({ "headersHelper": "print-headers" }), "`headersHelper`"),
            (json!({ "tls": { "certFile": "me.pem" } }), "the certificate in `tls`"),
            (json!({ "tls": { "caFile": "ca.pem" } }), "sign-in"),
            (json!({ "url": "https://ada@api.example/mcp" }), "the user in `url`"),
            (json!({ "url": "https://:pw@api.example/mcp" }), "the user in `url`"),
            (json!({ "url": "https://api.example/mcp?key=abc" }), "the query of `url`"),
            (json!({ "url": "https://api.example/${KEY}/mcp" }), "`${KEY}`"),
            (json!({ "url": "https://api.example/s/0b7e9f7c4d2a41d8/mcp" }), "the path of `url`"),
            (json!({ "url": "https://api.example/v1/projects/acme/mcp" }), "sign-in"),
            (
                json!({ "oauth": { "grant": "client_credentials", "clientId": "c" } }),
                "`oauth.grant`",
            ),
            (json!({ "oauth": { "xaa": true, "clientId": "us" } }), "sign-in"),
            (json!({ "oauth": { "assertionFile": "a.jwt" } }), "`oauth.assertionFile`"),
        ] {
            check(&with("http", more), expected);
        }
        check(&json!({ "type": "sse-ide", "url": "http://127.0.0.1:1/" }), "the open editor");
    }
}
