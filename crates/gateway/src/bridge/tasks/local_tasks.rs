//! Local tasks: calls that the bridge runs as tasks and keeps for a while, with their results.
//!
//! Used by `tasks`. They run whether or not the client polls. A principal that keeps too many cannot start another,
//! while others can. It does not render tasks (`render`), and does not
//! handle tasks of servers (`tasks`).

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use switchboard_core::dispatch::{CallOutcome, PendingQuestion, QuestionAnswer};
use switchboard_core::principal_share::{PoolSpace, find_room};
use switchboard_core::{CallError, CallEvent, RunningCall};
use switchboard_wire::client::{InputRequest, InputResponse};
use switchboard_wire::envelope::RpcError;
use switchboard_wire::json::Raw;
use switchboard_wire::meta::method;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::super::apps::UiAddressForm;
use super::super::{consent, refusal};
use super::hide_task;

/// The most local tasks of all principals, including those that have ended.
const MAX_LOCAL_TASKS: usize = 1024;

/// The local tasks of a bridge. Clones share them.
#[derive(Clone, Default)]
pub(in super::super) struct LocalTasks(Arc<Mutex<LocalTaskTable>>);

#[derive(Default)]
struct LocalTaskTable {
    there: HashMap<u64, RunningTask>,
    next: u64,
}

/// A task, and the handle of the future that runs it and keeps it until its time is up.
type RunningTask = (Arc<LocalTask>, AbortOnDropHandle<()>);

/// One local task.
pub(in super::super) struct LocalTask {
    /// The owner: endpoint and principal.
    owner: (String, String),
    /// The sealed id that the client got.
    id: OnceLock<String>,
    pub(super) created: SystemTime,
    pub(super) ttl: Duration,
    standing: watch::Sender<LocalTaskState>,
    /// Open questions, by key.
    asked: Mutex<HashMap<String, PendingQuestion>>,
    cancelled: CancellationToken,
}

/// The state of a task.
#[derive(Clone)]
pub(super) struct LocalTaskState {
    pub(super) status: LocalTaskStatus,
    /// The status message of the server.
    pub(super) message: Option<String>,
    pub(super) updated: SystemTime,
    /// The open questions, for the client.
    pub(super) questions: Vec<InputRequest>,
}

#[derive(Clone)]
pub(super) enum LocalTaskStatus {
    Working,
    Completed(Raw),
    Failed(RpcError),
    Cancelled,
}

/// The principal keeps as many tasks as it may.
pub(super) struct TooManyTasks;

// === impl LocalTasks ===

impl LocalTasks {
    /// Starts a task for a call, kept for `ttl`. Returns its number.
    pub(super) fn start(
        &self,
        running: RunningCall,
        owner: (String, String),
        ttl: Duration,
        addresses: UiAddressForm,
    ) -> Result<(u64, Arc<LocalTask>), TooManyTasks> {
        let mut tasks = self.lock();
        let given_up = tasks.make_room(&owner.1)?;
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
        let life = run_task(Arc::clone(&task), running, addresses);
        let kept = Arc::downgrade(&self.0);
        let life = tokio::spawn(async move {
            // A task that has ended is kept until `ttl` is over; a running one is then dropped.
            let _ = tokio::time::timeout(ttl, async {
                life.await;
                std::future::pending::<()>().await;
            })
            .await;
            let Some(kept) = kept.upgrade() else { return };
            let gone = kept.lock().there.remove(&number);
            // Dropped after the lock is released. Detached, since this future belongs to the task that it removes.
            gone.map(|(_, life)| life.detach());
        });
        tasks.there.insert(number, (Arc::clone(&task), AbortOnDropHandle::new(life)));
        drop(tasks);
        drop(given_up);
        Ok((number, task))
    }

    pub(super) fn get(&self, number: u64) -> Option<Arc<LocalTask>> {
        self.lock().there.get(&number).map(|(task, _)| Arc::clone(task))
    }

    /// The tasks of one owner, oldest first.
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

// === impl LocalTaskTable ===

impl LocalTaskTable {
    /// Makes room for a task of a principal. Returns the task that has to go for it: of the principal that keeps the
    /// most tasks, the oldest that has ended.
    fn make_room(&mut self, principal: &str) -> Result<Option<RunningTask>, TooManyTasks> {
        let holders = self.there.values().map(|(task, _)| task.owner.1.as_str());
        let giver = match find_room(MAX_LOCAL_TASKS, holders, principal) {
            PoolSpace::Free => return Ok(None),
            PoolSpace::EvictCaller => return Err(TooManyTasks),
            PoolSpace::Other(giver) => giver,
        };
        let ended =
            |(_, (task, _)): &(&u64, &RunningTask)| task.owner.1 == giver && task.has_ended();
        let oldest = self.there.iter().filter(ended).map(|(number, _)| *number).min();
        let given_up = oldest.and_then(|number| self.there.remove(&number));
        given_up.map(Some).ok_or(TooManyTasks)
    }
}

/// Follows a call until it ends or is cancelled.
async fn run_task(task: Arc<LocalTask>, running: RunningCall, addresses: UiAddressForm) {
    let end = task.cancelled.run_until_cancelled(follow(&task, running, addresses)).await;
    // The call has ended, so its questions cannot be answered any more.
    task.lock_questions().clear();
    task.change(|standing| {
        standing.questions.clear();
        standing.status = match end {
            None => LocalTaskStatus::Cancelled,
            Some(ended) => {
                let reply = match ended {
                    Ok(CallOutcome { result, server, .. }) => {
                        let result = hide_task(result);
                        addresses.translate_result(method::TOOLS_CALL, result, server.as_deref())
                    }
                    Err(error) => refusal::to_reply(&error),
                };
                match reply {
                    Ok(result) => LocalTaskStatus::Completed(result),
                    Err(error) => LocalTaskStatus::Failed(error),
                }
            }
        };
    });
}

async fn follow(
    task: &LocalTask,
    mut running: RunningCall,
    addresses: UiAddressForm,
) -> Result<CallOutcome, CallError> {
    let mut number = 0;
    loop {
        match running.next().await? {
            CallEvent::Done(outcome) => return Ok(*outcome),
            CallEvent::Question(question) => {
                number += 1;
                task.ask(format!("question-{number}"), question, addresses);
            }
            CallEvent::Task(state) => {
                let message = state.get("statusMessage").ok().flatten();
                let message = message.and_then(|message| message.to_text());
                task.change(|standing| standing.message = message);
            }
            // A task has no place for progress and logs, and no questions are returned to the client.
            _ => {}
        }
        task.forget_moot();
    }
}

// === impl LocalTask ===

impl LocalTask {
    /// Stores the id that the client got, so that every list shows it.
    pub(super) fn keep_id(&self, id: String) -> &str {
        self.id.get_or_init(|| id)
    }

    pub(super) fn id(&self) -> Option<&str> {
        self.id.get().map(String::as_str)
    }

    pub(super) fn state(&self) -> LocalTaskState {
        self.standing.borrow().clone()
    }

    fn has_ended(&self) -> bool {
        !matches!(self.standing.borrow().status, LocalTaskStatus::Working)
    }

    /// Waits until the task has ended or asks a question. Returns its state.
    pub(super) async fn wait_until_settled(&self) -> LocalTaskState {
        let mut standing = self.standing.subscribe();
        let settled = standing.wait_for(|standing| {
            !matches!(standing.status, LocalTaskStatus::Working) || !standing.questions.is_empty()
        });
        match settled.await {
            Ok(standing) => standing.clone(),
            // Cannot happen: the task owns the sender.
            Err(_) => self.state(),
        }
    }

    pub(super) fn cancel(&self) {
        self.cancelled.cancel();
    }

    /// Waits until the task has ended or is cancelled. Returns its state.
    pub(super) async fn wait_until_ended(&self) -> LocalTaskState {
        let mut standing = self.standing.subscribe();
        let ended = standing
            .wait_for(|standing| !matches!(standing.status, LocalTaskStatus::Working))
            .await;
        ended.map_or_else(|_| self.state(), |standing| standing.clone())
    }

    /// Passes the answers of a modern client on. Unusable answers leave their questions open.
    pub(super) fn answer_usable(&self, mut answers: Vec<InputResponse>) {
        answers.retain(|answer| {
            let questions = self.lock_questions();
            let question = questions.get(&answer.key);
            question.is_some_and(|question| consent::is_usable(&question.about, answer))
        });
        self.answer(answers);
    }

    /// Passes answers on. Answers without an open question are ignored.
    pub(super) fn answer(&self, answers: Vec<InputResponse>) {
        for answer in answers {
            let Some(question) = self.lock_questions().remove(&answer.key) else { continue };
            self.change(|standing| standing.questions.retain(|open| open.key != answer.key));
            consent::answer_with(question, answer);
        }
    }

    fn ask(&self, key: String, question: PendingQuestion, addresses: UiAddressForm) {
        let asked = consent::to_input_request(&question);
        let asked = match addresses.translate_question(asked, &question.server) {
            Ok(asked) => InputRequest { key: key.clone(), ..asked },
            // The server learns why its question is not passed on.
            Err(error) => return question.answer(QuestionAnswer::Result(Err(error))),
        };
        self.lock_questions().insert(key, question);
        self.change(|standing| standing.questions.push(asked));
    }

    /// Removes questions that were withdrawn, or not answered in time.
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
