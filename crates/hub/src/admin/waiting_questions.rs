//! Questions that a client of the admin API received with a call or a lease, until the client answers.
//!
//! Used by `call` and `lease` (to hold questions) and `questions` (to answer them). It does not hold the question queue
//! (`core::engine` does).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use switchboard_core::dispatch::{PendingQuestion, QuestionAnswer};

use super::AdminApi;

/// The most waiting questions at once; further ones are cancelled.
const MAX_WAITING_QUESTIONS: usize = 256;
/// The prefix of their ids, different from the prefix of the queue.
const QUESTION_ID_PREFIX: &str = "c";

/// All waiting questions.
#[derive(Debug, Default)]
pub(super) struct WaitingQuestions(Mutex<QuestionTable>);

#[derive(Debug, Default)]
struct QuestionTable {
    last: u64,
    questions: HashMap<u64, PendingQuestion>,
}

/// The questions of one call or lease. Dropped, they are cancelled.
pub(super) struct QuestionHolder {
    admin: AdminApi,
    mine: Vec<u64>,
}

// === impl WaitingQuestions ===

impl WaitingQuestions {
    /// Answers a question; `false` if no question with this id waits.
    pub(super) fn answer(&self, id: &str, reply: QuestionAnswer) -> bool {
        let number = id.strip_prefix(QUESTION_ID_PREFIX).and_then(|number| number.parse().ok());
        let question = number.and_then(|number: u64| self.lock().questions.remove(&number));
        match question {
            Some(question) if !question.is_moot() => {
                question.answer(reply);
                true
            }
            _ => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, QuestionTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl QuestionHolder ===

impl QuestionHolder {
    pub(super) fn new(admin: AdminApi) -> Self {
        Self { admin, mine: Vec::new() }
    }

    /// Holds a question until it is answered, and returns its id. `None` if too many wait: the question is cancelled.
    pub(super) fn hold(&mut self, question: PendingQuestion) -> Option<String> {
        let mut waiting = self.admin.0.asked.lock();
        waiting.questions.retain(|_, question| !question.is_moot());
        if waiting.questions.len() >= MAX_WAITING_QUESTIONS {
            return None;
        }
        waiting.last += 1;
        let id = waiting.last;
        waiting.questions.insert(id, question);
        self.mine.push(id);
        Some(format!("{QUESTION_ID_PREFIX}{id}"))
    }
}

impl Drop for QuestionHolder {
    fn drop(&mut self) {
        let mut waiting = self.admin.0.asked.lock();
        for id in &self.mine {
            waiting.questions.remove(id);
        }
    }
}
