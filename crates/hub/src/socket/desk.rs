//! What all conversations of one hub share, and when the hub ends.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::time::{sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    Attached, Hello, Lifetime, ListenOptions, Refusal, RefusalKind, Status, Welcome,
    activity::{Activity, Counts},
    presence::Presences,
};
use crate::admin::Admin;
use switchboard_gateway::front::Front;

/// How often a hub that only has work of its own is asked whether it still has.
const LOOK: Duration = Duration::from_millis(250);

/// What stands behind the socket.
pub trait Hub: Send + Sync + 'static {
    /// What serves one client.
    type Front: Front;

    /// The front for a client's working directory, environment and wishes. Has a deadline.
    fn front<'a>(&'a self, hello: &'a Hello) -> BoxFuture<'a, Result<Arc<Self::Front>, Refusal>>;

    /// Whether there is work that the socket does not see: parked calls, calls of other faces.
    fn is_busy(&self) -> bool {
        false
    }

    /// What answers whoever wants to speak HTTP with the hub itself; absent where nobody may.
    fn admin(&self) -> Option<&Admin> {
        None
    }

    /// The servers that a session has called, each with how often.
    fn used_by(&self, session: &str) -> Vec<(String, u64)> {
        let _ = session;
        Vec::new()
    }

    /// Clients that came another way than through the socket.
    fn others(&self) -> Vec<Attached> {
        Vec::new()
    }
}

/// Why a hub ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Somebody stopped it.
    Stopped,
    /// Nobody had used it for a while.
    Idle,
    /// A newer version asked for its place.
    HandedOver,
}

/// One hub's socket.
pub(super) struct Desk<H> {
    pub(super) hub: Arc<H>,
    pub(super) options: ListenOptions,
    pub(super) activity: Arc<Activity>,
    pub(super) presences: Arc<Presences>,
    /// The hub is to end.
    pub(super) stop: CancellationToken,
    /// The hub is to end when no call is in flight.
    handover: CancellationToken,
    /// No more calls are taken.
    pub(super) draining: CancellationToken,
    /// Conversations are to end now.
    pub(super) closing: CancellationToken,
    why: OnceLock<Why>,
    sessions: AtomicU64,
}

// === impl Why ===

impl Why {
    /// The word for it on the wire.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Idle => "idle",
            Self::HandedOver => "handed-over",
        }
    }
}

// === impl Desk ===

impl<H: Hub> Desk<H> {
    pub(super) fn new(hub: Arc<H>, options: ListenOptions, stop: CancellationToken) -> Self {
        Self {
            hub,
            activity: options.pulse.activity.clone(),
            presences: options.pulse.presences.clone(),
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

    pub(super) fn welcome(&self) -> Welcome {
        Welcome { ok: true, version: self.options.version.clone(), hub: std::process::id() }
    }

    pub(super) fn status(&self) -> Status {
        let used = |session: &str| self.hub.used_by(session);
        self.options.pulse.told(used, self.hub.others())
    }

    /// Promises to make room for version `asker`, if it is newer.
    pub(super) fn hand_over(&self, asker: &str) -> Result<(), Refusal> {
        let stays = |message: &str| Err(Refusal::new(RefusalKind::Stays, message));
        if self.options.lifetime == Lifetime::UntilStopped {
            return stays("this hub was started by hand and stays until it is stopped");
        }
        if !is_newer(asker, &self.options.version) {
            return stays("this hub is not older than whoever asks for its place");
        }
        self.handover.cancel();
        Ok(())
    }

    /// Waits until the hub is to end.
    pub(super) async fn ending(&self) -> Why {
        tokio::select! {
            () = self.stop.cancelled() => Why::Stopped,
            () = self.handed_over() => Why::HandedOver,
            () = self.unused() => Why::Idle,
        }
    }

    /// Takes no more calls, waits for those in flight, then has every conversation end.
    pub(super) async fn drain(&self, why: Why) {
        let _ = self.why.set(why);
        self.draining.cancel();
        let finished = self.activity.until(|counts| counts.calls == 0);
        if tokio::time::timeout(self.options.drain, finished).await.is_err() {
            let calls = self.activity.now().calls;
            tracing::warn!(calls, "calls that take too long end with the hub");
        }
        self.closing.cancel();
    }

    /// Why it ends, once it does.
    pub(super) fn why(&self) -> Option<Why> {
        self.why.get().copied()
    }

    async fn handed_over(&self) {
        self.handover.cancelled().await;
        match self.options.lifetime {
            Lifetime::UntilStopped => std::future::pending().await,
            Lifetime::WhileUsed { handover, .. } => {
                self.rest(handover, |counts| counts.calls == 0).await;
            }
        }
    }

    async fn unused(&self) {
        match self.options.lifetime {
            Lifetime::UntilStopped => std::future::pending().await,
            Lifetime::WhileUsed { idle, .. } => self.rest(idle, Counts::is_unused).await,
        }
    }

    /// Waits until it has been so for `long` without a change, and the hub itself has nothing to do either.
    async fn rest(&self, long: Duration, so: impl Fn(&Counts) -> bool) {
        loop {
            self.activity.until(&so).await;
            let since = self.activity.now().changed;
            sleep_until(since + long).await;
            let now = self.activity.now();
            if !so(&now) || now.changed != since {
                continue;
            }
            if !self.hub.is_busy() {
                return;
            }
            sleep(LOOK).await;
        }
    }
}

/// Whether version `one` is newer than `other`. What is no version is never newer.
fn is_newer(one: &str, other: &str) -> bool {
    version(one).is_some_and(|one| version(other).is_none_or(|other| one > other))
}

/// The three numbers. A pre-release counts as what it precedes: it is not worth ending a hub for.
fn version(text: &str) -> Option<[u64; 3]> {
    let numbers = text.split(['-', '+']).next()?.split('.').map(str::parse);
    numbers.collect::<Result<Vec<_>, _>>().ok()?.try_into().ok()
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
