//! Questions of servers that belong to a session but to no call.
//!
//! Used by `engine::supervisor::listener`; the gateway receives them through `Engine::session_questions`.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::dispatch::{PendingQuestion, QuestionAnswer, QuestionKind};

/// How many questions of one session may wait.
const MAX_SESSION_QUESTIONS: usize = 16;

/// The sessions that take questions outside of calls.
#[derive(Debug, Default)]
pub(in crate::engine) struct SessionQuestions(
    Mutex<HashMap<String, mpsc::Sender<PendingQuestion>>>,
);

/// Sends a question to one session.
#[derive(Debug)]
pub(in crate::engine) struct SessionQuestionSender(mpsc::Sender<PendingQuestion>);

// === impl SessionQuestions ===

impl SessionQuestions {
    /// Returns the questions of `session` outside of calls, from now on.
    pub(in crate::engine) fn subscribe(&self, session: &str) -> mpsc::Receiver<PendingQuestion> {
        let (sender, questions) = mpsc::channel(MAX_SESSION_QUESTIONS);
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, sender| !sender.is_closed());
        open.insert(session.to_owned(), sender);
        questions
    }

    pub(in crate::engine) fn sender(&self, session: &str) -> Option<SessionQuestionSender> {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(session).filter(|sender| !sender.is_closed()).cloned().map(SessionQuestionSender)
    }
}

// === impl SessionQuestionSender ===

impl SessionQuestionSender {
    /// Asks, and waits at most `patience`. `None` if the session does not take the question.
    pub(in crate::engine) async fn ask(
        self,
        server: &str,
        about: QuestionKind,
        patience: Duration,
    ) -> Option<QuestionAnswer> {
        let (question, answer) = PendingQuestion::new(server, about);
        self.0.try_send(question).ok()?;
        timeout(patience, answer).await.ok()?.ok()
    }
}
