//! Scopes: the layers of configuration, in the order of precedence.
//!
//! Used by `load`, `resolve`, `workspace` and the commands that take `--scope`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The layers of configuration. Their order *is* the precedence: of two servers with one name, the one of the
/// greater scope is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The organisation's connector catalog.
    Connectors,
    /// A bundle in the user's plugin folder.
    Plugin,
    /// Another client's own file, if the user's settings name the client.
    Inherited,
    /// The user's settings.
    User,
    /// `.mcp.json` in the working directory or above it.
    Project,
    /// The project's file that stays out of version control.
    Local,
    /// Given for one run (`--mcp-config`).
    Dynamic,
    /// Inline in the requested agent's file.
    Agent,
    /// The administrator's file; if it exists, it is the only one.
    Enterprise,
}

impl Scope {
    /// The scope's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connectors => "connectors",
            Self::Plugin => "plugin",
            Self::Inherited => "inherited",
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::Dynamic => "dynamic",
            Self::Agent => "agent",
            Self::Enterprise => "enterprise",
        }
    }

    /// Whether the user or the administrator wrote it, not the authors of a project.
    pub fn is_trusted(self) -> bool {
        !matches!(self, Self::Project | Self::Local | Self::Agent)
    }

    /// Whether `${VAR}` in its entries is expanded. Text from the network gets no variables.
    pub fn is_expanded(self) -> bool {
        self != Self::Connectors
    }

    /// Whether `add`, `remove` and `edit` may write to it.
    pub fn is_writable(self) -> bool {
        matches!(self, Self::User | Self::Project | Self::Local)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a word that names no writable scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a scope; there are `local`, `project` and `user`")]
pub struct UnknownScope(String);

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(word: &str) -> Result<Self, UnknownScope> {
        match word {
            "local" => Ok(Self::Local),
            "project" => Ok(Self::Project),
            "user" => Ok(Self::User),
            _ => Err(UnknownScope(word.to_owned())),
        }
    }
}
