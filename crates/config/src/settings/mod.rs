//! Settings files: permissions, hooks, environment, policy and toggles, as written.
//!
//! Used by `load` and `resolve::settings`, which decides which values take effect.

mod argument_pointer;
mod parse;
mod permission_rule;
mod plugins;
mod rule;
mod types;

pub use argument_pointer::{ArgumentPointer, InvalidArgumentPointer};
pub(crate) use parse::{decode_servers, decode_settings, last_of_each};
pub use permission_rule::{ArgumentCondition, ConditionalRule, RuleAudience, WrittenRule};
pub use plugins::{PluginSettings, PluginTerms};
pub use rule::{InvalidPermissionRule, ToolPattern};
pub use types::{
    ConnectorSource, HookCommand, HookEvent, HookGroup, IdentityProvider, LimitSettings,
    PermissionMode, Permissions, ServerEntries, Settings,
};
