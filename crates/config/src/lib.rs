//! Configuration: from files, scopes, trust and policy to the servers that are desired.
//!
//! Used by `sources`, `core`, `auth`, `gateway`, `hub` and `cli`. A pure library: it loads, expands, orders,
//! judges, and edits files so that every other byte stays. It knows no network, no runtime, no environment,
//! directory or clock of its own; all of these come in through [`HostContext`].
//!
//! ```
//! use switchboard_config::{ConfigWorkspace, HostContext, OnExistingEntry, Platform, ResolveOptions, Scope};
//!
//! # let folder = tempfile::tempdir()?;
//! # let home = folder.path().to_str().unwrap().to_owned();
//! let env = [("HOME".to_owned(), home.clone())].into();
//! let context = HostContext::for_platform(Platform::Linux, env, home.into()).unwrap();
//! let workspace = ConfigWorkspace::new(context, ResolveOptions::default());
//!
//! let entry = serde_json::json!({ "command": "npx", "args": ["-y", "@org/server"] });
//! workspace.add(Scope::Local, "github", &entry, OnExistingEntry::Keep)?;
//!
//! let desired = workspace.desired();
//! let (server, entry) = desired.ready_servers().next().unwrap();
//! assert_eq!((&*server.name, entry.transport.name()), ("github", "stdio"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Reading never fails as a whole: each mistake is a [`ConfigProblem`] beside the servers that work. Writing
//! returns [`Error`].
#![forbid(unsafe_code)]

mod agent;
mod approval;
mod baseline_env;
mod command_line;
pub mod edit;
mod entry;
mod entry_check;
mod error;
mod expand;
mod host_context;
pub mod import;
pub mod install;
mod load;
mod nearest_name;
mod permission_cases;
mod policy;
pub mod private_file;
mod problem;
pub mod redact;
mod resolve;
mod rule_edit;
pub mod schema;
mod scope;
mod search_path;
pub mod secret;
pub mod server_name;
mod settings;
pub mod settings_reference;
pub mod setup;
mod source;
mod url_security;
mod workspace;

pub use agent::SelectedAgent;
pub use approval::{
    ApprovalChange, ApprovalItem, ApprovalItemKind, ApprovalStore, Approvals, ItemVerdict,
    RedactedChange, diff_contents,
};
pub use baseline_env::{
    BaselineGroup, BaselineVariable, OFTEN_NEEDED_VARIABLES, baseline_environment, baseline_groups,
    baseline_value, baseline_variable,
};
pub use command_line::{command_line, quote_arguments};
pub use entry::{
    ElicitationAnswerer, Entry, EntryCredential, IdeTransport, InheritEnv, OAuth, OAuthGrant,
    ProtocolEra, QuestionSettings, RemoteTransport, ServerSharing, ServerSignature, SignInOwner,
    StartPolicy, StdioTransport, TlsFiles, ToolFilter, Transport,
};
pub use entry_check::{EntryCheck, check_entry, parse_entry};
pub use error::Error;
pub use host_context::{
    DynamicConfig, EnvironmentVariables, FetchedConnectors, HostContext, Platform, ResolveOptions,
};
pub use load::project_root;
pub use nearest_name::nearest_name;
pub use permission_cases::{CallVerdict, PermissionCase, read_permission_cases};
pub use policy::{
    AdmittedEntry, InvalidUrlPattern, Policy, PolicyDenial, ServerRule, UrlPattern, glob_matches,
};
pub use problem::{ConfigProblem, ConfigProblemKind, ProblemHint, ProblemSeverity};
pub use resolve::{
    BUILTIN_SERVER, ClassifierCommand, Desired, DesiredServer, DiscoveredServer, EDITOR_SERVER,
    EffectiveHook, EffectiveSettings, NotReadyReason, PLUGINS_SERVER, PermissionRule,
    PermissionRules, SecretVisibility, ServerReadiness, ShadowedEntry, UndecidedItem,
    native_plugin_paths, read_limits, resolve_desired,
};
pub use rule_edit::RuleList;
pub use scope::{Scope, UnknownScope};
pub use search_path::{FolderSkipReason, SearchPath, restricted_path};
pub use settings::{
    ArgumentCondition, ArgumentPointer, ConditionalRule, ConnectorSource, HookCommand, HookEvent,
    HookGroup, IdentityProvider, InvalidArgumentPointer, InvalidPermissionRule, LimitSettings,
    PermissionMode, Permissions, PluginSettings, PluginTerms, RuleAudience, ServerEntries,
    Settings, ToolPattern, WrittenRule,
};
pub use source::{
    ConfigMember, ConfigNode, ConfigValue, LocatedValue, SourceLocation, SourceOrigin,
};
pub use url_security::is_encrypted_or_local;
pub use workspace::{ConfigWorkspace, ConfiguredEntry, OnExistingEntry, ServerSwitch};
