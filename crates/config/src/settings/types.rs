//! The types of a settings file.
//!
//! Used by `settings::parse` and `resolve`. The documentation of members is published in the JSON schema and
//! in the settings reference.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{PluginSettings, RuleAudience, WrittenRule};
use crate::entry::{Entry, QuestionSettings, StartPolicy};
use crate::policy::ServerRule;
use crate::source::{ConfigMember, LocatedValue, SourceLocation};

/// A settings file: the user's, a project's, or the administrator's.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema)]
#[schemars(rename_all = "camelCase", default)]
pub struct Settings {
    /// Servers, by name. The servers of a project are in `.mcp.json`.
    pub mcp_servers: ServerEntries,
    /// What tools may do.
    pub permissions: Permissions,
    /// Commands run around tool calls, by event.
    pub hooks: BTreeMap<HookEvent, Vec<HookGroup>>,
    /// The first error in `permissions` or `hooks`: a rule or a hook that refuses calls may be lost.
    #[schemars(skip)]
    pub(crate) unclear_restrictions: Option<SourceLocation>,
    /// Environment variables. A project may set only timeouts and the output limit.
    pub env: BTreeMap<String, LocatedValue<String>>,
    /// Servers of `.mcp.json` that start without approval.
    pub enabled_mcpjson_servers: Vec<LocatedValue<String>>,
    /// Servers of `.mcp.json` that are rejected.
    pub disabled_mcpjson_servers: Vec<LocatedValue<String>>,
    /// Whether every server of `.mcp.json` starts without approval.
    pub enable_all_project_mcp_servers: Option<LocatedValue<bool>>,
    /// Servers that are enabled although their entry or a wider scope disables them.
    pub enabled_mcp_servers: Vec<LocatedValue<String>>,
    /// Servers that are disabled.
    pub disabled_mcp_servers: Vec<LocatedValue<String>>,
    /// The only servers that may run. Absent allows all, an empty list allows none.
    pub allowed_mcp_servers: Option<LocatedValue<Vec<LocatedValue<ServerRule>>>>,
    /// Servers that may not run, even if another setting allows them.
    pub denied_mcp_servers: Vec<LocatedValue<ServerRule>>,
    /// Whether only the administrator's list of allowed servers applies.
    pub allow_managed_mcp_servers_only: Option<LocatedValue<bool>>,
    /// The organisation's catalog of servers.
    pub connectors: Option<LocatedValue<ConnectorSource>>,
    /// The identity provider for signing in to many servers at once.
    pub xaa_idp: Option<LocatedValue<IdentityProvider>>,
    /// The sources of secrets outside the secret store, by name: `${file:PATH}`, `${cmd:COMMAND}` or
    /// `op://VAULT/ITEM/FIELD`.
    pub secret_providers: BTreeMap<String, LocatedValue<String>>,
    /// The administrators of `serve`: in its console they see the servers, and who calls what. Each is a principal or a
    /// group, as in `for` of a rule.
    pub admins: Vec<LocatedValue<RuleAudience>>,
    /// Native plugins to load in addition to the plugin folder.
    pub native_plugins: Vec<LocatedValue<String>>,
    /// How native plugins are run.
    pub plugins: PluginSettings,
    /// Other clients whose servers are used, too. Their files are read and never written.
    pub inherit: Vec<LocatedValue<String>>,
    /// The tools of an editor that clients see.
    pub ide_tools: Option<Vec<LocatedValue<String>>>,
    /// Who answers the questions of servers if the client cannot.
    pub questions: QuestionSettings,
    /// When a server starts whose lists are known and whose entry has no `start`: with the first call that needs it, or
    /// at once, to keep running.
    pub start: Option<StartPolicy>,
    /// Whether the gateway checks the arguments of its clients' calls against the tool's schema before it sends them. If
    /// not, only the server checks them. The command line and the library always check.
    pub check_arguments: Option<bool>,
    /// Limits and timeouts.
    pub limits: LimitSettings,
}

/// Servers by name, as trees that still know their places.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerEntries(pub Vec<ConfigMember>);

/// What tools may do.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase", default)]
pub struct Permissions {
    /// Calls that are allowed without a question.
    pub allow: Vec<LocatedValue<WrittenRule>>,
    /// Calls that are denied.
    pub deny: Vec<LocatedValue<WrittenRule>>,
    /// Calls that a person is always asked about.
    pub ask: Vec<LocatedValue<WrittenRule>>,
    /// What happens to a call that no rule decides.
    pub default_mode: Option<LocatedValue<PermissionMode>>,
    /// A command that helps the `auto` mode decide.
    pub classifier: Option<LocatedValue<String>>,
}

/// What happens to a call that no rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Mode")]
pub enum PermissionMode {
    /// Someone is asked.
    Default,
    /// The client's own prompt decides.
    Client,
    /// Only tools that read.
    Plan,
    /// Annotations, rules and a classifier decide.
    Auto,
    /// Everything happens.
    BypassPermissions,
    /// Nothing happens.
    DontAsk,
}

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub enum HookEvent {
    /// Before a tool is called.
    PreToolUse,
    /// After it answered.
    PostToolUse,
    /// When a server asks something.
    Elicitation,
    /// When that was answered.
    ElicitationResult,
    /// When permission is asked for.
    PermissionRequest,
}

/// Hooks that share a matcher.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[schemars(default)]
pub struct HookGroup {
    /// A regular expression that the tool's name must match; absent, `""` and `*` match all.
    pub matcher: Option<String>,
    /// The hooks.
    pub hooks: Vec<LocatedValue<HookCommand>>,
}

/// One hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HookCommand {
    /// Always `command`.
    #[serde(rename = "type")]
    #[schemars(default)]
    pub kind: String,
    /// The command line, run by a shell.
    pub command: String,
    /// The maximum number of seconds it may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
}

/// A catalog of servers.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct ConnectorSource {
    /// The URL of the catalog.
    pub url: String,
    /// A command that prints the bearer token for the catalog.
    pub token_helper: Option<String>,
    /// Other origins that get the token, such as `https://mcp.example.com`. No other server of the catalog gets it.
    #[schemars(default)]
    pub token_origins: Vec<String>,
}

/// The identity provider of an organisation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentityProvider {
    /// The issuer URL of the provider.
    pub issuer: String,
    /// The id of the OAuth client that is registered for you there.
    pub client_id: String,
    /// A command that prints the secret of that client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret_helper: Option<String>,
    /// The scopes to request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub scopes: Vec<String>,
    /// The local port to which the browser returns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback_port: Option<u16>,
}

// === impl IdentityProvider ===

impl IdentityProvider {
    /// The provider as JSON, for a file.
    pub fn to_json(&self) -> Value {
        let Self { issuer, client_id, client_secret_helper, scopes, callback_port } = self;
        let mut members = Map::new();
        let mut set = |key: &str, value: Value| drop(members.insert(key.to_owned(), value));
        set("issuer", Value::from(&**issuer));
        set("clientId", Value::from(&**client_id));
        if let Some(helper) = client_secret_helper {
            set("clientSecretHelper", Value::from(&**helper));
        }
        if !scopes.is_empty() {
            set("scopes", Value::from(&**scopes));
        }
        if let Some(port) = callback_port {
            set("callbackPort", Value::from(*port));
        }
        Value::Object(members)
    }
}

/// Numbers that may be changed; absent means the built-in value. User and managed settings only.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase", default)]
#[schemars(rename = "Limits")]
pub struct LimitSettings {
    /// Milliseconds to wait for the first byte of an HTTP response.
    pub request_timeout_ms: Option<u64>,
    /// Quick attempts to reconnect, with growing pauses up to 30 s. After that, attempts continue up to 2 minutes apart.
    pub reconnect_attempts: Option<u64>,
    /// Whether progress starts the timeout of a call again.
    pub reset_on_progress: Option<bool>,
    /// Milliseconds that a call may take in all: progress does not extend them, the time that a question waits for its
    /// answer does not count. 0 for no limit.
    pub call_time_limit_ms: Option<u64>,
    /// Milliseconds that the first list of a session waits for servers.
    pub first_list_wait_ms: Option<u64>,
    /// Milliseconds for which a question, or a call that waits for an answer, is kept.
    pub question_ttl_ms: Option<u64>,
    /// Concurrent calls per server.
    pub calls_in_flight: Option<u64>,
    /// Connections to servers that one principal may have in addition to the configured ones; more are refused with
    /// *retry*.
    pub connections_per_principal: Option<u64>,
    /// The same limit for all principals together.
    pub connections: Option<u64>,
    /// Milliseconds after which an idle session ends.
    pub session_idle_ms: Option<u64>,
    /// Milliseconds after which an idle hub ends.
    pub hub_idle_ms: Option<u64>,
    /// Milliseconds without a call after which a server that no session needs is stopped until the next call. 0 for
    /// never.
    pub server_idle_ms: Option<u64>,
    /// Bytes of disk space for results that were too large.
    pub spill_bytes: Option<u64>,
    /// Days for which such results are kept.
    pub spill_days: Option<u64>,
    /// Pixels on the long side of an image in a result; a larger image is scaled down. 0 for no limit. Clients with
    /// `--result-limit 0` get images as they are.
    pub image_pixels: Option<u64>,
    /// The maximum size of an image in a result, in bytes of base64; a larger image is scaled down. 0 for no limit.
    pub image_bytes: Option<u64>,
    /// Threads of the hub and of `serve` that carry out calls, 64 at most. A hub reads this when it starts.
    pub threads: Option<u64>,
}

// === impl ServerEntries ===

impl JsonSchema for ServerEntries {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Servers".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<BTreeMap<String, Entry>>()
    }
}

// === impl Mode ===

impl PermissionMode {
    /// The mode with this name.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "default" => Self::Default,
            "client" => Self::Client,
            "plan" => Self::Plan,
            "auto" => Self::Auto,
            "bypassPermissions" => Self::BypassPermissions,
            "dontAsk" => Self::DontAsk,
            _ => return None,
        })
    }

    /// How permissive the mode is, the strictest first. Of two modes, the one with the smaller rank is
    /// stricter.
    pub fn rank(self) -> u8 {
        match self {
            Self::DontAsk => 0,
            Self::Plan => 1,
            Self::Default => 2,
            Self::Client => 3,
            Self::Auto => 4,
            Self::BypassPermissions => 5,
        }
    }

    /// The mode's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Client => "client",
            Self::Plan => "plan",
            Self::Auto => "auto",
            Self::BypassPermissions => "bypassPermissions",
            Self::DontAsk => "dontAsk",
        }
    }
}

// === impl HookEvent ===

impl HookEvent {
    /// Every event.
    pub const ALL: [Self; 5] = [
        Self::PreToolUse,
        Self::PostToolUse,
        Self::Elicitation,
        Self::ElicitationResult,
        Self::PermissionRequest,
    ];

    /// The event's name in the file.
    pub fn word(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::Elicitation => "Elicitation",
            Self::ElicitationResult => "ElicitationResult",
            Self::PermissionRequest => "PermissionRequest",
        }
    }
}
