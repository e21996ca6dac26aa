//! The replica that holds a session's GET stream, and what is passed on to it: messages of a session that belong to no
//! call, and that arise at another replica.
//!
//! Used by `shared`, `session` and `legacy`. Replicas tell one another who holds the stream; what this one has to tell
//! waits for the session's task. It sends nothing itself.

use std::time::Duration;

use bytestring::ByteString;
use parking_lot::Mutex;
use switchboard_wire::queue::{self, QueueReceiver, QueueSender};
use tokio::time::Instant;

use crate::face::replicas::{ReplicaTag, SessionNotice, SessionNoticeKind};

/// How long a replica that has restored a session waits to be told who holds its stream. Until then it tells all.
const ANSWER_TIME: Duration = Duration::from_secs(2);
/// What waits to be told to the other replicas.
const NOTICE_QUEUE: usize = 64;

/// The holder of one session's GET stream.
pub(super) struct StreamHolder {
    own: ReplicaTag,
    /// The name of the session among replicas.
    name: String,
    known: Mutex<HolderState>,
    notices: QueueSender<SessionNotice>,
    /// The notices, until the session's task takes them.
    waiting: Mutex<Option<QueueReceiver<SessionNotice>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HolderState {
    Nobody,
    /// The others were asked at this time.
    Sought(Instant),
    Replica(ReplicaTag),
}

// === impl StreamHolder ===

impl StreamHolder {
    /// The holder of a session that begins here: nobody yet.
    pub(super) fn new(own: ReplicaTag, name: String) -> Self {
        let (notices, waiting) = queue::bounded_queue(NOTICE_QUEUE);
        let known = Mutex::new(HolderState::Nobody);
        Self { own, name, known, notices, waiting: Mutex::new(Some(waiting)) }
    }

    /// What is to be told to the other replicas; `None` if it was taken before.
    pub(super) fn take_notices(&self) -> Option<QueueReceiver<SessionNotice>> {
        self.waiting.lock().take()
    }

    /// Asks the others who holds the stream of a session that goes on here.
    pub(super) fn seek(&self) {
        *self.known.lock() = HolderState::Sought(Instant::now());
        self.tell(SessionNoticeKind::StreamSought, String::new());
    }

    /// Notes that the stream is read here, and tells the others.
    pub(super) fn hold(&self) {
        *self.known.lock() = HolderState::Replica(self.own);
        self.tell(SessionNoticeKind::StreamOpened(self.own), String::new());
    }

    /// Tells the others that the stream was last read here.
    pub(super) fn answer_seeker(&self) {
        self.tell(SessionNoticeKind::StreamLastOpened(self.own), String::new());
    }

    /// Notes the answer of another replica. A stream that was opened here meanwhile is newer, and the others may have
    /// heard the older answer last.
    pub(super) fn note_last(&self, holder: ReplicaTag) {
        if self.is_here() {
            self.hold();
        } else {
            self.note(holder);
        }
    }

    /// Notes that another replica holds the stream.
    pub(super) fn note(&self, holder: ReplicaTag) {
        *self.known.lock() = HolderState::Replica(holder);
    }

    /// Whether the stream was last read here.
    pub(super) fn is_here(&self) -> bool {
        *self.known.lock() == HolderState::Replica(self.own)
    }

    /// Passes a message that belongs to no call on to the replica that holds the stream, if that may be another one.
    pub(super) fn pass_on(&self, text: &ByteString) {
        let is_elsewhere = match *self.known.lock() {
            HolderState::Nobody => false,
            HolderState::Sought(asked) => asked.elapsed() < ANSWER_TIME,
            HolderState::Replica(tag) => tag != self.own,
        };
        if is_elsewhere {
            self.tell(SessionNoticeKind::ToClient, text.to_string());
        }
    }

    fn tell(&self, kind: SessionNoticeKind, text: String) {
        let notice = SessionNotice { name: self.name.clone(), kind, text };
        if self.notices.try_send(notice).is_err() {
            tracing::debug!(
                "a message for the stream of another replica was dropped: too many wait"
            );
        }
    }
}
