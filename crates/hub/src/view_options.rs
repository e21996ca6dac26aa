//! The options of a client of the hub: its view of the servers, the address that serves them, and the admitted
//! clients.
//!
//! Used by `connect`, which sends [`ViewOptions`] in its hello, and by `serve`, which sends [`FacesOptions`] to the
//! admin API. The words of their JSON are those of the command line. It does not parse arguments.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use switchboard_config::{PermissionMode, ResolveOptions};
use switchboard_core::catalog::NameStyle;
use switchboard_gateway::bridge::ToolSearch;
use switchboard_gateway::face::FaceLimits;

use crate::AppsOptions;

/// How a client sees the servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ViewOptions {
    /// The style of tool names.
    #[serde(with = "NameStyleJson")]
    pub names: NameStyle,
    /// Only these servers; all if empty.
    pub servers: Vec<String>,
    /// The agent whose servers and tools the client sees.
    pub agent: Option<String>,
    /// The permission mode for calls that no rule decides; that of the settings if absent.
    pub mode: Option<PermissionMode>,
    /// Whether tools are listed or looked for.
    #[serde(with = "ToolSearchJson")]
    pub tool_search: ToolSearch,
    /// Tokens of a result that the client is given at once; 0 means all.
    pub result_limit: Option<usize>,
    /// Whether servers of a project's `.mcp.json` are left out, because the client reads that file itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_project_servers: bool,
}

/// A workspace served over the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FacesOptions {
    /// How clients see the servers.
    pub view: ViewOptions,
    /// The address to listen at; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Which clients are let in.
    #[serde(default, rename = "guarding")]
    pub access: AccessOptions,
    /// Where the console shows apps.
    #[serde(default)]
    pub apps: AppsOptions,
}

/// Which clients are let in at an address, and how much they may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AccessOptions {
    /// The authentication of clients; chosen by the address and the issuer if absent.
    pub auth: Option<ClientAuth>,
    /// The URL of an authorization server whose tokens let clients in.
    pub auth_issuer: Option<String>,
    /// The URL by which clients reach this hub, without a path.
    pub auth_resource: Option<String>,
    /// The audiences that tokens have to be for, in place of the URL they are shown at.
    pub auth_audience: Vec<String>,
    /// The scopes that tokens have to allow.
    pub auth_scope: Vec<String>,
    /// The claim of tokens that lists the groups of their subject; `groups` if absent.
    pub auth_groups: Option<String>,
    /// The client id of this hub at that authorization server, with which browsers sign in there.
    pub auth_client_id: Option<String>,
    /// The file of the client secret.
    pub auth_client_secret_file: Option<PathBuf>,
    /// Host names that clients may call this machine by.
    pub allow_host: Vec<String>,
    /// Origins of web pages that may call.
    pub allow_origin: Vec<String>,
    /// The certificate chain, in PEM.
    pub tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM.
    pub tls_key: Option<PathBuf>,
    /// Requests per second of each user or token.
    pub rate: Option<NonZeroU32>,
    /// Sessions that may be open at once.
    pub max_sessions: NonZeroUsize,
    /// Bytes of one message.
    pub max_message: NonZeroUsize,
    /// When a session ends that no client uses.
    pub idle: Option<Duration>,
    /// Whether other replicas may have tokens that this machine does not have yet.
    #[serde(skip)]
    pub shares_tokens: bool,
}

/// The authentication that a client needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ClientAuth {
    /// A program of this user on this machine, or one with a token.
    User,
    /// A token.
    Token,
}

/// The words of [`NameStyle`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "NameStyle", rename_all = "camelCase")]
enum NameStyleJson {
    Full,
    #[serde(rename = "server")]
    Gateway,
    Bare,
}

/// The words of [`ToolSearch`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "ToolSearch", rename_all = "camelCase")]
enum ToolSearchJson {
    Off,
    Auto,
    On,
}

// === impl ViewOptions ===

impl ViewOptions {
    /// Everything, or everything of one agent, with full names.
    pub fn plain(agent: Option<String>) -> Self {
        Self {
            names: NameStyle::Full,
            servers: Vec::new(),
            agent,
            mode: Some(PermissionMode::Default),
            tool_search: ToolSearch::Off,
            result_limit: None,
            without_project_servers: false,
        }
    }

    /// Returns `options` with the agent of this view, to resolve the configuration for.
    #[must_use]
    pub fn resolve_options(&self, options: &ResolveOptions) -> ResolveOptions {
        ResolveOptions { agent: self.agent.clone(), ..options.clone() }
    }

    /// The only servers to start; `None` means all.
    pub(crate) fn only_servers(&self) -> Option<Vec<String>> {
        (!self.servers.is_empty()).then(|| self.servers.clone())
    }
}

// === impl AccessOptions ===

impl Default for AccessOptions {
    /// The options of `serve` without flags.
    fn default() -> Self {
        let limits = FaceLimits::default();
        let at_least_one = |limit| NonZeroUsize::new(limit).unwrap_or(NonZeroUsize::MIN);
        Self {
            auth: None,
            auth_issuer: None,
            auth_resource: None,
            auth_audience: Vec::new(),
            auth_scope: Vec::new(),
            auth_groups: None,
            auth_client_id: None,
            auth_client_secret_file: None,
            allow_host: Vec::new(),
            allow_origin: Vec::new(),
            tls_cert: None,
            tls_key: None,
            rate: None,
            max_sessions: at_least_one(limits.sessions),
            max_message: at_least_one(limits.body),
            idle: None,
            shares_tokens: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `connect` or `serve` of another build of this version reads the same words.
    #[test]
    fn the_json_of_the_options_keeps_its_words() {
        let options = FacesOptions {
            view: ViewOptions {
                names: NameStyle::Gateway,
                mode: Some(PermissionMode::BypassPermissions),
                tool_search: ToolSearch::Auto,
                result_limit: Some(5),
                ..ViewOptions::plain(Some("a".to_owned()))
            },
            listen: "127.0.0.1:7420".parse().unwrap(),
            access: AccessOptions {
                auth: Some(ClientAuth::User),
                idle: Some(Duration::from_secs(90)),
                ..AccessOptions::default()
            },
            apps: AppsOptions {
                origin: Some("https://apps.example".parse().unwrap()),
                listen: Some("127.0.0.1:7421".parse().unwrap()),
            },
        };
        let json = serde_json::json!({
            "view": {
                "names": "server", "servers": [], "agent": "a", "mode": "bypassPermissions",
                "toolSearch": "auto", "resultLimit": 5,
            },
            "listen": "127.0.0.1:7420",
            "guarding": {
                "auth": "user", "authIssuer": null, "authResource": null, "authAudience": [],
                "authScope": [], "authGroups": null, "authClientId": null, "authClientSecretFile": null,
                "allowHost": [], "allowOrigin": [],
                "tlsCert": null, "tlsKey": null,
                "rate": null, "maxSessions": 1024, "maxMessage": 16_777_216,
                "idle": { "secs": 90, "nanos": 0 },
            },
            "apps": { "origin": "https://apps.example", "listen": "127.0.0.1:7421" },
        });
        assert_eq!(serde_json::to_value(&options).unwrap(), json);
        assert_eq!(serde_json::from_value::<FacesOptions>(json).unwrap(), options);
    }
}
