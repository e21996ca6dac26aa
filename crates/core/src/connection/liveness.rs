//! Whether a connected server still answers. A connection's task asks the server while requests wait for it, and
//! when a person looks at it. A server that answers nothing is shown as silent; its session is not ended for that,
//! since a server may be busy with one long call.

use std::time::Duration;

use futures_util::future::BoxFuture;
use switchboard_wire::{
    self as wire, Era,
    client::{Client, ListKind},
    meta::method,
};
use tokio::{sync::watch, time::Instant};

use super::{lists::ALL_LISTS, timing::ConnectionTiming};

/// What is known of a session's answers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Liveness {
    /// Counts the questions that were answered or went unanswered for too long.
    pub(super) count: u64,
    /// Since when the server has answered nothing.
    pub(super) silent_since: Option<Instant>,
    /// How long the server took for the latest question that it answered.
    pub(super) answer_took: Option<Duration>,
}

/// The question that a server is asked to find out whether it answers: one at a time.
pub(super) struct Probe {
    client: Client,
    patience: Duration,
    interval: Duration,
    due: Instant,
    question: Option<PendingProbe>,
}

struct PendingProbe {
    asked_at: Instant,
    /// Whether it has been unanswered for too long.
    is_late: bool,
    answer: BoxFuture<'static, Result<(), wire::Error>>,
}

/// What a probe has to say.
pub(super) enum ProbeEvent {
    /// It is time to see whether the server has to be asked.
    Due,
    /// What came of the question, and how long that took.
    Answered(Result<(), wire::Error>, Duration),
    /// The question of this moment has been unanswered for too long.
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

    /// Asks the server, unless it is being asked.
    pub(super) fn ask(&mut self) {
        if self.question.is_none() {
            let answer = Box::pin(ask(self.client.clone(), self.patience / 2));
            self.question = Some(PendingProbe { asked_at: Instant::now(), is_late: false, answer });
        }
    }

    /// When the question was asked that has been unanswered for too long.
    pub(super) fn late_since(&self) -> Option<Instant> {
        self.question.as_ref().filter(|question| question.is_late).map(|question| question.asked_at)
    }

    /// Takes the question back: the server has answered something else.
    pub(super) fn forget(&mut self) {
        self.question = None;
    }

    /// The next thing to know. Safe to cancel.
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

/// What becomes of a question; never, if none was asked.
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

/// Asks a small question. Some servers never answer `ping`: after `patience` one that they have to know is asked too,
/// and the first answer counts.
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
