//! Forwarding of a client's request to the engine, and of its events and result to the client.
//!
//! Used by `view`. It does not decide permissions (`core::dispatch`) and does not answer the gateway's own tools
//! (`gateway_tools`).

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use switchboard_core::catalog::ListedTool;
use switchboard_core::dispatch::{CallOutcome, InputRequired, PendingQuestion};
use switchboard_core::engine::QuestionQueue;
use switchboard_core::{CallError, CallEvent, Request, RunningCall};
use switchboard_wire::Era;
use switchboard_wire::client::{InputResponse, TaskHandling};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::{Raw, decode_string};
use switchboard_wire::meta::method;
use switchboard_wire::server::{HandlerReply, HandlerRequest, RequestContext};

use super::handle::{HandleContent, HandleSubject};
use super::parked::{CallTicket, ParkedCall};
use super::tasks::{TaskMode, hide_task, hide_task_in, hide_task_of};
use super::view::BridgeView;
use super::{consent, refusal, skills};

// === impl BridgeView ===

impl BridgeView {
    /// Forwards a request, or continues one that asked a question.
    pub(super) async fn forward(
        &self,
        mut asked: HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        let answers = std::mem::take(&mut asked.answers);
        let held = match &asked.state {
            Some(handle) => Some(self.unseal(&HandleSubject::of(&asked), handle)?),
            None => None,
        };
        let carried = match held {
            Some(HandleContent::Call(call, ticket)) => {
                // A legacy client's answer is final: if it were asked again, it could repeat an unusable answer
                // forever.
                let is_usable = |answer: &InputResponse| {
                    context.version.era() == Era::Legacy
                        || consent::is_usable(&call.question.about, answer)
                };
                let Some(answer) = consent::find_answer(answers).filter(is_usable) else {
                    return self.ask_again(*call, &ticket, &asked);
                };
                consent::answer_with(call.question, answer);
                return self.follow(call.running, &asked, context).await;
            }
            Some(HandleContent::Again(carried)) => Some(*carried),
            None => None,
        };
        let tasks = match (self.task_mode(&asked, context), &carried) {
            (TaskMode::Ours { ttl, task }, None) => {
                return self.begin_task(&asked, context, ttl, task);
            }
            (TaskMode::Theirs, _) => TaskHandling::Hand,
            (TaskMode::Result | TaskMode::Ours { .. }, _) => TaskHandling::Follow,
        };
        let mut request = self.request(&asked, context)?.with_tasks(tasks);
        if context.version.era() == Era::Modern {
            request = request.returning_questions();
        }
        request = match carried {
            Some(carried) => request.resuming(carried, answers),
            None => request.with_answers(answers),
        };
        let running = self.bridge().engine.call(&self.caller(context)?, request);
        self.follow(running, &asked, context).await
    }

    async fn follow(
        &self,
        mut running: RunningCall,
        asked: &HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        // Questions that this client cannot show, waiting in the question queue.
        let mut elsewhere: Option<FuturesUnordered<_>> = None;
        loop {
            let event = match &mut elsewhere {
                None => running.next().await,
                Some(asked) => tokio::select! {
                    event = running.next() => event,
                    Some(()) = asked.next(), if !asked.is_empty() => continue,
                },
            };
            match event {
                Ok(CallEvent::Progress(params)) => context.progress(&hide_task(params)).await,
                Ok(CallEvent::Log(params)) => context.log(&hide_task(params)).await,
                Ok(CallEvent::Notification(notification)) => {
                    context.notify(&hide_task_in(notification)).await;
                }
                Ok(CallEvent::Task(_)) => {}
                Ok(CallEvent::Done(outcome)) => return Ok(self.complete(*outcome, asked)),
                Ok(CallEvent::Tasked(tasked)) => return self.hand_out_server_task(*tasked),
                Ok(CallEvent::Handed(handed)) => return self.hand_out(*handed, asked),
                Ok(CallEvent::Question(question)) if is_askable(&question, context) => {
                    return self.park(running, question, asked);
                }
                Ok(CallEvent::Question(question)) => {
                    let queue = self.bridge().engine.queue().clone();
                    elsewhere.get_or_insert_default().push(relay_question(queue, question));
                }
                Err(error) => return failure_reply(&error, asked).map(HandlerReply::Complete),
            }
        }
    }

    fn complete(&self, outcome: CallOutcome, asked: &HandlerRequest) -> HandlerReply {
        match &*asked.method {
            method::RESOURCES_READ => HandlerReply::Complete(self.with_owner(outcome, asked)),
            _ => HandlerReply::Complete(hide_task(outcome.result)),
        }
    }

    fn park(
        &self,
        running: RunningCall,
        question: PendingQuestion,
        asked: &HandlerRequest,
    ) -> Result<HandlerReply, RpcError> {
        let questions = vec![consent::to_input_request(&question.about)];
        let ticket = self.bridge().parked.put(ParkedCall { running, question });
        let handle = self.seal_ticket(&HandleSubject::of(asked), &ticket)?;
        Ok(HandlerReply::NeedsInput { questions, state: Some(handle) })
    }

    /// Repeats the question to a client that returned without an answer, or with an unusable one.
    fn ask_again(
        &self,
        call: ParkedCall,
        ticket: &CallTicket,
        asked: &HandlerRequest,
    ) -> Result<HandlerReply, RpcError> {
        let questions = vec![consent::to_input_request(&call.question.about)];
        let handle = self.seal_ticket(&HandleSubject::of(asked), ticket)?;
        self.bridge().parked.put_back(ticket, call);
        Ok(HandlerReply::NeedsInput { questions, state: Some(handle) })
    }

    /// Gives the client a handle to the whole call; the bridge keeps nothing.
    fn hand_out(
        &self,
        handed: InputRequired,
        asked: &HandlerRequest,
    ) -> Result<HandlerReply, RpcError> {
        let handle = self.seal_again(&HandleSubject::of(asked), &handed.carried)?;
        let questions = handed.questions.into_iter().map(hide_task_of).collect();
        Ok(HandlerReply::NeedsInput { questions, state: Some(handle) })
    }

    /// Converts the client's request for the engine.
    pub(super) fn request(
        &self,
        asked: &HandlerRequest,
        context: &RequestContext,
    ) -> Result<Request, RpcError> {
        let mut request = Request::forward(asked.method.clone(), Some(asked.params.clone()));
        if context.wants_progress() {
            request = request.with_progress();
        }
        if let Some(level) = context.log_level() {
            request = request.with_log_level(level);
        }
        Ok(match &*asked.method {
            method::SKILLS_LIST | method::SKILLS_GET | method::DIRECTORY_READ => request
                .of_server(self.skills_server().ok_or_else(|| unknown_name_error(&asked.method))?),
            method::RESOURCES_READ if skills::is_file(asked) => match self.skills_server() {
                Some(server) => request.of_server(server),
                None => self.aim_at_server(request),
            },
            method::RESOURCES_READ => match self.named_server(asked)? {
                Some(server) => request.of_server(server),
                None => self.aim_at_server(request),
            },
            _ => self.aim_at_server(request),
        })
    }

    /// The tool that the client calls `name`, if it is known.
    pub(super) fn find_tool(
        &self,
        name: &str,
        context: &RequestContext,
    ) -> Option<Arc<ListedTool>> {
        let bridge = self.bridge();
        let catalog = bridge.engine.catalog_of(&self.caller(context).ok()?)?;
        catalog.names(bridge.options.names).tool(name).cloned()
    }
}

/// The path of the member that names the tool, prompt or resource of a request.
fn name_path(asked: &str) -> Option<&'static [&'static str]> {
    match asked {
        method::TOOLS_CALL | method::PROMPTS_GET => Some(&["name"]),
        method::COMPLETE => Some(&["ref", "name"]),
        _ => None,
    }
}

/// The name of the requested tool or prompt, or the URI of the resource, as the client calls it.
pub(super) fn requested_name(asked: &HandlerRequest) -> Result<Option<String>, RpcError> {
    let path = match &*asked.method {
        method::RESOURCES_READ => Some(["uri"].as_slice()),
        other => name_path(other),
    };
    let Some(path) = path else { return Ok(None) };
    let found = asked.params.peek_path(path).map_err(|error| invalid_params(&error.to_string()))?;
    Ok(found.and_then(decode_string).map(Cow::into_owned))
}

/// Puts a question into the question queue. Boxed, since it is rare and would make the future of every call larger.
fn relay_question(queue: QuestionQueue, question: PendingQuestion) -> BoxFuture<'static, ()> {
    Box::pin(async move { queue.relay(question).await })
}

/// Whether the client can show the question.
fn is_askable(question: &PendingQuestion, context: &RequestContext) -> bool {
    consent::can_be_asked(&question.about, |path| context.has_capability(path))
}

fn failure_reply(error: &CallError, asked: &HandlerRequest) -> Result<Raw, RpcError> {
    match error {
        CallError::NotFound { .. } if asked.method == method::RESOURCES_READ => {
            Err(refusal::of_resource(error))
        }
        CallError::UnmentionedResource { .. } => Err(refusal::of_resource(error)),
        // Only a tool result reaches the model.
        CallError::PageNeeded { .. } if asked.method != method::TOOLS_CALL => {
            Err(refusal::to_rpc_error(error))
        }
        error => refusal::to_reply(error),
    }
}

fn unknown_name_error(asked: &str) -> RpcError {
    RpcError::new(code::METHOD_NOT_FOUND, format!("Method not found: {asked}"))
}

pub(super) fn invalid_params(reason: &str) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, reason)
}
