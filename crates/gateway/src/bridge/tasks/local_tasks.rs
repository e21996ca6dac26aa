//! Calls that were made tasks of here: they go on whether or not anybody asks after them, and what came of them is kept
//! for a while.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use switchboard_core::dispatch::PendingQuestion;
use switchboard_core::{CallError, CallEvent, RunningCall};
use switchboard_wire::client::{InputRequest, InputResponse};
use switchboard_wire::envelope::RpcError;
use switchboard_wire::json::Raw;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::super::{consent, refusal};
use super::hide_task;

/// Tasks that may be there at once, those that have ended among them.
const MAX_LOCAL_TASKS: usize = 1024;

/// The tasks of a bridge. Clones share them.
#[derive(Clone, Default)]
pub(in super::super) struct LocalTasks(Arc<Mutex<LocalTaskTable>>);

#[derive(Default)]
struct LocalTaskTable {
    there: HashMap<u64, (Arc<LocalTask>, AbortOnDropHandle<()>)>,
    next: u64,
}

/// One of them.
pub(in super::super) struct LocalTask {
    /// Whose it is: endpoint and principal.
    owner: (String, String),
    /// What its client calls it.
    id: OnceLock<String>,
    pub(super) created: SystemTime,
    pub(super) ttl: Duration,
    standing: watch::Sender<LocalTaskState>,
    /// What waits for an answer, by key.
    asked: Mutex<HashMap<String, PendingQuestion>>,
    cancelled: CancellationToken,
}

/// How a task stands.
#[derive(Clone)]
pub(super) struct LocalTaskState {
    pub(super) status: LocalTaskStatus,
    /// What its server says of it.
    pub(super) message: Option<String>,
    pub(super) updated: SystemTime,
    /// What is asked now.
    pub(super) questions: Vec<InputRequest>,
}

#[derive(Clone)]
pub(super) enum LocalTaskStatus {
    Working,
    Completed(Raw),
    Failed(RpcError),
    Cancelled,
}

/// There are too many tasks already.
pub(super) struct TooManyTasks;

// === impl LocalTasks ===

impl LocalTasks {
    /// Makes a task of a call, kept for `ttl`; its number.
    pub(super) fn start(
        &self,
        running: RunningCall,
        owner: (String, String),
        ttl: Duration,
    ) -> Result<(u64, Arc<LocalTask>), TooManyTasks> {
        let mut tasks = self.lock();
        if tasks.there.len() >= MAX_LOCAL_TASKS {
            return Err(TooManyTasks);
        }
        let now = SystemTime::now();
        let standing = LocalTaskState {
            status: LocalTaskStatus::Working,
            message: None,
            updated: now,
            questions: Vec::new(),
        };
        let task = Arc::new(LocalTask {
            owner,
            id: OnceLock::new(),
            created: now,
            ttl,
            standing: watch::Sender::new(standing),
            asked: Mutex::default(),
            cancelled: CancellationToken::new(),
        });
        let number = tasks.next;
        tasks.next += 1;
        let life = run_task(Arc::clone(&task), running);
        let kept = Arc::downgrade(&self.0);
        let life = tokio::spawn(async move {
            // What is over is kept until then; what is not is given up.
            let _ = tokio::time::timeout(ttl, async {
                life.await;
                std::future::pending::<()>().await;
            })
            .await;
            let Some(kept) = kept.upgrade() else { return };
            let gone = kept.lock().there.remove(&number);
            // Not under the lock, and not before this has ended, for it holds this very task.
            gone.map(|(_, life)| life.detach());
        });
        tasks.there.insert(number, (Arc::clone(&task), AbortOnDropHandle::new(life)));
        Ok((number, task))
    }

    pub(super) fn get(&self, number: u64) -> Option<Arc<LocalTask>> {
        self.lock().there.get(&number).map(|(task, _)| Arc::clone(task))
    }

    /// Those of one owner, oldest first.
    pub(super) fn list_of_owner(&self, owner: &(String, String)) -> Vec<Arc<LocalTask>> {
        let tasks = self.lock();
        let mut own: Vec<_> = tasks
            .there
            .iter()
            .filter(|(_, (task, _))| task.owner == *owner)
            .map(|(number, (task, _))| (*number, Arc::clone(task)))
            .collect();
        own.sort_by_key(|(number, _)| *number);
        own.into_iter().map(|(_, task)| task).collect()
    }

    fn lock(&self) -> MutexGuard<'_, LocalTaskTable> {
        self.0.lock()
    }
}

/// Follows a call until it ends, or is cancelled.
async fn run_task(task: Arc<LocalTask>, running: RunningCall) {
    let end = task.cancelled.run_until_cancelled(follow(&task, running)).await;
    // Without its call nobody can be told what is answered from now on.
    task.lock_questions().clear();
    task.change(|standing| {
        standing.questions.clear();
        standing.status = match end {
            Some(Ok(result)) => LocalTaskStatus::Completed(result),
            Some(Err(error)) => match refusal::to_reply(&error) {
                Ok(result) => LocalTaskStatus::Completed(result),
                Err(error) => LocalTaskStatus::Failed(error),
            },
            None => LocalTaskStatus::Cancelled,
        };
    });
}

async fn follow(task: &LocalTask, mut running: RunningCall) -> Result<Raw, CallError> {
    let mut number = 0;
    loop {
        match running.next().await? {
            CallEvent::Done(outcome) => return Ok(hide_task(outcome.result)),
            CallEvent::Question(question) => {
                number += 1;
                task.ask(format!("question-{number}"), question);
            }
            CallEvent::Task(state) => {
                let message = state.get("statusMessage").ok().flatten();
                let message = message.and_then(|message| message.to_text());
                task.change(|standing| standing.message = message);
            }
            // Progress and logs have no place in a task, and nothing is handed out that was to be held.
            _ => {}
        }
        task.forget_moot();
    }
}

// === impl LocalTask ===

impl LocalTask {
    /// Keeps the id that its client was given: it is the same in every list.
    pub(super) fn keep_id(&self, id: String) -> &str {
        self.id.get_or_init(|| id)
    }

    pub(super) fn id(&self) -> Option<&str> {
        self.id.get().map(String::as_str)
    }

    pub(super) fn state(&self) -> LocalTaskState {
        self.standing.borrow().clone()
    }

    /// How it stands once it has ended, or asks something.
    pub(super) async fn wait_until_settled(&self) -> LocalTaskState {
        let mut standing = self.standing.subscribe();
        let settled = standing.wait_for(|standing| {
            !matches!(standing.status, LocalTaskStatus::Working) || !standing.questions.is_empty()
        });
        match settled.await {
            Ok(standing) => standing.clone(),
            // The sender is in the task itself.
            Err(_) => self.state(),
        }
    }

    pub(super) fn cancel(&self) {
        self.cancelled.cancel();
    }

    /// How it stands once it has been cancelled, or has ended before.
    pub(super) async fn wait_until_ended(&self) -> LocalTaskState {
        let mut standing = self.standing.subscribe();
        let ended = standing
            .wait_for(|standing| !matches!(standing.status, LocalTaskStatus::Working))
            .await;
        ended.map_or_else(|_| self.state(), |standing| standing.clone())
    }

    /// Passes the answers of a modern client on. Those that are unusable leave their questions open.
    pub(super) fn answer_usable(&self, mut answers: Vec<InputResponse>) {
        answers.retain(|answer| {
            let questions = self.lock_questions();
            let question = questions.get(&answer.key);
            question.is_some_and(|question| consent::is_usable(&question.about, answer))
        });
        self.answer(answers);
    }

    /// Passes answers on. What is not asked, or no longer, is ignored.
    pub(super) fn answer(&self, answers: Vec<InputResponse>) {
        for answer in answers {
            let Some(question) = self.lock_questions().remove(&answer.key) else { continue };
            self.change(|standing| standing.questions.retain(|open| open.key != answer.key));
            consent::answer_with(question, answer);
        }
    }

    fn ask(&self, key: String, question: PendingQuestion) {
        let asked = InputRequest { key: key.clone(), ..consent::to_input_request(&question.about) };
        self.lock_questions().insert(key, question);
        self.change(|standing| standing.questions.push(asked));
    }

    /// A question that was taken back, or not answered in time, is no longer asked.
    fn forget_moot(&self) {
        let moot: Vec<String> = {
            let mut asked = self.lock_questions();
            let moot = asked.iter().filter(|(_, question)| question.is_moot());
            let moot: Vec<String> = moot.map(|(key, _)| key.clone()).collect();
            asked.retain(|key, _| !moot.contains(key));
            moot
        };
        if !moot.is_empty() {
            self.change(|standing| standing.questions.retain(|open| !moot.contains(&open.key)));
        }
    }

    fn change(&self, change: impl FnOnce(&mut LocalTaskState)) {
        self.standing.send_modify(|standing| {
            change(standing);
            standing.updated = SystemTime::now();
        });
    }

    fn lock_questions(&self) -> MutexGuard<'_, HashMap<String, PendingQuestion>> {
        self.asked.lock()
    }
}
