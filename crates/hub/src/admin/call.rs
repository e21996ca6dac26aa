//! `POST /workspaces/{id}/call`: one call, with its progress, logs, questions and result as server-sent events.
//!
//! Used by `routes`. Closing the response cancels the call. It does not check permissions (`core::dispatch` does).

use axum::extract::{Path, State};
use axum::response::Response;
use axum::response::sse::Event;
use futures_util::stream;
use http::Uri;
use switchboard_core::remote::{self, RemoteCallError, RemoteOutcome, RemoteRequest};
use switchboard_core::{CallError, CallEvent, Caller, RunningCall, WorkspaceId};
use switchboard_wire::json::Raw;

use super::problem::AdminProblem;
use super::questions::QuestionInfo;
use super::routes::{JsonBody, query_param};
use super::waiting_questions::QuestionHolder;
use super::{AdminApi, WorkspaceRequest, activity, sse};
use crate::socket::UsageLease;

/// A running call; dropped, it is cancelled.
struct FollowedCall {
    admin: AdminApi,
    running: RunningCall,
    asker: QuestionHolder,
    is_over: bool,
    /// Held, because the session may exist only for this call.
    _caller: Caller,
    _counted: UsageLease,
}

/// `POST /workspaces/{id}/call`.
pub(super) async fn place_call(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
    uri: Uri,
    JsonBody(call): JsonBody<RemoteRequest>,
) -> Result<Response, AdminProblem> {
    let workspace = WorkspaceId::from(&*id);
    let caller = match query_param(&uri, "session") {
        Some(session) => admin.0.leases.caller(&session, &workspace),
        None => {
            let session = WorkspaceRequest::default().to_session(admin.0.leases.new_session_name());
            admin.0.engine.attach(&workspace, session).ok()
        }
    };
    let caller = caller.ok_or_else(|| AdminProblem::no_workspace(&id))?;
    let call = match query_param(&uri, "repeats") {
        Some(repeated) => restore_call(&admin, &repeated, call)?,
        None => call,
    };
    let running = admin.0.engine.call(&caller, call.into_request());
    let asker = QuestionHolder::new(admin.clone());
    let counted = admin.0.pulse.count_call();
    let following =
        FollowedCall { admin, running, asker, is_over: false, _caller: caller, _counted: counted };
    Ok(sse::response(stream::unfold(following, |mut following| async move {
        let event = following.next().await?;
        Some((event, following))
    })))
}

/// Restores the values of a repeated call that were redacted when the call was shown.
fn restore_call(
    admin: &AdminApi,
    of: &str,
    call: RemoteRequest,
) -> Result<RemoteRequest, AdminProblem> {
    let malformed =
        |error: serde_json::Error| AdminProblem::malformed(format!("`params`: {error}"));
    let shown = serde_json::from_str(call.params.as_str()).map_err(malformed)?;
    let params = activity::restore_params(admin, of, &shown)?;
    let params =
        Raw::from_value(&params).map_err(|error| AdminProblem::malformed(error.to_string()))?;
    Ok(RemoteRequest { params, ..call })
}

// === impl FollowedCall ===

impl FollowedCall {
    /// The next event; `None` after the result or error.
    async fn next(&mut self) -> Option<Event> {
        while !self.is_over {
            let event = match self.running.next().await {
                Ok(CallEvent::Progress(params)) => {
                    to_sse_event(&remote::RemoteCallEvent::Progress(params))
                }
                Ok(CallEvent::Log(params)) => to_sse_event(&remote::RemoteCallEvent::Log(params)),
                Ok(CallEvent::Task(state)) => to_sse_event(&remote::RemoteCallEvent::Task(state)),
                Ok(CallEvent::Notification(said)) => {
                    to_sse_event(&remote::RemoteCallEvent::from_notification(&said))
                }
                Ok(CallEvent::Question(question)) => {
                    let asking = QuestionInfo::from_question(String::new(), &question);
                    // Beyond the limit the question is dropped, which cancels it.
                    let Some(id) = self.asker.hold(question) else { continue };
                    sse::event("question", &QuestionInfo { id, ..asking })
                }
                Ok(CallEvent::Done(outcome)) => {
                    self.is_over = true;
                    sse::event("done", &RemoteOutcome::from_outcome(&outcome))
                }
                // This API never asks for tasks or handles, so these two cannot occur.
                Ok(CallEvent::Tasked(tasked)) => {
                    let server = tasked.task.server.clone();
                    self.failure_event(&CallError::InputNeeded { server })
                }
                Ok(CallEvent::Handed(handed)) => {
                    let server = handed.carried.server().to_owned();
                    self.failure_event(&CallError::InputNeeded { server })
                }
                Err(error) => self.failure_event(&error),
            };
            return Some(event);
        }
        None
    }

    fn failure_event(&mut self, error: &CallError) -> Event {
        self.is_over = true;
        sse::event("failed", &RemoteCallError::from_call_error(error, &*self.admin.0.advice))
    }
}

fn to_sse_event(event: &remote::RemoteCallEvent) -> Event {
    sse::event(event.word(), event.data())
}
