//! Server rules of a policy: by name, URL or command.
//!
//! Used by `policy` and `settings`. The documentation of [`ServerRule`] is published in the JSON schema.

use std::fmt;

use schemars::JsonSchema;

use super::{UrlPattern, glob_matches};
use crate::entry::{Entry, Transport};
use crate::source::{ConfigNode, ConfigValue};

/// What a rule names.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub enum ServerRule {
    /// The server's name, exactly.
    ServerName(String),
    /// A URL, with `*` in host and path.
    ServerUrl(UrlPattern),
    /// The command and all its arguments, with `*` in each.
    ServerCommand(Vec<String>),
}

impl ServerRule {
    /// Whether the rule matches the server's name.
    pub(crate) fn names(&self, name: &str) -> bool {
        matches!(self, Self::ServerName(rule) if rule == name)
    }

    /// Whether the rule allows the server.
    pub(crate) fn allows(&self, name: &str, entry: &Entry) -> bool {
        match (self, &entry.transport) {
            (Self::ServerName(_), _) => self.names(name),
            (Self::ServerUrl(pattern), transport) => {
                transport.url().is_some_and(|url| pattern.allows(url))
            }
            (Self::ServerCommand(globs), Transport::Stdio(stdio)) => {
                let words: Vec<_> = std::iter::once(&stdio.command).chain(&stdio.args).collect();
                globs.len() == words.len()
                    && globs.iter().zip(words).all(|(pattern, word)| glob_matches(pattern, word))
            }
            (Self::ServerCommand(_), _) => false,
        }
    }

    /// Whether the rule denies the server.
    pub(crate) fn denies(&self, name: &str, entry: Option<&Entry>) -> bool {
        match (self, entry) {
            (Self::ServerUrl(pattern), Some(entry)) => {
                entry.transport.url().is_some_and(|url| pattern.denies(url))
            }
            (_, Some(entry)) => self.allows(name, entry),
            (_, None) => self.names(name),
        }
    }
}

impl fmt::Display for ServerRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ServerName(name) => write!(f, "serverName `{name}`"),
            Self::ServerUrl(pattern) => write!(f, "serverUrl `{pattern}`"),
            Self::ServerCommand(globs) => write!(f, "serverCommand `{}`", globs.join(" ")),
        }
    }
}

/// Decodes a rule; the error completes the sentence "a rule …".
pub(crate) fn decode_server_rule(node: &ConfigNode) -> Result<ServerRule, String> {
    let [member] = node.members() else {
        return Err(
            "must have exactly one of `serverName`, `serverUrl` and `serverCommand`".to_owned()
        );
    };
    match (member.key.as_str(), &member.value.value) {
        ("serverName", ConfigValue::String(name)) => Ok(ServerRule::ServerName(name.clone())),
        ("serverUrl", ConfigValue::String(url)) => url
            .parse()
            .map(ServerRule::ServerUrl)
            .map_err(|error| format!("cannot be used: {error}")),
        ("serverCommand", ConfigValue::List(words)) if !words.is_empty() => {
            let globs: Option<Vec<_>> =
                words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
            globs.map(ServerRule::ServerCommand).ok_or_else(|| "must hold strings only".to_owned())
        }
        ("serverName" | "serverUrl", _) => Err(format!("must give `{}` as a string", member.key)),
        ("serverCommand", _) => Err("must give `serverCommand` as a list of strings".to_owned()),
        (key, _) => Err(format!("cannot be by `{key}`")),
    }
}
