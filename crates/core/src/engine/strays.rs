//! Questions that belong to a session but to no call of it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::dispatch::{About, Question, Reply};

/// Questions of one session that may wait.
const QUEUE: usize = 16;

/// The sessions that take questions outside of calls.
#[derive(Debug, Default)]
pub(super) struct Strays(Mutex<HashMap<String, mpsc::Sender<Question>>>);

/// Where to put a question for one session.
#[derive(Debug)]
pub(super) struct Stray(mpsc::Sender<Question>);

// === impl Strays ===

impl Strays {
    /// From now on such questions of `session` come out here.
    pub(super) fn take(&self, session: &str) -> mpsc::Receiver<Question> {
        let (sender, questions) = mpsc::channel(QUEUE);
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, sender| !sender.is_closed());
        open.insert(session.to_owned(), sender);
        questions
    }

    pub(super) fn of(&self, session: &str) -> Option<Stray> {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(session).filter(|sender| !sender.is_closed()).cloned().map(Stray)
    }
}

// === impl Stray ===

impl Stray {
    /// Asks, and waits no longer than `patience`. `None` if the session does not take it.
    pub(super) async fn ask(self, server: &str, about: About, patience: Duration) -> Option<Reply> {
        let (question, answer) = Question::new(server, about);
        self.0.try_send(question).ok()?;
        timeout(patience, answer).await.ok()?.ok()
    }
}
