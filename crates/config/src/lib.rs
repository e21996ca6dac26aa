//! Which servers are desired.
//!
//! A pure library: files, scopes, expansion, precedence, trust, policy, and edits that keep every byte they need not
//! change. It knows no network, no runtime, no environment, directory or clock of its own; all of that comes in
//! through [`Surroundings`].
//!
//! ```
//! use switchboard_config::{Asked, Existing, Platform, Scope, Surroundings, Workspace};
//!
//! # let folder = tempfile::tempdir()?;
//! # let home = folder.path().to_str().unwrap().to_owned();
//! let env = [("HOME".to_owned(), home.clone())].into();
//! let surroundings = Surroundings::usual(Platform::Linux, env, home.into()).unwrap();
//! let workspace = Workspace::new(surroundings, Asked::default());
//!
//! let entry = serde_json::json!({ "command": "npx", "args": ["-y", "@org/server"] });
//! workspace.add(Scope::Local, "github", &entry, Existing::Keep)?;
//!
//! let desired = workspace.desired();
//! let (server, entry) = desired.ready().next().unwrap();
//! assert_eq!((&*server.name, entry.transport.name()), ("github", "stdio"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Reading never fails as a whole: what is wrong is a [`Problem`] beside what works. Writing returns [`Error`].
#![forbid(unsafe_code)]

mod agent;
mod baseline;
mod check;
mod command_line;
pub mod edit;
mod entry;
mod error;
mod expand;
pub mod import;
pub mod install;
mod load;
pub mod mask;
pub mod name;
mod policy;
mod problem;
pub mod reference;
mod resolve;
pub mod schema;
mod scope;
mod search_path;
mod settings;
mod source;
mod surroundings;
mod transit;
mod trust;
mod workspace;

pub use agent::Agent;
pub use baseline::{baseline_value, is_cut_for_servers};
pub use check::{Checked, check, parse_entry};
pub use command_line::{command_line, positional};
pub use entry::{
    ElicitationAnswerer, Entry, Grant, Ide, InheritEnv, OAuth, ProtocolEra, QuestionSettings,
    Remote, Share, Signature, Stdio, Tls, ToolFilter, Transport,
};
pub use error::Error;
pub use load::project_root;
pub use policy::{AdmittedEntry, BadPattern, Blocked, Policy, ServerRule, UrlPattern, glob};
pub use problem::{Hint, Kind, Problem, Severity};
pub use resolve::{
    BUILTIN_SERVER, ClassifierCommand, Desired, EDITOR_SERVER, Effective, FoundServer, Hook,
    PLUGINS_SERVER, Pending, PermissionRule, Reason, Rules, Secrets, Server, Shadowed, State,
    native_plugin_paths, resolve,
};
pub use scope::{Scope, UnknownScope};
pub use search_path::{SearchPath, SkipReason, narrowed_path};
pub use settings::{
    BadRule, ConnectorSource, HookCommand, HookEvent, HookGroup, IdentityProvider, Limits, Mode,
    Permissions, PluginSettings, PluginTerms, Rule, Servers, Settings,
};
pub use source::{Located, Location, Member, Node, Origin, Value};
pub use surroundings::{Asked, Dynamic, Environment, Fetched, Platform, Surroundings};
pub use transit::is_encrypted_or_local;
pub use trust::{
    ApprovalStore, Approvals, Change, Item, ItemKind, RedactedChange, Verdict, changes,
};
pub use workspace::{Existing, Switch, Workspace};
