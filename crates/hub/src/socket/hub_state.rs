//! The state that all connections of one hub share, and the rules for when the hub ends.
//!
//! Used by `listen` and `connection`. [`HubBackend`] is the interface to the part that opens views (`cli` implements
//! it). It does not accept connections (`listen` does).

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::time::{sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::{
    AttachedClient, ClientHello, HelloRefusal, HelloRefusalKind, HubInfo, HubLifetime, HubStatus,
    ListenOptions,
    clients::ConnectedClients,
    usage::{UsageCounters, UsageCounts},
};
use crate::admin::AdminApi;
use switchboard_gateway::view_provider::ViewProvider;

/// How often [`HubBackend::is_busy`] is polled once the socket has no more work.
const BUSY_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How long a hub waits for its first client, whatever its idle timeout.
const FIRST_CLIENT_TIMEOUT: Duration = Duration::from_secs(5);

/// The part of a hub that opens views for clients of the socket.
pub trait HubBackend: Send + Sync + 'static {
    /// Opens the views of one workspace.
    type Views: ViewProvider;

    /// Returns the view provider for a client's working directory, environment and wishes. The caller sets a deadline.
    fn view_provider<'a>(
        &'a self,
        hello: &'a ClientHello,
    ) -> BoxFuture<'a, Result<Arc<Self::Views>, HelloRefusal>>;

    /// Whether the hub has work that the socket does not see: parked calls, calls of other faces.
    fn is_busy(&self) -> bool {
        false
    }

    /// The admin API, for peers with [`HelloPurpose::Admin`](super::HelloPurpose::Admin); `None` refuses them.
    fn admin(&self) -> Option<&AdminApi> {
        None
    }

    /// The servers that a session has called, each with the number of calls.
    fn servers_used_by(&self, session: &str) -> Vec<(String, u64)> {
        let _ = session;
        Vec::new()
    }

    /// Clients that did not come through the socket.
    fn network_clients(&self) -> Vec<AttachedClient> {
        Vec::new()
    }
}

/// Why a hub ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HubEndReason {
    /// A person or program stopped the hub.
    Stopped,
    /// The hub had no client and no call for the idle timeout.
    Idle,
    /// A newer version asked for the hub's place.
    HandedOver,
}

/// The shared state of one hub's socket.
pub(super) struct HubState<H> {
    pub(super) hub: Arc<H>,
    pub(super) options: ListenOptions,
    pub(super) activity: Arc<UsageCounters>,
    pub(super) presences: Arc<ConnectedClients>,
    /// Cancelled to stop the hub.
    pub(super) stop: CancellationToken,
    /// Cancelled to end the hub when no call is running.
    handover: CancellationToken,
    /// Cancelled once the hub takes no more calls.
    pub(super) draining: CancellationToken,
    /// Cancelled to end all connections now.
    pub(super) closing: CancellationToken,
    why: OnceLock<HubEndReason>,
    sessions: AtomicU64,
}

// === impl HubEndReason ===

impl HubEndReason {
    /// The word for the reason on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Idle => "idle",
            Self::HandedOver => "handed-over",
        }
    }
}

// === impl HubState ===

impl<H: HubBackend> HubState<H> {
    pub(super) fn new(hub: Arc<H>, options: ListenOptions, stop: CancellationToken) -> Self {
        Self {
            hub,
            activity: options.usage.activity.clone(),
            presences: options.usage.presences.clone(),
            options,
            stop,
            handover: CancellationToken::new(),
            draining: CancellationToken::new(),
            closing: CancellationToken::new(),
            why: OnceLock::new(),
            sessions: AtomicU64::new(1),
        }
    }

    pub(super) fn next_session(&self) -> String {
        format!("socket-{}", self.sessions.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn welcome(&self) -> HubInfo {
        HubInfo { ok: true, version: self.options.version.clone(), hub: std::process::id() }
    }

    pub(super) fn status(&self) -> HubStatus {
        let used = |session: &str| self.hub.servers_used_by(session);
        self.options.usage.status_with_clients(used, self.hub.network_clients())
    }

    /// Agrees to make room for version `asker`, if that version is newer.
    pub(super) fn hand_over(&self, asker: &str) -> Result<(), HelloRefusal> {
        let stays = |message: &str| Err(HelloRefusal::new(HelloRefusalKind::Stays, message));
        if self.options.lifetime == HubLifetime::UntilStopped {
            return stays("this hub was started by hand and stays until it is stopped");
        }
        if !is_newer(asker, &self.options.version) {
            return stays("this hub is not older than the program that asks to replace it");
        }
        self.handover.cancel();
        Ok(())
    }

    /// Waits until the hub has a reason to end.
    pub(super) async fn wait_for_end(&self) -> HubEndReason {
        tokio::select! {
            () = self.stop.cancelled() => HubEndReason::Stopped,
            () = self.wait_for_handover() => HubEndReason::HandedOver,
            () = self.wait_until_unused() => HubEndReason::Idle,
        }
    }

    /// Takes no more calls, waits for running calls, then ends every connection.
    pub(super) async fn drain(&self, why: HubEndReason) {
        let _ = self.why.set(why);
        self.draining.cancel();
        if let Some(admin) = self.hub.admin() {
            admin.announce_end();
        }
        let finished = self.activity.wait_until(|counts| counts.calls == 0);
        if tokio::time::timeout(self.options.drain, finished).await.is_err() {
            let calls = self.activity.current().calls;
            tracing::warn!(calls, "calls that take too long end with the hub");
        }
        self.closing.cancel();
    }

    /// Why the hub ends, once it does.
    pub(super) fn end_reason(&self) -> Option<HubEndReason> {
        self.why.get().copied()
    }

    async fn wait_for_handover(&self) {
        self.handover.cancelled().await;
        match self.options.lifetime {
            HubLifetime::UntilStopped => std::future::pending().await,
            HubLifetime::WhileUsed { handover, .. } => {
                self.wait_until_quiet(handover, |counts| counts.calls == 0).await;
            }
        }
    }

    async fn wait_until_unused(&self) {
        match self.options.lifetime {
            HubLifetime::UntilStopped => std::future::pending().await,
            HubLifetime::WhileUsed { idle, .. } => {
                self.wait_for_first_client().await;
                self.wait_until_quiet(idle, UsageCounts::is_unused).await;
            }
        }
    }

    /// Waits until a client has attached, since the client that started the hub is on its way. A client that never
    /// comes is awaited for [`FIRST_CLIENT_TIMEOUT`].
    async fn wait_for_first_client(&self) {
        let start = self.activity.current().changed;
        let attached =
            self.activity.wait_until(|counts| counts.changed != start || counts.clients > 0);
        if timeout(FIRST_CLIENT_TIMEOUT, attached).await.is_err() {
            tracing::debug!("no client has attached to the hub since its start");
        }
    }

    /// Waits until `so` has held for `long` without a change of the counts, and the backend is not busy either.
    async fn wait_until_quiet(&self, long: Duration, so: impl Fn(&UsageCounts) -> bool) {
        loop {
            self.activity.wait_until(&so).await;
            let since = self.activity.current().changed;
            sleep_until(since + long).await;
            let now = self.activity.current();
            if !so(&now) || now.changed != since {
                continue;
            }
            if !self.hub.is_busy() {
                return;
            }
            sleep(BUSY_POLL_INTERVAL).await;
        }
    }
}

/// Whether version `one` is newer than `other`. A text that is no version is never newer.
fn is_newer(one: &str, other: &str) -> bool {
    parse_version(one).is_some_and(|one| parse_version(other).is_none_or(|other| one > other))
}

/// Major, minor and patch. A pre-release counts as its release: it is not worth ending a hub for.
fn parse_version(text: &str) -> Option<[u64; 3]> {
    let version = semver::Version::parse(text).ok()?;
    Some([version.major, version.minor, version.patch])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_version_is_newer() {
        for (one, other, expected) in [
            ("0.2.0", "0.1.9", true),
            ("0.10.0", "0.9.0", true),
            ("1.0.0", "1.0.0", false),
            ("0.1.0", "0.2.0", false),
            ("1.0.0-beta.2", "1.0.0", false),
            ("1.0.1-beta.2", "1.0.0+build", true),
            ("1.0", "0.1.0", false),
            ("new", "0.1.0", false),
            ("0.1.0", "old", true),
        ] {
            assert_eq!(is_newer(one, other), expected, "{one} than {other}");
        }
    }
}
