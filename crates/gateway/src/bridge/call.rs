//! A client's request on its way through the engine, and back.

use switchboard_core::catalog::Style;
use switchboard_core::dispatch::Question;
use switchboard_core::{CallError, CallEvent, Request, Running};
use switchboard_wire::envelope::{Id, Request as Envelope, RpcError, code};
use switchboard_wire::json::{Edit, Raw, quote};
use switchboard_wire::meta::method;
use switchboard_wire::server::{Asked, Context, Reply};

use super::parked::{Bound, Call};
use super::view::View;
use super::{consent, refusal};

// === impl View ===

impl View {
    /// Forwards a request, or goes on with one that was parked.
    pub(super) async fn forward(
        &self,
        mut asked: Asked,
        context: &Context,
    ) -> Result<Reply, RpcError> {
        let running = match &asked.state {
            Some(handle) => {
                let bound = Bound::of(&self.opening.principal, &asked);
                let parked = self.bridge().parked.take(handle, &bound).ok_or_else(gone)?;
                consent::answer(parked.question, std::mem::take(&mut asked.answers));
                parked.running
            }
            None => {
                let caller = self.caller(context)?;
                let request = self.request(&asked, context)?;
                self.bridge().engine.call(&caller, request)
            }
        };
        self.follow(running, &asked, context).await
    }

    async fn follow(
        &self,
        mut running: Running,
        asked: &Asked,
        context: &Context,
    ) -> Result<Reply, RpcError> {
        loop {
            match running.next().await {
                Ok(CallEvent::Progress(params)) => context.progress(&params).await,
                Ok(CallEvent::Log(params)) => context.log(&params).await,
                Ok(CallEvent::Notification(notification)) => context.notify(&notification).await,
                Ok(CallEvent::Task(_)) => {}
                Ok(CallEvent::Done(outcome)) => return Ok(Reply::Complete(outcome.result)),
                Ok(CallEvent::Question(question)) => {
                    if let Some(question) = askable(question, context) {
                        return self.park(running, question, asked);
                    }
                }
                Err(error) => return Err(refused(&error, asked)),
            }
        }
    }

    fn park(&self, running: Running, question: Question, asked: &Asked) -> Result<Reply, RpcError> {
        let bound = Bound::of(&self.opening.principal, asked);
        let questions = vec![consent::asked(&question.about)];
        let handle = self.bridge().parked.put(bound, Call { running, question });
        let handle = handle.map_err(|error| {
            RpcError::new(code::INTERNAL_ERROR, format!("the call cannot wait: {error}"))
        })?;
        Ok(Reply::NeedsInput { questions, state: Some(handle) })
    }

    /// The request with names as the engine knows them.
    fn request(&self, asked: &Asked, context: &Context) -> Result<Request, RpcError> {
        let params = self.renamed(asked)?;
        let envelope = Envelope::new(&Id::number(0), &asked.method, Some(&params));
        let mut request = Request::forward(envelope);
        if context.wants_progress() {
            request = request.with_progress();
        }
        if let Some(level) = context.log_level() {
            request = request.with_log_level(level);
        }
        Ok(match asked.method.as_str() {
            // The name says whose these are.
            method::TOOLS_CALL | method::PROMPTS_GET => request,
            _ => self.aimed(request),
        })
    }

    fn renamed(&self, asked: &Asked) -> Result<Raw, RpcError> {
        let path: &[&str] = match asked.method.as_str() {
            method::TOOLS_CALL | method::PROMPTS_GET => &["name"],
            method::COMPLETE => &["ref", "name"],
            _ => return Ok(asked.params.clone()),
        };
        let named = asked.params.get_path(path).map_err(|error| invalid(&error.to_string()))?;
        let Some(name) = named.and_then(|name| name.to_text()) else {
            return Ok(asked.params.clone());
        };
        let full = quote(&self.full_name(&name, &asked.method));
        asked.params.with(&[Edit::set(path, &full)]).map_err(|error| invalid(&error.to_string()))
    }

    /// The engine's name for what the client calls `name`. One that nobody has is left as it is, to be told of.
    fn full_name(&self, name: &str, asked: &str) -> String {
        let bridge = self.bridge();
        let style = bridge.options.names;
        if style == Style::Full {
            return name.to_owned();
        }
        let Some(catalog) = bridge.engine.catalog(&bridge.workspace) else {
            return name.to_owned();
        };
        let named = catalog.named(style);
        let full = match asked {
            method::TOOLS_CALL => named.tool(name).map(|listed| listed.name.clone()),
            _ => named.prompt(name).map(|listed| listed.name.clone()),
        };
        full.unwrap_or_else(|| match style {
            // A server that has not said yet what it offers may have it.
            Style::Gateway => format!("mcp__{name}"),
            _ => name.to_owned(),
        })
    }
}

/// The question, if the client can be asked it; else it is dropped, which cancels it.
fn askable(question: Question, context: &Context) -> Option<Question> {
    consent::can_be_asked(&question.about, |path| context.offers(path)).then_some(question)
}

fn refused(error: &CallError, asked: &Asked) -> RpcError {
    match error {
        CallError::NotFound { name, .. } if asked.method == method::RESOURCES_READ => {
            refusal::no_resource(name)
        }
        error => refusal::error(error),
    }
}

fn gone() -> RpcError {
    invalid("this `requestState` was used, has expired, or belongs to another request")
}

fn invalid(reason: &str) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, reason)
}
