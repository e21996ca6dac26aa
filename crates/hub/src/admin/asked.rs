//! Questions that were put to whoever follows a call or holds a workspace, until they answer.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use switchboard_core::dispatch::{Question, Reply};

use super::Admin;

/// The most that wait at once; past it they are cancelled.
const MOST: usize = 256;
/// What their names begin with. Those of the queue begin otherwise.
const PREFIX: &str = "c";

/// The questions that wait.
#[derive(Debug, Default)]
pub(super) struct Asked(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    questions: HashMap<u64, Question>,
}

/// The questions of one asker. Dropped, they count as cancelled.
pub(super) struct Asker {
    admin: Admin,
    mine: Vec<u64>,
}

// === impl Asked ===

impl Asked {
    /// Answers a question; `false` if none of that name waits.
    pub(super) fn answer(&self, id: &str, reply: Reply) -> bool {
        let number = id.strip_prefix(PREFIX).and_then(|number| number.parse().ok());
        let question = number.and_then(|number: u64| self.lock().questions.remove(&number));
        match question {
            Some(question) if !question.is_moot() => {
                question.answer(reply);
                true
            }
            _ => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Asker ===

impl Asker {
    pub(super) fn new(admin: Admin) -> Self {
        Self { admin, mine: Vec::new() }
    }

    /// Keeps a question until it is answered, and names it. `None` where too many wait: it is cancelled.
    pub(super) fn hold(&mut self, question: Question) -> Option<String> {
        let mut waiting = self.admin.0.asked.lock();
        waiting.questions.retain(|_, question| !question.is_moot());
        if waiting.questions.len() >= MOST {
            return None;
        }
        waiting.last += 1;
        let id = waiting.last;
        waiting.questions.insert(id, question);
        self.mine.push(id);
        Some(format!("{PREFIX}{id}"))
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        let mut waiting = self.admin.0.asked.lock();
        for id in &self.mine {
            waiting.questions.remove(id);
        }
    }
}
