//! One call: what happens to it comes as events, and closing the request cancels it.

use axum::extract::{Path, State};
use axum::response::Response;
use axum::response::sse::Event;
use futures_util::stream;
use http::Uri;
use switchboard_core::told::{self, Call, Failure, Outcome};
use switchboard_core::{CallError, CallEvent, Caller, Running, WorkspaceId};
use switchboard_wire::json::Raw;

use super::asked::Asker;
use super::problem::Problem;
use super::questions::Asking;
use super::routes::{Body, param};
use super::{Admin, Whose, activity, sse};
use crate::socket::Counted;

/// A call under way. Dropped, it is cancelled.
struct Following {
    admin: Admin,
    running: Running,
    asker: Asker,
    is_over: bool,
    /// The session may be the call's own.
    _caller: Caller,
    _counted: Counted,
}

/// `POST /workspaces/{id}/call`.
pub(super) async fn place(
    State(admin): State<Admin>,
    Path(id): Path<String>,
    uri: Uri,
    Body(call): Body<Call>,
) -> Result<Response, Problem> {
    let workspace = WorkspaceId::from(&*id);
    let caller = match param(&uri, "session") {
        Some(session) => admin.0.leases.caller(&session, &workspace),
        None => {
            let session = Whose::default().session(admin.0.leases.name());
            admin.0.engine.attach(&workspace, session).ok()
        }
    };
    let caller = caller.ok_or_else(|| Problem::no_workspace(&id))?;
    let call = match param(&uri, "repeats") {
        Some(repeated) => again(&admin, &repeated, call)?,
        None => call,
    };
    let running = admin.0.engine.call(&caller, call.request());
    let asker = Asker::new(admin.clone());
    let counted = admin.0.pulse.call();
    let following =
        Following { admin, running, asker, is_over: false, _caller: caller, _counted: counted };
    Ok(sse::response(stream::unfold(following, |mut following| async move {
        let event = following.next().await?;
        Some((event, following))
    })))
}

/// A call that was shown to somebody, with what was hidden from them.
fn again(admin: &Admin, of: &str, call: Call) -> Result<Call, Problem> {
    let malformed = |error: serde_json::Error| Problem::malformed(format!("`params`: {error}"));
    let shown = serde_json::from_str(call.params.as_str()).map_err(malformed)?;
    let params = activity::repeated(admin, of, &shown)?;
    let params = Raw::of(&params).map_err(|error| Problem::malformed(error.to_string()))?;
    Ok(Call { params, ..call })
}

// === impl Following ===

impl Following {
    /// The next thing that happens; `None` after the end.
    async fn next(&mut self) -> Option<Event> {
        while !self.is_over {
            let event = match self.running.next().await {
                Ok(CallEvent::Progress(params)) => told(&told::Event::Progress(params)),
                Ok(CallEvent::Log(params)) => told(&told::Event::Log(params)),
                Ok(CallEvent::Task(state)) => told(&told::Event::Task(state)),
                Ok(CallEvent::Notification(said)) => told(&told::Event::notification(&said)),
                Ok(CallEvent::Question(question)) => {
                    let asking = Asking::of(String::new(), &question);
                    // One too many is dropped, which cancels it.
                    let Some(id) = self.asker.hold(question) else { continue };
                    sse::event("question", &Asking { id, ..asking })
                }
                Ok(CallEvent::Done(outcome)) => {
                    self.is_over = true;
                    sse::event("done", &Outcome::of(&outcome))
                }
                // Nobody asks for these over this API.
                Ok(CallEvent::Tasked(tasked)) => {
                    let server = tasked.task.server.clone();
                    self.failed(&CallError::InputNeeded { server })
                }
                Ok(CallEvent::Handed(handed)) => {
                    let server = handed.carried.server().to_owned();
                    self.failed(&CallError::InputNeeded { server })
                }
                Err(error) => self.failed(&error),
            };
            return Some(event);
        }
        None
    }

    fn failed(&mut self, error: &CallError) -> Event {
        self.is_over = true;
        sse::event("failed", &Failure::of(error, &*self.admin.0.advice))
    }
}

fn told(event: &told::Event) -> Event {
    sse::event(event.word(), event.data())
}
