//! The question queue: questions that a watching front (the console, the terminal UI) answers.
//!
//! Used by `dispatch` for questions that the caller cannot answer, and by the hub's admin interface. While no front
//! watches, the queue takes no question: a call must not wait for an answer that cannot come.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout};

use crate::dispatch::{PendingQuestion, QuestionAnswer, QuestionKind};

/// How many questions may wait; further ones are cancelled.
const MAX_QUEUED_QUESTIONS: usize = 256;

/// The waiting questions, and the number of watchers. Clones share them.
#[derive(Debug, Clone)]
pub struct QuestionQueue(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    patience: Duration,
    waiting: Mutex<QuestionQueueState>,
    /// Counts every change.
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct QuestionQueueState {
    last: u64,
    watching: usize,
    questions: BTreeMap<u64, QueueEntry>,
}

#[derive(Debug)]
struct QueueEntry {
    question: PendingQuestion,
    asked: Instant,
}

/// A question as watchers see it.
#[derive(Debug, Clone, Serialize)]
pub struct QueuedQuestion {
    /// The id of the question.
    pub id: u64,
    /// The server that the question comes from.
    pub server: String,
    /// The client that made the call, by its own name, if known.
    pub client: Option<String>,
    /// The question itself.
    pub about: QuestionKind,
    /// How long the question has waited.
    #[serde(skip)]
    pub waited: Duration,
    /// How long until the question is cancelled.
    #[serde(skip)]
    pub left: Duration,
}

/// A watcher of the queue, until it is dropped.
#[derive(Debug)]
pub struct QueueWatcher(QuestionQueue);

/// The question is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the question is no longer waiting")]
pub struct QuestionGone;

// === impl QuestionQueue ===

impl QuestionQueue {
    pub(crate) fn new(patience: Duration) -> Self {
        let changes = watch::Sender::new(0);
        Self(Arc::new(Inner { patience, waiting: Mutex::default(), changes }))
    }

    /// Watches the queue from now on.
    pub fn watch(&self) -> QueueWatcher {
        self.change(|waiting| waiting.watching += 1);
        QueueWatcher(self.clone())
    }

    /// Returns all waiting questions, oldest first.
    pub fn questions(&self) -> Vec<QueuedQuestion> {
        let waiting = self.lock();
        let shown = |(id, held): (&u64, &QueueEntry)| QueuedQuestion {
            id: *id,
            server: held.question.server.clone(),
            client: held.question.client.clone(),
            about: held.question.about.clone(),
            waited: held.asked.elapsed(),
            left: self.0.patience.saturating_sub(held.asked.elapsed()),
        };
        waiting.questions.iter().filter(|(_, held)| !held.question.is_moot()).map(shown).collect()
    }

    /// Returns a watch that changes whenever the questions do.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Answers a question.
    pub fn answer(&self, id: u64, reply: QuestionAnswer) -> Result<(), QuestionGone> {
        let held = self.change(|waiting| waiting.questions.remove(&id)).ok_or(QuestionGone)?;
        if held.question.is_moot() {
            return Err(QuestionGone);
        }
        held.question.answer(reply);
        Ok(())
    }

    /// Puts a question that its client cannot show to the watchers, and passes their answer on. Without a watcher
    /// the question is cancelled. Dropping the future removes the question.
    pub async fn relay(&self, question: PendingQuestion) {
        let (asked, answer) = PendingQuestion::new(&question.server, question.about.clone());
        let asked = asked.of_client(question.client.as_deref().unwrap_or_default());
        let reply = self.ask((asked, answer)).await;
        question.answer(reply.unwrap_or(QuestionAnswer::Cancel));
    }

    /// Whether there is a watcher.
    pub fn is_watched(&self) -> bool {
        self.lock().watching > 0
    }

    /// Asks the watchers. `None` if there is none; an answer that does not come in time is *cancel*.
    pub(crate) async fn ask(
        &self,
        (question, answer): (PendingQuestion, oneshot::Receiver<QuestionAnswer>),
    ) -> Option<QuestionAnswer> {
        let id = self.put(question)?;
        let _leaves = RemoveOnDrop { queue: self, id };
        match timeout(self.0.patience, answer).await {
            Ok(Ok(reply)) => Some(reply),
            // A watcher dropped the question, or none answered in time.
            Ok(Err(_)) | Err(_) => Some(QuestionAnswer::Cancel),
        }
    }

    fn put(&self, question: PendingQuestion) -> Option<u64> {
        self.change(|waiting| {
            if waiting.watching == 0 || waiting.questions.len() >= MAX_QUEUED_QUESTIONS {
                return None;
            }
            waiting.last += 1;
            let held = QueueEntry { question, asked: Instant::now() };
            waiting.questions.insert(waiting.last, held);
            Some(waiting.last)
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut QuestionQueueState) -> T) -> T {
        let changed = change(&mut self.lock());
        self.0.changes.send_modify(|count| *count += 1);
        changed
    }

    fn lock(&self) -> MutexGuard<'_, QuestionQueueState> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl QueueWatcher ===

impl Drop for QueueWatcher {
    /// When the last watcher leaves, all questions are cancelled.
    fn drop(&mut self) {
        self.0.change(|waiting| {
            waiting.watching -= 1;
            if waiting.watching == 0 {
                waiting.questions.clear();
            }
        });
    }
}

/// Removes a question when its call ends.
struct RemoveOnDrop<'a> {
    queue: &'a QuestionQueue,
    id: u64,
}

impl Drop for RemoveOnDrop<'_> {
    fn drop(&mut self) {
        let was_there = self.queue.lock().questions.remove(&self.id).is_some();
        if was_there {
            self.queue.change(|_| ());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::AnswerLifetime;
    use switchboard_wire::json::Raw;

    fn about() -> QuestionKind {
        QuestionKind::Elicitation { params: Raw::empty_object() }
    }

    fn queue() -> QuestionQueue {
        QuestionQueue::new(Duration::from_secs(600))
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_waited_for_where_nobody_watches() {
        assert!(queue().ask(PendingQuestion::new("x", about())).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_reaches_its_question_once() {
        let queue = queue();
        let _watching = queue.watch();
        let asking = tokio::spawn({
            let queue = queue.clone();
            async move { queue.ask(PendingQuestion::new("x", about())).await }
        });
        let mut changes = queue.changes();
        changes.wait_for(|_| queue.questions().len() == 1).await.unwrap();
        let id = queue.questions()[0].id;
        assert_eq!(queue.answer(id, QuestionAnswer::Result(Ok(Raw::null()))), Ok(()));
        assert!(matches!(asking.await.unwrap(), Some(QuestionAnswer::Result(Ok(_)))));
        assert_eq!(queue.answer(id, QuestionAnswer::Cancel), Err(QuestionGone));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_passed_on_and_nobody_is_as_good_as_cancel() {
        let queue = queue();
        let (question, reply) = PendingQuestion::new("x", about());
        queue.relay(question).await;
        assert!(matches!(reply.await, Ok(QuestionAnswer::Cancel)));
        let _watching = queue.watch();
        let (question, reply) = PendingQuestion::new("x", about());
        let relaying = queue.relay(question);
        let answering = async {
            queue.changes().wait_for(|_| queue.questions().len() == 1).await.unwrap();
            assert_eq!(queue.questions()[0].left, Duration::from_secs(600));
            queue
                .answer(queue.questions()[0].id, QuestionAnswer::Deny(AnswerLifetime::Once))
                .unwrap();
        };
        tokio::join!(relaying, answering);
        assert!(matches!(reply.await, Ok(QuestionAnswer::Deny(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_waits_ten_minutes_and_is_gone() {
        let queue = queue();
        let _watching = queue.watch();
        let started = Instant::now();
        assert!(matches!(
            queue.ask(PendingQuestion::new("x", about())).await,
            Some(QuestionAnswer::Cancel)
        ));
        assert_eq!(started.elapsed(), Duration::from_secs(600));
        assert!(queue.questions().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn questions_leave_with_the_last_who_watches_and_with_their_call() {
        let queue = queue();
        let watching = queue.watch();
        let ask = || {
            let queue = queue.clone();
            tokio::spawn(async move { queue.ask(PendingQuestion::new("x", about())).await })
        };
        let (first, second) = (ask(), ask());
        queue.changes().wait_for(|_| queue.questions().len() == 2).await.unwrap();
        second.abort();
        let _ = second.await;
        assert_eq!(queue.questions().len(), 1);
        drop(watching);
        assert!(matches!(first.await.unwrap(), Some(QuestionAnswer::Cancel)));
    }
}
