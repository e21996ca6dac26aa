//! Where a server comes from.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The layers of configuration. Their order *is* the precedence: of two servers with one name the one of the
/// greater scope is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The organisation's catalogue.
    Connectors,
    /// A bundle in the user's plugin folder.
    Plugin,
    /// Another client's own file, read where the user settings say so.
    Inherited,
    /// The user's settings.
    User,
    /// `.mcp.json` in the working directory or above it.
    Project,
    /// The project's file that stays out of version control.
    Local,
    /// Given for one run.
    Dynamic,
    /// Defined inline by the agent that was asked for.
    Agent,
    /// The administrator's file; where it exists it is alone.
    Enterprise,
}

impl Scope {
    /// The name people type and read.
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

    /// Whether what stands there was chosen by the user or the administrator, not by whoever wrote the project.
    pub fn is_trusted(self) -> bool {
        !matches!(self, Self::Project | Self::Local | Self::Agent)
    }

    /// Whether `${VAR}` in its entries stands for a variable of the user's. Text from the network gets none.
    pub fn is_expanded(self) -> bool {
        self != Self::Connectors
    }

    /// Whether `add`, `remove` and `edit` may write there.
    pub fn is_writable(self) -> bool {
        matches!(self, Self::User | Self::Project | Self::Local)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names none of the scopes a person may write to.
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
