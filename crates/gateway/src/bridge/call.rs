//! A client's request on its way through the engine, and back.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use switchboard_core::catalog::Listed;
use switchboard_core::dispatch::{Handed, Outcome, Question};
use switchboard_core::engine::Queue;
use switchboard_core::{CallError, CallEvent, Request, Running};
use switchboard_wire::Era;
use switchboard_wire::client::Tasks;
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::{Raw, decode_string};
use switchboard_wire::meta::method;
use switchboard_wire::server::{Asked, Context, Reply};

use super::handle::{Held, Wanted};
use super::parked::{Call, Ticket};
use super::tasks::{Wish, hide_task, hide_task_in, hide_task_of};
use super::view::View;
use super::{consent, refusal, skills};

// === impl View ===

impl View {
    /// Forwards a request, or goes on with one that asked something.
    pub(super) async fn forward(
        &self,
        mut asked: Asked,
        context: &Context,
    ) -> Result<Reply, RpcError> {
        let answers = std::mem::take(&mut asked.answers);
        let held = match &asked.state {
            Some(handle) => Some(self.unseal(&Wanted::of(&asked), handle)?),
            None => None,
        };
        let carried = match held {
            Some(Held::Call(call, ticket)) => {
                let Some(answer) = consent::find_answer(answers) else {
                    return self.ask_again(*call, &ticket, &asked);
                };
                consent::answer_with(call.question, answer);
                return self.follow(call.running, &asked, context).await;
            }
            Some(Held::Again(carried)) => Some(*carried),
            None => None,
        };
        let tasks = match (self.wish(&asked, context), &carried) {
            (Wish::Ours { ttl, task }, None) => {
                return self.begin_task(&asked, context, ttl, task);
            }
            (Wish::Theirs, _) => Tasks::Hand,
            (Wish::Result | Wish::Ours { .. }, _) => Tasks::Follow,
        };
        let mut request = self.request(&asked, context)?.with_tasks(tasks);
        if context.version.era() == Era::Modern {
            request = request.handing_out();
        }
        request = match carried {
            Some(carried) => request.again(carried, answers),
            None => request.answering(answers),
        };
        let running = self.bridge().engine.call(&self.caller(context)?, request);
        self.follow(running, &asked, context).await
    }

    async fn follow(
        &self,
        mut running: Running,
        asked: &Asked,
        context: &Context,
    ) -> Result<Reply, RpcError> {
        // Questions that this client cannot be asked, with whoever watches the queue.
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
                Ok(CallEvent::Tasked(tasked)) => return self.hand_task(*tasked),
                Ok(CallEvent::Handed(handed)) => return self.hand_out(*handed, asked),
                Ok(CallEvent::Question(question)) if is_askable(&question, context) => {
                    return self.park(running, question, asked);
                }
                Ok(CallEvent::Question(question)) => {
                    let queue = self.bridge().engine.queue().clone();
                    elsewhere.get_or_insert_default().push(relayed(queue, question));
                }
                Err(error) => return refused(&error, asked).map(Reply::Complete),
            }
        }
    }

    fn complete(&self, outcome: Outcome, asked: &Asked) -> Reply {
        match &*asked.method {
            method::RESOURCES_READ => Reply::Complete(self.with_owner(outcome, asked)),
            _ => Reply::Complete(hide_task(outcome.result)),
        }
    }

    fn park(&self, running: Running, question: Question, asked: &Asked) -> Result<Reply, RpcError> {
        let questions = vec![consent::asked(&question.about)];
        let ticket = self.bridge().parked.put(Call { running, question });
        let handle = self.seal_ticket(&Wanted::of(asked), &ticket)?;
        Ok(Reply::NeedsInput { questions, state: Some(handle) })
    }

    /// Asks a client once more that came back for a call without the answer to its question.
    fn ask_again(&self, call: Call, ticket: &Ticket, asked: &Asked) -> Result<Reply, RpcError> {
        let questions = vec![consent::asked(&call.question.about)];
        let handle = self.seal_ticket(&Wanted::of(asked), ticket)?;
        self.bridge().parked.put_back(ticket, call);
        Ok(Reply::NeedsInput { questions, state: Some(handle) })
    }

    /// Gives the client everything: nothing of the call is kept here.
    fn hand_out(&self, handed: Handed, asked: &Asked) -> Result<Reply, RpcError> {
        let handle = self.seal_again(&Wanted::of(asked), &handed.carried)?;
        let questions = handed.questions.into_iter().map(hide_task_of).collect();
        Ok(Reply::NeedsInput { questions, state: Some(handle) })
    }

    /// The client's request, for the engine.
    pub(super) fn request(&self, asked: &Asked, context: &Context) -> Result<Request, RpcError> {
        let mut request = Request::forward(asked.method.clone(), Some(asked.params.clone()));
        if context.wants_progress() {
            request = request.with_progress();
        }
        if let Some(level) = context.log_level() {
            request = request.with_log_level(level);
        }
        Ok(match &*asked.method {
            method::SKILLS_LIST | method::SKILLS_GET | method::DIRECTORY_READ => {
                request.of_server(self.skilled().ok_or_else(|| unknown(&asked.method))?)
            }
            method::RESOURCES_READ if skills::is_file(asked) => match self.skilled() {
                Some(server) => request.of_server(server),
                None => self.aimed(request),
            },
            method::RESOURCES_READ => match self.named_server(asked)? {
                Some(server) => request.of_server(server),
                None => self.aimed(request),
            },
            _ => self.aimed(request),
        })
    }

    /// The tool that the client calls `name`, if it is known yet.
    pub(super) fn listed(&self, name: &str, context: &Context) -> Option<Arc<Listed>> {
        let bridge = self.bridge();
        let catalog = bridge.engine.catalog_of(&self.caller(context).ok()?)?;
        catalog.named(bridge.options.names).tool(name).cloned()
    }
}

/// Where a request says what it asks for by name, if it does.
fn name_of(asked: &str) -> Option<&'static [&'static str]> {
    match asked {
        method::TOOLS_CALL | method::PROMPTS_GET => Some(&["name"]),
        method::COMPLETE => Some(&["ref", "name"]),
        _ => None,
    }
}

/// What a request asks for, as its client calls it: the name of a tool or prompt, the address of a resource.
pub(super) fn wanted(asked: &Asked) -> Result<Option<String>, RpcError> {
    let path = match &*asked.method {
        method::RESOURCES_READ => Some(["uri"].as_slice()),
        other => name_of(other),
    };
    let Some(path) = path else { return Ok(None) };
    let found = asked.params.peek(path).map_err(|error| invalid(&error.to_string()))?;
    Ok(found.and_then(decode_string).map(Cow::into_owned))
}

/// Has somebody else answer a question. Apart, since it is rare and would make every call larger.
fn relayed(queue: Queue, question: Question) -> BoxFuture<'static, ()> {
    Box::pin(async move { queue.relay(question).await })
}

/// Whether the client can be asked it.
fn is_askable(question: &Question, context: &Context) -> bool {
    consent::can_be_asked(&question.about, |path| context.offers(path))
}

fn refused(error: &CallError, asked: &Asked) -> Result<Raw, RpcError> {
    match error {
        CallError::NotFound { name, .. } if asked.method == method::RESOURCES_READ => {
            Err(refusal::no_resource(name))
        }
        CallError::UnmentionedResource { uri, servers } => {
            Err(refusal::unmentioned_resource(error, uri, servers))
        }
        // Only the result of a tool can say it to a model.
        CallError::PageNeeded { .. } if asked.method != method::TOOLS_CALL => {
            Err(refusal::error(error))
        }
        error => refusal::reply(error),
    }
}

fn unknown(asked: &str) -> RpcError {
    RpcError::new(code::METHOD_NOT_FOUND, format!("Method not found: {asked}"))
}

pub(super) fn invalid(reason: &str) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, reason)
}
