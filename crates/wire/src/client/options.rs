//! How a client presents itself and how patient it is.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

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
    pub roots: Option<Vec<Root>>,
    /// Which version to greet with.
    pub greeting: Greeting,
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
    pub limits: Limits,
    /// What a server's request on a shared channel belongs to.
    pub attribution: Attribution,
    /// What a legacy server's log message on a shared channel belongs to. A modern server's is always its only call's.
    pub legacy_logs: Attribution,
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

/// A folder offered to servers.
#[derive(Debug, Clone, Serialize)]
pub struct Root {
    /// A `file://` URI.
    pub uri: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// How to open the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Greeting {
    /// Find out: modern first, then legacy.
    #[default]
    Probe,
    /// Speak this version and no other era.
    Only(Version),
}

/// Whose a server's request is when nothing on the wire says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Attribution {
    /// The only call in flight that can be asked back, if there is exactly one; else the inbox.
    #[default]
    SoleCall,
    /// Always the inbox. For a host that shares the connection and knows better.
    Inbox,
}

/// Bounds on what is received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest message, in bytes.
    pub max_message: usize,
    /// The most pages of one list.
    pub max_pages: usize,
    /// The most bytes of one list, all pages together.
    pub max_list: usize,
}

/// Which version each server was last reached with, by target.
#[derive(Debug, Default)]
pub struct EraCache(Mutex<HashMap<String, Version>>);

// === impl ClientOptions ===

impl ClientOptions {
    /// Sensible patience and bounds for a client of this name.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation { name: name.into(), version: version.into() },
            capabilities: Raw::empty_object(),
            roots: None,
            greeting: Greeting::default(),
            eras: None,
            connect_timeout: Duration::from_secs(30),
            probe_patience: Duration::from_secs(3),
            request_timeout: Duration::from_secs(60),
            reopen_after: Duration::from_secs(1),
            limits: Limits::default(),
            attribution: Attribution::default(),
            legacy_logs: Attribution::Inbox,
            listen: true,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_message: 16 << 20, max_pages: 1_000, max_list: 64 << 20 }
    }
}

// === impl EraCache ===

impl EraCache {
    /// What is remembered of a target.
    pub fn get(&self, target: &str) -> Option<Version> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(target).copied()
    }

    /// Remembers how a target was reached.
    pub fn put(&self, target: &str, version: Version) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(target.to_owned(), version);
    }

    /// Forgets a target, which is then found out about anew.
    pub fn forget(&self, target: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(target);
    }

    /// Everything remembered, for keeping across restarts.
    pub fn entries(&self) -> Vec<(String, Version)> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().map(|(target, version)| (target.clone(), *version)).collect()
    }
}
