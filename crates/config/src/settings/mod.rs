//! What a settings file says besides servers: permissions, hooks, environment, policy, toggles.
//!
//! These types are the file as it is written; whether a value counts is decided when scopes are put together.

mod parse;
mod plugins;
mod rule;
mod types;

pub(crate) use parse::{decode_servers, decode_settings, last_of_each};
pub use plugins::{PluginSettings, PluginTerms};
pub use rule::{InvalidPermissionRule, ToolPattern};
pub use types::{
    ConnectorSource, HookCommand, HookEvent, HookGroup, IdentityProvider, Limits, Mode,
    Permissions, ServerEntries, Settings,
};
