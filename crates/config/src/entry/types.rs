//! The types of an entry, from which entries are written and the JSON schema is derived.
//!
//! Used by every crate that connects to servers. The documentation of members is published in the schema and
//! in the settings reference.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

/// One server, as configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = super::schema::relax)]
pub struct Entry {
    /// How the server is reached.
    #[serde(flatten)]
    pub transport: Transport,
    /// Milliseconds that a tool call may take without an answer or progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1000))]
    pub timeout: Option<u64>,
    /// Whether clients always see its tools, even with tool search.
    #[serde(skip_serializing_if = "is_false")]
    #[schemars(default)]
    pub always_load: bool,
    /// Whether the server is disabled.
    #[serde(skip_serializing_if = "is_false")]
    #[schemars(default)]
    pub disabled: bool,
    /// Which of its tools clients see.
    #[serde(skip_serializing_if = "ToolFilter::is_empty")]
    #[schemars(default)]
    pub tools: ToolFilter,
    /// Whether clients share one connection to the server.
    #[serde(skip_serializing_if = "ServerSharing::is_auto")]
    #[schemars(default)]
    pub share: ServerSharing,
    /// Whether principals of `serve` share one connection, and thereby everything that the server remembers; user and
    /// managed scope only.
    #[serde(skip_serializing_if = "is_false")]
    #[schemars(default)]
    pub share_principals: bool,
    /// Whose sign-in, headers and variables the principals of `serve` use: their own, or those of the person who runs the
    /// hub; user and managed scope only.
    #[serde(skip_serializing_if = "SignInOwner::is_own")]
    #[schemars(default)]
    pub sign_in: SignInOwner,
    /// The only era of the protocol to use: `modern` is 2026-07-28, `legacy` is every older version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub era: Option<ProtocolEra>,
    /// Who answers its questions if the client cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub questions: Option<QuestionSettings>,
    /// When the server starts once its lists are known: with the first call that needs it, or at once, to keep running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<StartPolicy>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Transport {
    /// A process that speaks over standard input and output.
    Stdio(StdioTransport),
    /// Streamable HTTP.
    Http(RemoteTransport),
    /// HTTP with server-sent events, the older transport.
    Sse(RemoteTransport),
    /// WebSocket.
    Ws(RemoteTransport),
    /// An editor, over server-sent events.
    SseIde(IdeTransport),
    /// An editor, over WebSocket.
    WsIde(IdeTransport),
    /// A server inside this process: the host application's own, or native plugins. No file may say so.
    #[schemars(skip)]
    Sdk,
}

/// A process to start.
#[derive(Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Stdio")]
pub struct StdioTransport {
    /// The program to start.
    pub command: String,
    /// The arguments of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub args: Vec<String>,
    /// Environment variables to set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(default)]
    pub env: BTreeMap<String, String>,
    /// The working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A file with more environment variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_file: Option<String>,
    /// Which of the caller's variables the server gets in addition to the [usual ones](environment.md).
    #[serde(skip_serializing_if = "InheritEnv::is_none")]
    #[schemars(default)]
    pub inherit_env: InheritEnv,
}

/// Which of the caller's variables a process gets: names or globs, or `true` for all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum InheritEnv {
    /// Everything, or nothing beyond the usual few.
    All(bool),
    /// Those that match one of these.
    Names(Vec<String>),
}

/// A server behind a URL.
#[derive(Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Remote")]
pub struct RemoteTransport {
    /// The URL of the server.
    pub url: String,
    /// Headers to send with every request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(default)]
    pub headers: BTreeMap<String, String>,
    /// A command that prints more headers, as a JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers_helper: Option<String>,
    /// How to sign in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OAuth>,
    /// The client certificate, and the authorities to trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsFiles>,
}

/// Certificates for one server. Files are in PEM, read anew for each connection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Tls")]
pub struct TlsFiles {
    /// The client certificate and its chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert_file: Option<String>,
    /// The private key of the client certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// Certificate authorities to trust in addition to those of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
}

/// An editor's own server.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Ide")]
pub struct IdeTransport {
    /// The URL of the server.
    pub url: String,
    /// The editor's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ide_name: Option<String>,
    /// The token that the editor expects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_token: Option<String>,
}

/// How to sign in to a server.
#[derive(Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OAuth {
    /// The id of an OAuth client that is registered for you.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The secret of that client, as a reference: `${secret:NAME}` or `${VARIABLE}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The URL of a document that describes the client, instead of a registration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_metadata_url: Option<String>,
    /// The local port to which the browser returns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback_port: Option<u16>,
    /// The URL of the authorization server's metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_server_metadata_url: Option<String>,
    /// The scopes to request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub scopes: Vec<String>,
    /// How the token is obtained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<OAuthGrant>,
    /// The file of the private key that signs assertions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key_file: Option<String>,
    /// The algorithm of the signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing_algorithm: Option<String>,
    /// The file of a ready assertion; it is read each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assertion_file: Option<String>,
    /// Whether tokens are bound to a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dpop: Option<bool>,
    /// Whether to sign in through the organisation's identity provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xaa: Option<bool>,
}

impl OAuth {
    /// The settings with relative file names resolved against `folder`, in which the entry starts.
    #[must_use]
    pub fn with_files_in(mut self, folder: &Path) -> Self {
        for file in [&mut self.private_key_file, &mut self.assertion_file].into_iter().flatten() {
            *file = folder.join(&*file).to_string_lossy().into_owned();
        }
        self
    }
}

/// How a token is obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Grant")]
pub enum OAuthGrant {
    /// A person signs in with a browser.
    AuthorizationCode,
    /// The client signs in for itself.
    ClientCredentials,
    /// The client presents a signed statement.
    #[serde(rename = "urn:ietf:params:oauth:grant-type:jwt-bearer")]
    JwtBearer,
}

/// Which tools are shown, as globs; a denied tool stays hidden whatever allows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ToolFilter {
    /// Only these, where any are named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Never these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub deny: Vec<String>,
}

/// Whether clients share one connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Share")]
pub enum ServerSharing {
    /// Until the server turns out to keep state per client.
    #[default]
    Auto,
    /// All clients.
    Always,
    /// Each client session has its own.
    Never,
}

/// Whose sign-in, headers and variables a server is reached with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SignInOwner {
    /// Every principal signs in for itself, and what the entry holds serves the person who runs the hub alone.
    #[default]
    #[serde(rename = "own")]
    EachPrincipal,
    /// All principals use those of the person who runs the hub.
    Shared,
}

/// When a server with known lists is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StartPolicy {
    /// With the first call that needs it; it stops when it is idle.
    #[default]
    Lazy,
    /// At once; it is never stopped for being idle.
    Eager,
}

/// An era of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProtocolEra {
    /// Versions up to 2025-11-25, which begin with a handshake.
    Legacy,
    /// Versions from 2026-07-28 on.
    Modern,
}

/// Who answers the questions of servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct QuestionSettings {
    /// Who fills in a server's forms where the client cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationAnswerer>,
}

/// Who fills in a server's forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ElicitationAnswerer {
    /// The client alone: a server is not told of forms that the client cannot show.
    Client,
    /// The person who watches the queue of questions, in the console or the terminal UI: forms are always declared.
    Queue,
}

// === impl Entry ===

impl Entry {
    /// An entry with only a transport.
    pub fn new(transport: Transport) -> Self {
        Self {
            transport,
            timeout: None,
            always_load: false,
            disabled: false,
            tools: ToolFilter::default(),
            share: ServerSharing::Auto,
            share_principals: false,
            sign_in: SignInOwner::EachPrincipal,
            era: None,
            questions: None,
            start: None,
        }
    }
}

impl Transport {
    /// The value of `type`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(_) => "http",
            Self::Sse(_) => "sse",
            Self::Ws(_) => "ws",
            Self::SseIde(_) => "sse-ide",
            Self::WsIde(_) => "ws-ide",
            Self::Sdk => "sdk",
        }
    }

    /// The URL of a remote transport.
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::Stdio(_) | Self::Sdk => None,
            Self::Http(remote) | Self::Sse(remote) | Self::Ws(remote) => Some(&remote.url),
            Self::SseIde(ide) | Self::WsIde(ide) => Some(&ide.url),
        }
    }
}

impl InheritEnv {
    fn is_none(&self) -> bool {
        match self {
            Self::All(all) => !all,
            Self::Names(names) => names.is_empty(),
        }
    }
}

impl Default for InheritEnv {
    fn default() -> Self {
        Self::All(false)
    }
}

impl ToolFilter {
    /// Whether the filter changes nothing.
    pub fn is_empty(&self) -> bool {
        self.allow.is_none() && self.deny.is_empty()
    }

    /// Whether a tool with this name is shown.
    pub fn shows_tool(&self, tool: &str) -> bool {
        self.shows_any(&[tool])
    }

    /// Whether a tool that has several names is shown: one denied name hides it, one allowed name shows it.
    pub fn shows_any(&self, names: &[&str]) -> bool {
        let matches = |globs: &[String]| {
            let is_named =
                |glob: &String| names.iter().any(|name| crate::policy::glob_matches(glob, name));
            globs.iter().any(is_named)
        };
        !matches(&self.deny) && self.allow.as_deref().is_none_or(matches)
    }
}

impl SignInOwner {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "the form serde asks for")]
    fn is_own(&self) -> bool {
        *self == Self::EachPrincipal
    }
}

impl ServerSharing {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "the form serde asks for")]
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the form serde asks for")]
fn is_false(value: &bool) -> bool {
    !value
}

// Debug output ends up in logs, so it is redacted.
macro_rules! debug_masked {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let json = crate::redact::redact_entry(&self.to_json());
                write!(f, concat!(stringify!($name), " {}"), json)
            }
        }
    )*};
}

debug_masked!(StdioTransport, RemoteTransport, IdeTransport, OAuth);
