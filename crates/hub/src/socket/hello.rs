//! The first line in each direction on the hub's socket: [`ClientHello`] and [`HelloReply`], as JSON.
//!
//! Used by `connection` in the hub and by [`crate::attach`] and [`crate::admin::client`] on the other side. It does not
//! define the messages after the hello (MCP, or HTTP of the admin API).

use std::{collections::BTreeMap, fmt, path::PathBuf};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use switchboard_wire::json::Raw;

/// The version of the hello. Raised only when an older hub could not understand a newer client.
pub const HELLO_PROTOCOL_VERSION: u32 = 1;

/// The first line that a client sends.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientHello {
    /// [`HELLO_PROTOCOL_VERSION`].
    pub switchboard: u32,
    /// The client's version.
    pub version: String,
    /// The purpose of the connection.
    #[serde(default)]
    pub want: HelloPurpose,
    /// The client's working directory.
    #[serde(default)]
    pub cwd: PathBuf,
    /// The client's environment. Variables that are not UTF-8 are left out.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The view that the client wants: names, servers, agent, mode and so on, as the [`HubBackend`](super::HubBackend)
    /// reads them.
    #[serde(default = "Raw::empty_object")]
    pub view: Raw,
    /// The client's name and version, for people.
    #[serde(default)]
    pub client: Option<Raw>,
}

/// The purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HelloPurpose {
    /// To speak MCP.
    #[default]
    Mcp,
    /// To get the hub's status.
    Status,
    /// To stop the hub.
    Stop,
    /// To have the hub make room for a newer version, as soon as no call is running.
    Handover,
    /// To speak HTTP with the [admin API](crate::admin).
    Admin,
}

/// The first line that a hub sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HelloReply<T> {
    /// The hub refused.
    Refused {
        /// The reason.
        error: HelloRefusal,
    },
    /// The hub accepted.
    Granted(T),
}

/// The reply to an accepted client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubInfo {
    /// Always true.
    pub ok: bool,
    /// The hub's version.
    pub version: String,
    /// The hub's process id.
    pub hub: u32,
}

/// The status of a hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubStatus {
    /// Always true.
    pub ok: bool,
    /// The hub's version.
    pub version: String,
    /// The hub's process id.
    pub pid: u32,
    /// When the hub began to listen, in seconds since 1970.
    pub since: u64,
    /// Clients that speak MCP now.
    pub clients: usize,
    /// Running calls of these clients.
    pub calls: usize,
    /// Open sessions of the network faces, whether or not their clients are still connected.
    #[serde(default)]
    pub sessions: usize,
    /// For how many seconds the hub has had no client and no call.
    pub idle: u64,
    /// The connected clients, oldest first.
    #[serde(default)]
    pub attached: Vec<AttachedClient>,
}

/// A client that speaks MCP with a hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedClient {
    /// The session id of the client.
    pub session: String,
    /// The client's name, as the client declares it; empty until then.
    #[serde(default)]
    pub name: String,
    /// The client's version.
    #[serde(default)]
    pub version: String,
    /// The transport: `socket`, `http`, `sse` or `ws`.
    #[serde(default)]
    pub transport: String,
    /// The folder that the client was started in, or the folder of the workspace it is served.
    pub folder: PathBuf,
    /// When the client connected, in seconds since 1970.
    pub since: u64,
    /// Running calls of the client.
    pub calls: usize,
    /// The servers that the client has called, each with the number of calls.
    #[serde(default)]
    pub servers: BTreeMap<String, u64>,
}

/// Why a hub refused a hello.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct HelloRefusal {
    /// The kind of reason.
    pub kind: HelloRefusalKind,
    /// The reason as a sentence for people.
    pub message: String,
}

/// Kinds of [`HelloRefusal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HelloRefusalKind {
    /// The peer is another user.
    Foreign,
    /// The client's [`HELLO_PROTOCOL_VERSION`] differs from the hub's.
    Protocol,
    /// The hello could not be read.
    Malformed,
    /// The hello did not arrive in time.
    Slow,
    /// The view does not exist or cannot be opened.
    View,
    /// The hub is about to end; another one may be started.
    Stopping,
    /// The hub does not hand over: the client is not newer, or a person started the hub.
    Stays,
    /// A kind that this version does not know.
    #[serde(other)]
    Other,
}

// === impl ClientHello ===

impl ClientHello {
    /// The hello of a request about the hub itself, which needs no workspace.
    pub(crate) fn without_workspace(version: &str, want: HelloPurpose) -> Self {
        Self {
            switchboard: HELLO_PROTOCOL_VERSION,
            version: version.to_owned(),
            want,
            cwd: PathBuf::new(),
            env: BTreeMap::new(),
            view: Raw::empty_object(),
            client: None,
        }
    }

    /// Parses a hello. The protocol version is checked first: another version may give the other members another
    /// meaning.
    pub(super) fn parse(line: &[u8]) -> Result<Self, HelloRefusal> {
        #[derive(Deserialize)]
        struct ProtocolMember {
            switchboard: u32,
        }
        let malformed = |error: serde_json::Error| {
            HelloRefusal::new(
                HelloRefusalKind::Malformed,
                format!("the hello cannot be read: {error}"),
            )
        };
        let spoken: ProtocolMember = serde_json::from_slice(line).map_err(malformed)?;
        if spoken.switchboard != HELLO_PROTOCOL_VERSION {
            let message = format!(
                "this hub speaks protocol {HELLO_PROTOCOL_VERSION}, the client {}; stop the hub with `switchboard stop`",
                spoken.switchboard
            );
            return Err(HelloRefusal::new(HelloRefusalKind::Protocol, message));
        }
        serde_json::from_slice(line).map_err(malformed)
    }
}

/// Without environment and view, which may hold secrets.
impl fmt::Debug for ClientHello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hello")
            .field("version", &self.version)
            .field("want", &self.want)
            .field("cwd", &self.cwd)
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

// === impl HelloReply ===

impl<T: DeserializeOwned> HelloReply<T> {
    /// Parses a reply.
    pub(crate) fn parse(line: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(line)
    }
}

// === impl HelloRefusal ===

impl HelloRefusal {
    /// Creates a refusal with a sentence for people.
    pub fn new(kind: HelloRefusalKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hellos() {
        let check = |line: &str, expected: Result<HelloPurpose, HelloRefusalKind>| {
            let read = ClientHello::parse(line.as_bytes());
            assert_eq!(read.map(|hello| hello.want).map_err(|no| no.kind), expected, "{line}");
        };
        check(r#"{"switchboard":1,"version":"0.1.0"}"#, Ok(HelloPurpose::Mcp));
        check(
            r#"{"switchboard":1,"version":"0.1.0","want":"stop","new":{}}"#,
            Ok(HelloPurpose::Stop),
        );
        check(r#"{"switchboard":2,"hello":[]}"#, Err(HelloRefusalKind::Protocol));
        check(r#"{"switchboard":1}"#, Err(HelloRefusalKind::Malformed));
        check(
            r#"{"switchboard":1,"version":"1","want":"everything"}"#,
            Err(HelloRefusalKind::Malformed),
        );
        check("{}", Err(HelloRefusalKind::Malformed));
        check("GET / HTTP/1.1", Err(HelloRefusalKind::Malformed));
        check("", Err(HelloRefusalKind::Malformed));
    }

    #[test]
    fn the_view_is_passed_as_it_was_written() {
        let hello =
            ClientHello::parse(br#"{"switchboard":1,"version":"1","view":{"b": 1.0,"a":[]}}"#)
                .unwrap();
        assert_eq!(hello.view.as_str(), r#"{"b": 1.0,"a":[]}"#);
    }

    #[test]
    fn what_a_log_shows_of_a_hello_holds_no_variable() {
        let hello =
            ClientHello::parse(br#"{"switchboard":1,"version":"1","env":{"KEY":"sk-1"}}"#).unwrap();
        assert!(!format!("{hello:?}").contains("sk-1"));
        assert_eq!(hello.env["KEY"], "sk-1");
    }

    #[test]
    fn reasons_of_later_versions_can_be_read() {
        let line = r#"{"error":{"kind":"mercury-retrograde","message":"no"}}"#;
        let answer = HelloReply::<HubInfo>::parse(line).unwrap();
        let error = HelloRefusal::new(HelloRefusalKind::Other, "no");
        assert_eq!(answer, HelloReply::Refused { error });
    }
}
