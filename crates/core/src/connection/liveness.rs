//! Liveness probes: whether a connected server still answers.
//!
//! Used by `connection::session`. The task sends a probe while requests wait for an answer, and when a person asks
//! for the status. A server that does not answer is shown as silent; its session is not ended, since it may be busy
//! with one long call.

use std::time::Duration;

use futures_util::future::BoxFuture;
use switchboard_wire::{
    self as wire, Era,
    client::{Client, ListKind},
    meta::method,
};
use tokio::{sync::watch, time::Instant};

use super::{lists::ALL_LISTS, timing::ConnectionTiming};

/// The result of the probes of a session.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Liveness {
    /// Counts the probes that were answered or timed out.
    pub(super) count: u64,
    /// Since when the server has answered nothing.
    pub(super) silent_since: Option<Instant>,
    /// How long the server took for the latest question that it answered.
    pub(super) answer_took: Option<Duration>,
}

/// The probe of a session: one at a time.
pub(super) struct Probe {
    client: Client,
    patience: Duration,
    interval: Duration,
    due: Instant,
    question: Option<PendingProbe>,
}

struct PendingProbe {
    asked_at: Instant,
    /// Whether the probe has timed out.
    is_late: bool,
    answer: BoxFuture<'static, Result<(), wire::Error>>,
}

/// An event of a probe.
pub(super) enum ProbeEvent {
    /// It is time to decide whether to send a probe.
    Due,
    /// The outcome of a ping, and its latency.
    Answered(Result<(), wire::Error>, Duration),
    /// The probe that was sent at this time has timed out.
    Late(Instant),
}

// === impl Liveness ===

impl Liveness {
    pub(super) fn channel() -> watch::Sender<Self> {
        watch::Sender::new(Self::default())
    }
}

// === impl Probe ===

impl Probe {
    pub(super) fn new(client: Client, timing: &ConnectionTiming) -> Self {
        let (patience, interval) = (timing.ping_patience, timing.ping_after / 2);
        Self { client, patience, interval, due: Instant::now() + interval, question: None }
    }

    /// Sends a probe, unless one is under way.
    pub(super) fn ask(&mut self) {
        if self.question.is_none() {
            let answer = Box::pin(ask(self.client.clone(), self.patience / 2));
            self.question = Some(PendingProbe { asked_at: Instant::now(), is_late: false, answer });
        }
    }

    /// When the probe was sent that has timed out.
    pub(super) fn late_since(&self) -> Option<Instant> {
        self.question.as_ref().filter(|question| question.is_late).map(|question| question.asked_at)
    }

    /// Drops the probe: the server has answered another request.
    pub(super) fn forget(&mut self) {
        self.question = None;
    }

    /// Waits for the next event. Cancel-safe.
    pub(super) async fn next(&mut self) -> ProbeEvent {
        let Self { question, patience, due, interval, .. } = self;
        let probed = tokio::select! {
            biased;
            probed = probe_outcome(question.as_mut(), *patience) => probed,
            () = tokio::time::sleep_until(*due) => {
                *due = Instant::now() + *interval;
                ProbeEvent::Due
            }
        };
        if let ProbeEvent::Answered(..) = probed {
            *question = None;
        }
        probed
    }
}

/// Waits for the result of a probe; forever, if none was sent.
async fn probe_outcome(question: Option<&mut PendingProbe>, patience: Duration) -> ProbeEvent {
    let Some(question) = question else { return std::future::pending().await };
    let asked_at = question.asked_at;
    tokio::select! {
        biased;
        answer = &mut question.answer => ProbeEvent::Answered(answer, asked_at.elapsed()),
        () = tokio::time::sleep_until(asked_at + patience), if !question.is_late => {
            question.is_late = true;
            ProbeEvent::Late(asked_at)
        }
    }
}

/// Sends a small request. Some servers never answer `ping`: after `patience` a request that they must support is
/// sent too, and the first answer counts.
async fn ask(client: Client, patience: Duration) -> Result<(), wire::Error> {
    let facts = client.server_facts();
    let small = match facts.era() {
        Era::Legacy => method::PING,
        Era::Modern => method::DISCOVER,
    };
    let known = ALL_LISTS
        .into_iter()
        .find(|list| facts.has_capability(&[list.capability()]))
        .map(ListKind::method);
    let second = async {
        let Some(known) = known else { return std::future::pending().await };
        tokio::time::sleep(patience).await;
        client.request(known, None).await
    };
    tokio::select! {
        answer = client.request(small, None) => answer.map(drop),
        answer = second => answer.map(drop),
    }
}
