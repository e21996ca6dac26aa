//! Options of a hub's listener, with their default values.
//!
//! Used by the commands `hub` and `serve`, and by `listen` and `connection`. It does not read settings or arguments.

use std::time::Duration;

use switchboard_config::LimitSettings;
use switchboard_core::principal::Principal;
use switchboard_wire::server::ServeOptions;

use super::HubUsage;

/// How a hub listens.
#[derive(Debug, Clone)]
pub struct ListenOptions {
    /// The hub's version.
    pub version: String,
    /// Counts clients and calls; shared with the admin API.
    pub usage: HubUsage,
    /// The principal of all clients of the socket: the user that this hub belongs to.
    pub principal: Principal,
    /// When the hub ends without being stopped.
    pub lifetime: HubLifetime,
    /// The largest hello (4 MiB: an environment is large).
    pub hello_limit: usize,
    /// How long a client may take to send its hello (5 s).
    pub hello_time: Duration,
    /// How long a view may take to be opened (30 s).
    pub opening: Duration,
    /// The largest message (64 MiB).
    pub message_limit: usize,
    /// Connections at once; further ones wait to be accepted (1,024).
    pub connections: usize,
    /// How long a client may leave its messages unread before it is cut off (30 s).
    pub stalled: Duration,
    /// How long running calls may take when the hub is stopped (5 s).
    pub drain: Duration,
    /// Bounds on one client.
    pub serve: ServeOptions,
}

/// When a hub ends without being stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HubLifetime {
    /// Never: a person started the hub and will stop it.
    UntilStopped,
    /// A client started the hub: it ends after `idle` without clients, and hands over to a newer version.
    WhileUsed {
        /// Without a client or a call (10 min).
        idle: Duration,
        /// Without a call, before the hub hands over (1 s): a working client makes one call after another.
        handover: Duration,
    },
}

// === impl ListenOptions ===

impl ListenOptions {
    /// The defaults, for a hub of this version.
    pub fn new(version: impl Into<String>, lifetime: HubLifetime) -> Self {
        let version = version.into();
        Self {
            usage: HubUsage::new(version.clone()),
            version,
            principal: Principal::local(),
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

// === impl HubLifetime ===

impl HubLifetime {
    /// The lifetime of a hub that `connect` started: 10 min idle, 1 s before a handover.
    pub fn while_used() -> Self {
        Self::WhileUsed { idle: Duration::from_secs(600), handover: Duration::from_secs(1) }
    }

    /// These options with the idle time of the user's settings.
    pub fn from_limits(limits: &LimitSettings) -> Self {
        match (Self::while_used(), limits.hub_idle_ms) {
            (Self::WhileUsed { handover, .. }, Some(millis)) => {
                Self::WhileUsed { idle: Duration::from_millis(millis), handover }
            }
            (lifetime, _) => lifetime,
        }
    }
}
