//! Settings files: permissions, hooks, environment, policy and toggles, as written.
//!
//! Used by `load` and `resolve::settings`, which decides which values take effect.

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
