//! Forwarding of a client's request to the engine, and of its events and result to the client.
//!
//! Used by `view`. It does not decide permissions (`core::dispatch`) and does not answer the gateway's own tools
//! (`gateway_tools`).

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use switchboard_core::catalog::{ListedTool, is_ui_uri};
use switchboard_core::dispatch::{CallOrigin, CallOutcome, InputRequired, PendingQuestion};
use switchboard_core::engine::QuestionQueue;
use switchboard_core::{CallError, CallEvent, Request, RunningCall};
use switchboard_wire::Era;
use switchboard_wire::client::{InputRequest, InputResponse, TaskHandling};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::{JsonEdit, Raw, decode_string, quote};
use switchboard_wire::meta::method;
use switchboard_wire::server::{HandlerReply, HandlerRequest, RequestContext};

use super::apps::{AddressedRequest, ToolCaller};
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
        caller: ToolCaller,
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
                return self.begin_task(&asked, caller, context, ttl, task);
            }
            (TaskMode::Theirs, _) => TaskHandling::Hand,
            (TaskMode::Result | TaskMode::Ours { .. }, _) => TaskHandling::Follow,
        };
        let mut request = self.request(&asked, caller, context)?.with_tasks(tasks);
        if context.version.era() == Era::Modern {
            request = request.hand_out_questions();
        }
        request = match carried {
            Some(carried) => request.resume(carried, answers),
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
                Ok(CallEvent::Done(outcome)) => return self.complete(*outcome, asked),
                Ok(CallEvent::BecameTask(tasked)) => return self.hand_out_server_task(*tasked),
                Ok(CallEvent::NeedsInput(handed)) => return self.hand_out(*handed, asked),
                Ok(CallEvent::Question(question)) if is_askable(&question, context) => {
                    return self.park(running, question, asked);
                }
                // Dropped, the question is answered with *cancel*.
                Ok(CallEvent::Question(question)) => {
                    if let Some(queue) = self.bridge().engine.queue_for(&self.opening.principal) {
                        let asking = relay_question(queue, question);
                        elsewhere.get_or_insert_default().push(asking);
                    }
                }
                Err(error) => {
                    if let Some(refused) = self.ambiguous_skill(&error, asked) {
                        return Err(refused);
                    }
                    let reply = failure_reply(&error, asked).map(HandlerReply::Complete);
                    return reply.map_err(|error| self.with_asked_address(error, asked));
                }
            }
        }
    }

    fn complete(
        &self,
        outcome: CallOutcome,
        asked: &HandlerRequest,
    ) -> Result<HandlerReply, RpcError> {
        let outcome = self.with_skill_addresses(outcome, asked);
        let server = outcome.server.clone();
        self.note_ui_read(asked, server.as_deref());
        let result = match &*asked.method {
            method::RESOURCES_READ => self.with_owner(outcome, asked),
            _ => hide_task(outcome.result),
        };
        let form = self.address_form();
        form.translate_result(&asked.method, result, server.as_deref()).map(HandlerReply::Complete)
    }

    /// An error about a resource, with the address under which the client asked for the resource.
    fn with_asked_address(&self, error: RpcError, asked: &HandlerRequest) -> RpcError {
        let form = self.address_form();
        match form.find_request(asked) {
            Some(found) => form.translate_error(error, &found.server),
            None => error,
        }
    }

    fn park(
        &self,
        running: RunningCall,
        question: PendingQuestion,
        asked: &HandlerRequest,
    ) -> Result<HandlerReply, RpcError> {
        let questions = vec![self.shown_question(&question)?];
        let ticket =
            self.bridge().parked.put(self.opening.principal.id(), ParkedCall { running, question });
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
        let questions = vec![self.shown_question(&call.question)?];
        let handle = self.seal_ticket(&HandleSubject::of(asked), ticket)?;
        self.bridge().parked.put_back(self.opening.principal.id(), ticket, call);
        Ok(HandlerReply::NeedsInput { questions, state: Some(handle) })
    }

    /// A question in the form that the client gets.
    fn shown_question(&self, question: &PendingQuestion) -> Result<InputRequest, RpcError> {
        let asked = consent::to_input_request(question);
        self.address_form().translate_question(asked, &question.server)
    }

    /// Gives the client a handle to the whole call; the bridge keeps nothing.
    fn hand_out(
        &self,
        handed: InputRequired,
        asked: &HandlerRequest,
    ) -> Result<HandlerReply, RpcError> {
        let handle = self.seal_again(&HandleSubject::of(asked), &handed.carried)?;
        let (form, server) = (self.address_form(), handed.carried.server());
        let show = |question| form.translate_question(hide_task_of(question), server);
        let questions = handed.questions.into_iter().map(show).collect::<Result<_, _>>()?;
        Ok(HandlerReply::NeedsInput { questions, state: Some(handle) })
    }

    /// Converts the client's request for the engine.
    pub(super) fn request(
        &self,
        asked: &HandlerRequest,
        caller: ToolCaller,
        context: &RequestContext,
    ) -> Result<Request, RpcError> {
        let mut request = self.request_to_server(asked, caller, context)?;
        if context.wants_progress() {
            request = request.with_progress();
        }
        if let Some(level) = context.log_level() {
            request = request.with_log_level(level);
        }
        Ok(request)
    }

    /// The request for the engine, directed to its server where the client names one.
    fn request_to_server(
        &self,
        asked: &HandlerRequest,
        caller: ToolCaller,
        context: &RequestContext,
    ) -> Result<Request, RpcError> {
        let origin = Self::origin(caller, context);
        let with = |params: Raw| Request::forward(asked.method.clone(), Some(params));
        if let Some(found) = self.find_addressed(asked)? {
            return Ok(with(found.params).from_origin(origin).of_server(found.server));
        }
        let request = with(asked.params.clone()).from_origin(origin);
        Ok(match &*asked.method {
            method::TOOLS_CALL if caller == ToolCaller::Client => {
                let request = match self.app_tool_name(asked, context)? {
                    None => request,
                    Some(name) => {
                        let name = quote(&name);
                        let params = asked.params.with_edits(&[JsonEdit::set(&["name"], &name)]);
                        let params = params.map_err(|error| invalid_params(&error.to_string()))?;
                        with(params).from_origin(CallOrigin::App)
                    }
                };
                self.aim_at_server(request)
            }
            method::SKILLS_LIST | method::SKILLS_GET | method::DIRECTORY_READ => {
                self.aim_at_skill(request, asked)?
            }
            method::RESOURCES_READ if skills::is_skill_uri(asked) => {
                self.aim_at_skill(request, asked)?
            }
            method::RESOURCES_READ => match self.resource_server(asked, context)? {
                Some(server) => request.of_server(server),
                None => self.aim_at_server(request),
            },
            extension if method::is_extension_request(extension) => {
                match self.named_server(asked)? {
                    Some(server) => request.of_server(server),
                    None => self.aim_at_server(request),
                }
            }
            _ => self.aim_at_server(request),
        })
    }

    /// The server that a request names by an address of this view, and the parameters with the server's own address.
    pub(super) fn find_addressed(
        &self,
        asked: &HandlerRequest,
    ) -> Result<Option<AddressedRequest>, RpcError> {
        if let Some(found) = self.address_form().find_request(asked) {
            let server = self.addressed_server(found.server)?;
            return Ok(Some(AddressedRequest { server, ..found }));
        }
        if let Some(found) = self.find_task(asked) {
            return Ok(Some(found));
        }
        Ok(self.requested_skill(asked).map(|address| AddressedRequest {
            params: skills::with_own_uri(&asked.params, &address),
            server: address.server,
        }))
    }

    /// The server of a resource that the client names, or that only the gateway can tell.
    fn resource_server(
        &self,
        asked: &HandlerRequest,
        context: &RequestContext,
    ) -> Result<Option<String>, RpcError> {
        if let Some(server) = self.named_server(asked)? {
            return Ok(Some(server));
        }
        match requested_name(asked)? {
            Some(uri) if is_ui_uri(&uri) => self.bare_ui_server(&uri, &self.caller(context)?),
            _ => Ok(None),
        }
    }

    /// The tool that the client calls `name`, if it is known.
    pub(super) fn find_tool(
        &self,
        name: &str,
        context: &RequestContext,
    ) -> Option<Arc<ListedTool>> {
        let bridge = self.bridge();
        let catalog = bridge.engine.catalog_of(&self.caller(context).ok()?)?;
        let found = catalog.names(bridge.options.names).tool(name).cloned();
        found.or_else(|| self.find_app_tool(name, context).ok().flatten())
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
    consent::can_be_asked(&question.about, context)
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

pub(super) fn invalid_params(reason: &str) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, reason)
}
