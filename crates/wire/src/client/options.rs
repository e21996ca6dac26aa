//! Options of a client: identity, capabilities, timeouts, limits, and the cache of server eras.
//!
//! Used by `core::connection` and `switchboard probe` to connect. It reads no configuration; `core` translates
//! settings into these options.

use std::{
    collections::HashMap,
    fmt,
    str::FromStr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::Serialize;

use crate::{Version, json::Raw};

/// The identity, capabilities, timeouts and limits of a client.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The client's name and version.
    pub info: Implementation,
    /// The `capabilities` object of `initialize` and of each modern request. Roots are added when `roots` is set.
    pub capabilities: Raw,
    /// The folders that a server may list. The session answers `roots/list` with them.
    pub roots: Option<Vec<RootFolder>>,
    /// The version to greet with.
    pub greeting: VersionNegotiation,
    /// The cache of server eras, shared by connections.
    pub eras: Option<Arc<EraCache>>,
    /// How long connecting may take, including probe and handshake.
    pub connect_timeout: Duration,
    /// How long to wait for an answer to the probe before `initialize` is sent as well.
    pub probe_patience: Duration,
    /// How long the session's own requests (lists, log level, subscriptions) may take.
    pub request_timeout: Duration,
    /// The pause before a stream is reopened, if the server names none.
    pub reopen_after: Duration,
    /// Bounds on received data.
    pub limits: ClientLimits,
    /// The owner of a server's request on a shared channel.
    pub attribution: CallAttribution,
    /// The owner of a legacy server's log message on a shared channel. A modern server's log message belongs to its
    /// call.
    pub legacy_logs: CallAttribution,
    /// Whether to ask for change notifications.
    pub listen: bool,
}

/// A name and a version.
#[derive(Debug, Clone, Serialize)]
pub struct Implementation {
    /// The program's name.
    pub name: String,
    /// The program's version.
    pub version: String,
}

/// A folder offered to servers.
#[derive(Debug, Clone, Serialize)]
pub struct RootFolder {
    /// A `file://` URI.
    pub uri: String,
    /// The name that people see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// How to choose the protocol version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VersionNegotiation {
    /// Probe: modern first, then legacy.
    #[default]
    Probe,
    /// Use this version, and no other era.
    Only(Version),
}

/// Who owns a server's request that does not name a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallAttribution {
    /// The only running call that accepts questions, if there is exactly one; else the inbox.
    #[default]
    SoleCall,
    /// Always the inbox, for a host that shares the connection and attributes requests better.
    Inbox,
}

/// Bounds on received data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLimits {
    /// The longest message, in bytes.
    pub max_message: usize,
    /// The most pages of one list.
    pub max_pages: usize,
    /// The most bytes of one list, all pages together.
    pub max_list: usize,
}

/// The version of the last connection to each server, by target.
#[derive(Debug, Default)]
pub struct EraCache(Mutex<HashMap<String, ServerEras>>);

/// The known eras of one server. As text: `2026-07-28`, `2026-07-28 and legacy`, or `2026-07-28 alone`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerEras {
    /// The version of the last connection.
    pub version: Version,
    /// Whether a server reached in the modern era also accepts the legacy handshake; `None`: not tried.
    pub legacy_too: Option<bool>,
}

// === impl ClientOptions ===

impl ClientOptions {
    /// Default timeouts and limits for a client of this name.
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
    /// The version of the last connection to a target.
    pub fn get(&self, target: &str) -> Option<Version> {
        self.lock().get(target).map(|known| known.version)
    }

    /// Whether a target reached in the modern era also speaks the legacy era, if known.
    pub fn legacy_too(&self, target: &str) -> Option<bool> {
        self.lock().get(target)?.legacy_too
    }

    /// Stores the version of a connection to a target.
    pub fn put(&self, target: &str, version: Version) {
        let mut known = self.lock();
        let same = known.get(target).filter(|known| known.version == version);
        let legacy_too = same.and_then(|known| known.legacy_too);
        known.insert(target.to_owned(), ServerEras { version, legacy_too });
    }

    /// Stores whether a target reached in the modern era also speaks the legacy era.
    pub fn put_legacy_too(&self, target: &str, legacy_too: bool) {
        if let Some(known) = self.lock().get_mut(target) {
            known.legacy_too = Some(legacy_too);
        }
    }

    /// Restores an entry that was saved before a restart.
    pub fn restore(&self, target: &str, known: ServerEras) {
        self.lock().insert(target.to_owned(), known);
    }

    /// Removes a target; its era is then probed again.
    pub fn forget(&self, target: &str) {
        self.lock().remove(target);
    }

    /// All entries, to be saved across restarts.
    pub fn entries(&self) -> Vec<(String, ServerEras)> {
        self.lock().iter().map(|(target, known)| (target.clone(), *known)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, ServerEras>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl ServerEras ===

/// The suffix after a version: the server also speaks the legacy era.
const AND_LEGACY_SUFFIX: &str = " and legacy";
/// The suffix after a version: the server speaks no other era.
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
