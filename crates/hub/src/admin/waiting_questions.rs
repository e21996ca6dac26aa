//! Questions that were put to whoever follows a call or holds a workspace, until they answer.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use switchboard_core::dispatch::{PendingQuestion, QuestionAnswer};

use super::AdminApi;

/// The most that wait at once; past it they are cancelled.
const MAX_WAITING_QUESTIONS: usize = 256;
/// What their names begin with. Those of the queue begin otherwise.
const QUESTION_ID_PREFIX: &str = "c";

/// The questions that wait.
#[derive(Debug, Default)]
pub(super) struct WaitingQuestions(Mutex<QuestionTable>);

#[derive(Debug, Default)]
struct QuestionTable {
    last: u64,
    questions: HashMap<u64, PendingQuestion>,
}

/// The questions of one asker. Dropped, they count as cancelled.
pub(super) struct QuestionHolder {
    admin: AdminApi,
    mine: Vec<u64>,
}

// === impl WaitingQuestions ===

impl WaitingQuestions {
    /// Answers a question; `false` if none of that name waits.
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
        self.0.lock()
    }
}

// === impl QuestionHolder ===

impl QuestionHolder {
    pub(super) fn new(admin: AdminApi) -> Self {
        Self { admin, mine: Vec::new() }
    }

    /// Keeps a question until it is answered, and names it. `None` where too many wait: it is cancelled.
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
