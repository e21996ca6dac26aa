//! How a client presents itself and how patient it is.

use std::{collections::HashMap, fmt, str::FromStr, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;

use crate::{Version, json::Raw};

/// What a client is, can do, and puts up with.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Who we are.
    pub info: Implementation,
    /// What we can do: the `capabilities` object of `initialize` and of each modern request.
    /// Roots are added to it when `roots` is given.
    pub capabilities: Raw,
    /// The folders a server may ask for. The session answers `roots/list` from here.
    pub roots: Option<Vec<RootFolder>>,
    /// Which version to greet with.
    pub greeting: VersionNegotiation,
    /// Remembers how servers were reached; shared by connections.
    pub eras: Option<Arc<EraCache>>,
    /// How long connecting may take, probing and handshake included.
    pub connect_timeout: Duration,
    /// How long the probe may stay unanswered before `initialize` is sent as well.
    pub probe_patience: Duration,
    /// How long the session's own requests (lists, log level, subscriptions) may take.
    pub request_timeout: Duration,
    /// How long between the end of a stream and its reopening, if the server does not say.
    pub reopen_after: Duration,
    /// Bounds on what is received.
    pub limits: ClientLimits,
    /// What a server's request on a shared channel belongs to.
    pub attribution: CallAttribution,
    /// What a legacy server's log message on a shared channel belongs to. A modern server's is always its only call's.
    pub legacy_logs: CallAttribution,
    /// Whether to ask for change notifications.
    pub listen: bool,
}

/// A name and a version.
#[derive(Debug, Clone, Serialize)]
pub struct Implementation {
    /// The program.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Implementation {
    pub(crate) fn to_json(&self) -> Raw {
        Raw::object([("name", Raw::string(&self.name)), ("version", Raw::string(&self.version))])
    }
}

/// A folder offered to servers.
#[derive(Debug, Clone, Serialize)]
pub struct RootFolder {
    /// A `file://` URI.
    pub uri: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// How to open the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VersionNegotiation {
    /// Find out: modern first, then legacy.
    #[default]
    Probe,
    /// Speak this version and no other era.
    Only(Version),
}

/// Whose a server's request is when nothing on the wire says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallAttribution {
    /// The only call in flight that can be asked back, if there is exactly one; else the inbox.
    #[default]
    SoleCall,
    /// Always the inbox. For a host that shares the connection and knows better.
    Inbox,
}

/// Bounds on what is received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLimits {
    /// The longest message, in bytes.
    pub max_message: usize,
    /// The most pages of one list.
    pub max_pages: usize,
    /// The most bytes of one list, all pages together.
    pub max_list: usize,
}

/// Which version each server was last reached with, by target.
#[derive(Debug, Default)]
pub struct EraCache(Mutex<HashMap<String, ServerEras>>);

/// What is known of the eras of one server. Written as text, it is `2026-07-28`, `2026-07-28 and legacy`, or
/// `2026-07-28 alone`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerEras {
    /// The version it was last reached with.
    pub version: Version,
    /// Whether a server that was reached in the modern era has the handshake of the legacy one too; `None`: nobody tried.
    pub legacy_too: Option<bool>,
}

// === impl ClientOptions ===

impl ClientOptions {
    /// Sensible patience and bounds for a client of this name.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation { name: name.into(), version: version.into() },
            capabilities: Raw::empty_object(),
            roots: None,
            greeting: VersionNegotiation::default(),
            eras: None,
            connect_timeout: Duration::from_secs(30),
            probe_patience: Duration::from_secs(3),
            request_timeout: Duration::from_secs(60),
            reopen_after: Duration::from_secs(1),
            limits: ClientLimits::default(),
            attribution: CallAttribution::default(),
            legacy_logs: CallAttribution::Inbox,
            listen: true,
        }
    }
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self { max_message: 16 << 20, max_pages: 1_000, max_list: 64 << 20 }
    }
}

// === impl EraCache ===

impl EraCache {
    /// The version that a target was last reached with.
    pub fn get(&self, target: &str) -> Option<Version> {
        self.lock().get(target).map(|known| known.version)
    }

    /// Whether a target that was reached in the modern era has the legacy one too, if that is known.
    pub fn legacy_too(&self, target: &str) -> Option<bool> {
        self.lock().get(target)?.legacy_too
    }

    /// Remembers how a target was reached.
    pub fn put(&self, target: &str, version: Version) {
        let mut known = self.lock();
        let same = known.get(target).filter(|known| known.version == version);
        let legacy_too = same.and_then(|known| known.legacy_too);
        known.insert(target.to_owned(), ServerEras { version, legacy_too });
    }

    /// Remembers whether a target that was reached in the modern era has the legacy one too.
    pub fn put_legacy_too(&self, target: &str, legacy_too: bool) {
        if let Some(known) = self.lock().get_mut(target) {
            known.legacy_too = Some(legacy_too);
        }
    }

    /// Remembers what was known before a restart.
    pub fn restore(&self, target: &str, known: ServerEras) {
        self.lock().insert(target.to_owned(), known);
    }

    /// Forgets a target, which is then found out about anew.
    pub fn forget(&self, target: &str) {
        self.lock().remove(target);
    }

    /// Everything remembered, for keeping across restarts.
    pub fn entries(&self) -> Vec<(String, ServerEras)> {
        self.lock().iter().map(|(target, known)| (target.clone(), *known)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, ServerEras>> {
        self.0.lock()
    }
}

// === impl ServerEras ===

/// After a version: the server has the legacy era too.
const AND_LEGACY_SUFFIX: &str = " and legacy";
/// After a version: the server has no other era.
const ALONE_SUFFIX: &str = " alone";

impl fmt::Display for ServerEras {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = match self.legacy_too {
            None => "",
            Some(true) => AND_LEGACY_SUFFIX,
            Some(false) => ALONE_SUFFIX,
        };
        write!(f, "{}{rest}", self.version)
    }
}

impl FromStr for ServerEras {
    type Err = <Version as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (version, legacy_too) =
            match (text.strip_suffix(AND_LEGACY_SUFFIX), text.strip_suffix(ALONE_SUFFIX)) {
                (Some(version), _) => (version, Some(true)),
                (_, Some(version)) => (version, Some(false)),
                _ => (text, None),
            };
        Ok(Self { version: version.parse()?, legacy_too })
    }
}
