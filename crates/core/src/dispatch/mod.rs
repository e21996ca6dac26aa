//! Dispatch: the pipeline that every call takes.
//!
//! Used by `Engine::call`. The stages are: find → validate → hooks before → permission → connection → call →
//! questions → result limits → hooks after. `tool` runs them in order for a tool call. Prompts, resources and
//! completions skip the stages that concern tools.
//!
//! It does not show questions (`engine::questions` and the fronts do), and does not open connections
//! (`engine::session`).

mod builtin;
mod call_recorder;
mod confirm;
mod consent;
mod continuation;
mod elicit;
mod error;
mod find;
mod forward;
mod method_consent;
mod page_visits;
mod prompts_and_resources;
mod question;
mod request;
mod running_call;
mod sign_in;
mod stage;
mod stage_clock;
mod tasks;
mod tool;
mod unseen_pages;
mod upstream;

use std::sync::Arc;

use switchboard_wire::json::Raw;
use switchboard_wire::meta::method;

pub(crate) use builtin::tools as builtin_tools;
pub use builtin::{
    LIST_RESOURCES_TOOL, READ_RESOURCE_TOOL, tool_definitions as builtin_definitions,
};
pub use continuation::{CallContinuation, InputRequired};
pub use error::{CallError, ElicitationRefusal, RepeatSafety};
pub use question::{PendingQuestion, PermissionQuestion, QuestionAnswer, QuestionKind};
pub use request::{CallOrigin, CompletionReference, Request};
pub use running_call::{CallEvent, CallEventSender, RunningCall};
pub use tasks::{ServerTask, StartedTask};

use call_recorder::CallRecorder;
use stage::Stage;
use stage_clock::StageClock;
use unseen_pages::UnseenPages;

use crate::engine::{Caller, Inner};
use crate::permission::DecisionReason;
use crate::results::LimitedResult;

/// The outcome of a call.
#[derive(Debug)]
#[non_exhaustive]
pub struct CallOutcome {
    /// The result, within its limits.
    pub result: Raw,
    /// The server that gave the result; absent for the engine's own tools.
    pub server: Option<String>,
    /// The reason why a tool call was allowed.
    pub decision: Option<DecisionReason>,
    /// Text that hooks add for the model.
    pub context: Vec<String>,
    /// How the result was limited, where it was.
    pub limited: Option<LimitedResult>,
}

/// How the engine's part in a call ended.
#[derive(Debug)]
pub(crate) enum CallFinish {
    /// With an outcome.
    Done(Box<CallOutcome>),
    /// With questions for the caller.
    NeedsInput(Box<InputRequired>),
    /// With a task for the caller.
    Task(Box<StartedTask>),
}

/// Starts a call; it runs while it is polled.
pub(crate) fn start(engine: Arc<Inner>, caller: Caller, request: Request) -> RunningCall {
    RunningCall::with_finish(move |emit| {
        Box::pin(async move {
            let applied = caller.applied();
            let mut record = CallRecorder::new(engine.clone(), &caller, &request);
            let unseen_pages = UnseenPages::default();
            let clock = StageClock::start();
            let stage = Stage { engine, caller, applied, emit, unseen_pages, clock };
            let ended = stage.run(request, &mut record).await;
            record.set_stages(stage.clock.spent());
            record.end(&ended);
            // The records have the places of rules; other principals than the local one do not get them.
            let is_local = stage.caller.session().principal.is_local();
            if is_local { ended } else { ended.map_err(CallError::without_places) }
        })
    })
}

// === impl Stage ===

impl Stage {
    async fn run(
        &self,
        mut request: Request,
        record: &mut CallRecorder,
    ) -> Result<CallFinish, CallError> {
        if let Some(task) = request.task.take() {
            return Box::pin(tasks::call_task(self, request, *task, record)).await;
        }
        // Rare methods are boxed, so that the future of a tool call stays small.
        match &*request.method {
            method::TOOLS_CALL => tool::call(self, request, record).await,
            method::PROMPTS_GET => {
                Box::pin(prompts_and_resources::get_prompt(self, request, record)).await
            }
            method::RESOURCES_READ => {
                Box::pin(prompts_and_resources::read_resource(self, request, record)).await
            }
            method::RESOURCES_SUBSCRIBE => {
                Box::pin(prompts_and_resources::watch_resource(
                    self,
                    request,
                    record,
                    prompts_and_resources::ResourceWatch::On,
                ))
                .await
            }
            method::RESOURCES_UNSUBSCRIBE => {
                Box::pin(prompts_and_resources::watch_resource(
                    self,
                    request,
                    record,
                    prompts_and_resources::ResourceWatch::Off,
                ))
                .await
            }
            method::COMPLETE => {
                Box::pin(prompts_and_resources::complete(self, request, record)).await
            }
            _ if request.is_notification => Box::pin(forward::notify(self, request, record)).await,
            _ => Box::pin(forward::forward(self, request, record)).await,
        }
    }
}

// === impl CallFinish ===

impl CallFinish {
    fn done(outcome: CallOutcome) -> Self {
        Self::Done(Box::new(outcome))
    }

    /// Returns the outcome, for callers that take neither questions nor tasks.
    fn outcome(self) -> Result<CallOutcome, CallError> {
        match self {
            Self::Done(outcome) => Ok(*outcome),
            Self::Task(tasked) => Ok(CallOutcome {
                result: tasked.state,
                server: Some(tasked.task.server),
                decision: None,
                context: Vec::new(),
                limited: None,
            }),
            Self::NeedsInput(handed) => {
                Err(CallError::InputNeeded { server: handed.carried.server().to_owned() })
            }
        }
    }
}

// === impl CallOutcome ===

impl CallOutcome {
    /// Whether the tool itself reports an error.
    pub fn is_error(&self) -> bool {
        matches!(self.result.peek_path(&["isError"]), Ok(Some("true")))
    }
}
