//! What the program that runs a hub may choose about its socket.

use std::time::Duration;

use switchboard_config::Limits;
use switchboard_wire::server::ServeOptions;

use super::HubUsage;

/// How a hub listens.
#[derive(Debug, Clone)]
pub struct ListenOptions {
    /// The hub's version.
    pub version: String,
    /// Where who uses it is counted.
    pub pulse: HubUsage,
    /// Whom clients of the socket speak for: the user whose hub this is.
    pub principal: String,
    /// When it ends by itself.
    pub lifetime: HubLifetime,
    /// The largest hello (4 MiB: an environment is large).
    pub hello_limit: usize,
    /// How long a hello may take (5 s).
    pub hello_time: Duration,
    /// How long a view may take to be opened (30 s).
    pub opening: Duration,
    /// The largest message (64 MiB).
    pub message_limit: usize,
    /// Connections at once; more wait to be accepted (1,024).
    pub connections: usize,
    /// How long a client may leave what it is sent unread before it is cut off (30 s).
    pub stalled: Duration,
    /// How long calls in flight are given when the hub is stopped (5 s).
    pub drain: Duration,
    /// Bounds on one client.
    pub serve: ServeOptions,
}

/// When a hub ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HubLifetime {
    /// Never: a person started it and will end it.
    UntilStopped,
    /// It was started for clients: ends when it has had none for so long, and hands over to a newer version.
    WhileUsed {
        /// Without a client or a call (10 min).
        idle: Duration,
        /// Without a call, before it hands over (1 s): a client that works makes one call after another.
        handover: Duration,
    },
}

// === impl ListenOptions ===

impl ListenOptions {
    /// The usual, for a hub of this version.
    pub fn new(version: impl Into<String>, lifetime: HubLifetime) -> Self {
        let version = version.into();
        Self {
            pulse: HubUsage::new(version.clone()),
            version,
            principal: "local".into(),
            lifetime,
            hello_limit: 4 << 20,
            hello_time: Duration::from_secs(5),
            opening: Duration::from_secs(30),
            message_limit: 64 << 20,
            connections: 1_024,
            stalled: Duration::from_secs(30),
            drain: Duration::from_secs(5),
            serve: ServeOptions::default(),
        }
    }
}

// === impl Lifetime ===

impl HubLifetime {
    /// What a hub that `connect` started has.
    pub fn while_used() -> Self {
        Self::WhileUsed { idle: Duration::from_secs(600), handover: Duration::from_secs(1) }
    }

    /// The same, with the idle time of the user's settings.
    pub fn from_limits(limits: &Limits) -> Self {
        match (Self::while_used(), limits.hub_idle_ms) {
            (Self::WhileUsed { handover, .. }, Some(millis)) => {
                Self::WhileUsed { idle: Duration::from_millis(millis), handover }
            }
            (lifetime, _) => lifetime,
        }
    }
}
