//! The first line each way.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use switchboard_wire::json::Raw;

/// How conversations begin. Raised only when an older hub could not understand a newer client.
pub const HELLO_PROTOCOL_VERSION: u32 = 1;

/// What a client says first.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientHello {
    /// [`HELLO_PROTOCOL_VERSION`].
    pub switchboard: u32,
    /// The client's version.
    pub version: String,
    /// What it came for.
    #[serde(default)]
    pub want: HelloPurpose,
    /// Its working directory.
    #[serde(default)]
    pub cwd: PathBuf,
    /// Its environment. Variables that are not text stay behind.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The view it wants: names, servers, agent, mode and so on, as the front reads them.
    #[serde(default = "Raw::empty_object")]
    pub view: Raw,
    /// Who it is, for people.
    #[serde(default)]
    pub client: Option<Raw>,
}

/// What a client may come for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HelloPurpose {
    /// To speak MCP.
    #[default]
    Mcp,
    /// To know how the hub is.
    Status,
    /// To end it.
    Stop,
    /// To have it make room for a newer version, as soon as no call is in flight.
    Handover,
    /// To speak HTTP with the [admin API](crate::admin).
    Admin,
}

/// What a hub answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HelloReply<T> {
    /// No.
    Refused {
        /// Why.
        error: HelloRefusal,
    },
    /// Yes.
    Granted(T),
}

/// What a client that is let in gets to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubInfo {
    /// Always true.
    pub ok: bool,
    /// The hub's version.
    pub version: String,
    /// The hub's process.
    pub hub: u32,
}

/// How a hub is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubStatus {
    /// Always true.
    pub ok: bool,
    /// Its version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// When it began to listen, in seconds since 1970.
    pub since: u64,
    /// Clients that speak MCP now.
    pub clients: usize,
    /// Their calls in flight.
    pub calls: usize,
    /// Sessions that are open over the network, whether or not their clients are still there.
    #[serde(default)]
    pub sessions: usize,
    /// For how many seconds it has had neither.
    pub idle: u64,
    /// The clients themselves, whoever came first first.
    #[serde(default)]
    pub attached: Vec<AttachedClient>,
}

/// A client that speaks MCP with a hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedClient {
    /// Tells it from the others.
    pub session: String,
    /// Its name, as it gives it; empty until it does.
    #[serde(default)]
    pub name: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
    /// How it is reached: `socket`, `http`, `sse` or `ws`.
    #[serde(default)]
    pub transport: String,
    /// The folder it was started in, or whose configuration it is served.
    pub folder: PathBuf,
    /// When it came, in seconds since 1970.
    pub since: u64,
    /// Its calls in flight.
    pub calls: usize,
    /// The servers it has called, each with how often.
    #[serde(default)]
    pub servers: BTreeMap<String, u64>,
}

/// Why a hub will not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct HelloRefusal {
    /// What kind of reason.
    pub kind: HelloRefusalKind,
    /// For people.
    pub message: String,
}

/// Kinds of reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HelloRefusalKind {
    /// The caller is another user.
    Foreign,
    /// The caller begins conversations in a way that is not known here.
    Protocol,
    /// The hello could not be read.
    Malformed,
    /// It did not come in time.
    Slow,
    /// There is no such view.
    View,
    /// The hub is about to end; another one may be started.
    Stopping,
    /// The hub does not hand over: the asker is not newer, or a person runs it.
    Stays,
    /// One that this version does not know.
    #[serde(other)]
    Other,
}

// === impl Hello ===

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

    /// Reads a line. The protocol is looked at first: all else may mean something different under another.
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

/// The environment and the view may hold secrets.
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
    /// Reads a line.
    pub(crate) fn parse(line: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(line)
    }
}

// === impl Refusal ===

impl HelloRefusal {
    /// A refusal with words for a person.
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
