//! The MCP server of all plugins: answers lists, calls, prompts, resources, completion and tasks.
//!
//! Used by `plugins` as the `ServerHandler`. It does not choose workers (`slot`) and does not check who may
//! call (`switchboard_core`).

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;
use switchboard_plugin_sdk::abi::v2::TASK;
use switchboard_wire::{
    Era,
    client::ListKind,
    envelope::{Id, Notification, RpcError, code},
    json::{JsonKind, Raw},
    meta::method,
    server::{
        ClientFacts, HandlerReply, HandlerRequest, RequestContext, ServerDescription,
        ServerHandler, SubscribedResource,
    },
};

use crate::{
    call::{WorkerCall, WorkerCallEvent, WorkerCallStep},
    catalog::ItemRef,
    fault::PluginFault,
    normalize,
    parked::ParkedWorkerCall,
    plugins::{Inner, PluginServer},
    question::WorkerQuestion,
    slot::PluginSlot,
    tasks::{self, DetachedCall},
};

impl ServerHandler for PluginServer {
    fn describe(&self) -> ServerDescription {
        let catalog = self.inner.catalog();
        let mut capabilities = json!({
            "tools": { "listChanged": true },
            "prompts": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
            "completions": {},
            "logging": {},
        });
        if !catalog.extensions.is_empty() {
            capabilities["extensions"] = json!(catalog.extensions);
        }
        ServerDescription {
            info: self.info(),
            capabilities: Raw::from(&capabilities),
            instructions: catalog.instructions.clone(),
        }
    }

    fn info(&self) -> Raw {
        self.inner.info.clone()
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        context: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(self.inner.answer(asked, context))
    }

    fn subscribe<'a>(
        &'a self,
        resource: &'a SubscribedResource,
        on: bool,
        _: &'a ClientFacts,
    ) -> BoxFuture<'a, Result<(), RpcError>> {
        let done = if on {
            self.inner.subscribe(&resource.uri)
        } else {
            self.inner.unsubscribe(&resource.uri);
            Ok(())
        };
        Box::pin(std::future::ready(done))
    }

    fn on_abandoned(&self, asked: &HandlerRequest) {
        let waiting = asked.state.as_ref().and_then(|ticket| self.inner.parked.take(ticket));
        // Dropping the parked call cancels it.
        drop(waiting);
    }
}

impl Inner {
    async fn answer(
        &self,
        asked: HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        if let Some(ticket) = &asked.state {
            return self.resume(&asked, ticket, context).await;
        }
        let list = |list| Ok(HandlerReply::Complete(self.catalog().list(list)));
        match &*asked.method {
            method::TOOLS_LIST => list(ListKind::Tools),
            method::PROMPTS_LIST => list(ListKind::Prompts),
            method::RESOURCES_LIST => list(ListKind::Resources),
            method::TEMPLATES_LIST => list(ListKind::Templates),
            method::TOOLS_CALL => self.call_tool(&asked, context).await,
            method::PROMPTS_GET => self.get_prompt(&asked, context).await,
            method::RESOURCES_READ => self.read(&asked, context).await,
            method::COMPLETE => self.complete(&asked, context).await,
            method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL
                if context.version.era() == Era::Modern && self.catalog().has_tasks() =>
            {
                self.tasks.answer(&asked, context)
            }
            other => {
                let place = self.catalog().method(other).cloned();
                let place = place.ok_or_else(|| {
                    RpcError::new(code::METHOD_NOT_FOUND, format!("Method not found: {other}"))
                })?;
                self.run(&place, &asked, context).await
            }
        }
    }

    async fn call_tool(
        &self,
        asked: &HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        let name = text_param(&asked.params, &["name"])?;
        let place = self.catalog().tool(&name).cloned();
        let place = place.ok_or_else(|| invalid_params(format!("there is no tool `{name}`")))?;
        let arguments = arguments(&asked.params)?.unwrap_or_else(Raw::empty_object);
        if let Err(mistakes) = place.tool().validator.validate(&arguments) {
            // The mistakes go to the model as a tool result, so that it can correct the call.
            let said = json!([{ "type": "text", "text": mistakes.to_string() }]);
            return Ok(HandlerReply::Complete(Raw::from(
                &json!({ "content": said, "isError": true }),
            )));
        }
        self.run(&place, asked, context).await
    }

    async fn get_prompt(
        &self,
        asked: &HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        let name = text_param(&asked.params, &["name"])?;
        let place = self.catalog().prompt(&name).cloned();
        let place = place.ok_or_else(|| invalid_params(format!("there is no prompt `{name}`")))?;
        let arguments = arguments(&asked.params)?.unwrap_or_else(Raw::empty_object);
        for wanted in &place.prompt().required {
            let given = arguments.get(wanted).ok().flatten();
            if given.is_none_or(|given| given.kind() != JsonKind::String) {
                return Err(invalid_params(format!("argument `{wanted}` must be a string")));
            }
        }
        self.run(&place, asked, context).await
    }

    async fn read(
        &self,
        asked: &HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        let uri = text_param(&asked.params, &["uri"])?;
        let place = self.catalog().resource(&uri).cloned();
        let place = place.ok_or_else(|| no_resource(&uri))?;
        self.run(&place, asked, context).await
    }

    async fn complete(
        &self,
        asked: &HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        let kind = text_param(&asked.params, &["ref", "type"])?;
        text_param(&asked.params, &["argument", "name"])?;
        text_param(&asked.params, &["argument", "value"])?;
        let catalog = self.catalog();
        let place = match kind.as_str() {
            "ref/prompt" => {
                let name = text_param(&asked.params, &["ref", "name"])?;
                let place = catalog.prompt(&name);
                place.ok_or_else(|| invalid_params(format!("there is no prompt `{name}`")))?
            }
            "ref/resource" => {
                let uri = text_param(&asked.params, &["ref", "uri"])?;
                catalog.template(&uri).ok_or_else(|| no_resource(&uri))?
            }
            _ => {
                return Err(invalid_params("`ref` must be of type `ref/prompt` or `ref/resource`"));
            }
        };
        if !place.offer.completions {
            let none = json!({ "completion": { "values": [], "total": 0, "hasMore": false } });
            return Ok(HandlerReply::Complete(Raw::from(&none)));
        }
        self.run(&place.clone(), asked, context).await
    }

    /// Calls a plugin, and follows the call.
    async fn run(
        &self,
        place: &ItemRef,
        asked: &HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        let name = &place.offer.name;
        let call = place.slot.call(&asked.method, &asked.params, &self.host).await;
        let call = call.map_err(|fault| fault.to_rpc(name))?;
        self.follow(call, place.clone(), asked, context).await
    }

    /// Follows a call until it ends or asks a question.
    async fn follow(
        &self,
        mut call: WorkerCall,
        place: ItemRef,
        asked: &HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        loop {
            let next = tokio::time::timeout(place.slot.call_timeout(), call.next()).await;
            match next.unwrap_or_else(|_| WorkerCallStep::Gone(hung_fault(&call, &place.slot))) {
                WorkerCallStep::Event(WorkerCallEvent::Note { method, params }) => {
                    forward_notification(&method, &params, context).await;
                }
                WorkerCallStep::Event(WorkerCallEvent::Ask { id, method, .. })
                    if method == TASK =>
                {
                    if let Some(refusal) = tasks::refusal(asked, context) {
                        call.answer(&id, Err(refusal)).await;
                        continue;
                    }
                    return self.detach(call, &id, place, context).await;
                }
                WorkerCallStep::Event(WorkerCallEvent::Ask { id, method, params }) => {
                    let mut question =
                        WorkerQuestion::new(id, method, params, &context.capabilities);
                    // A client may send answers along with its first request.
                    if asked.state.is_none() {
                        question.apply_early_answers(&asked.answers);
                    }
                    match self.ask(call, question, &place).await {
                        QuestionStep::Question(reply) => return Ok(reply),
                        QuestionStep::Answered(back) => call = *back,
                    }
                }
                WorkerCallStep::Done(outcome) => {
                    let result = outcome?;
                    return Ok(HandlerReply::Complete(normalize::normalize_result(
                        place.offer.abi,
                        &asked.method,
                        result,
                    )));
                }
                WorkerCallStep::Gone(fault) => return Err(fault.to_rpc(&place.offer.name)),
            }
        }
    }

    /// Turns a call into a task: the client gets a handle, and the plugin continues.
    async fn detach(
        &self,
        call: WorkerCall,
        id: &Id,
        place: ItemRef,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        call.answer(id, Ok(Raw::empty_object())).await;
        let detached = DetachedCall {
            call,
            place,
            capabilities: context.capabilities.clone(),
            patience: self.host.options.times.question,
        };
        let full = || RpcError::new(code::INTERNAL_ERROR, "there are too many tasks; try again");
        self.tasks.begin(detached).map(HandlerReply::Complete).ok_or_else(full)
    }

    /// Parks a call until its client answers. Answers at once if no question is open.
    async fn ask(
        &self,
        call: WorkerCall,
        question: WorkerQuestion,
        place: &ItemRef,
    ) -> QuestionStep {
        let open = question.unanswered();
        if open.is_empty() {
            call.answer(&question.id.clone(), question.into_answer()).await;
            return QuestionStep::Answered(Box::new(call));
        }
        let waiting = ParkedWorkerCall::new(call, question, place.clone());
        match self.parked.put(waiting) {
            Ok(ticket) => QuestionStep::Question(HandlerReply::NeedsInput {
                questions: open,
                state: Some(ticket),
            }),
            Err(waiting) => {
                let ParkedWorkerCall { call, question, .. } = *waiting;
                let refusal = RpcError::new(code::INTERNAL_ERROR, "too many calls wait");
                call.answer(&question.id, Err(refusal)).await;
                QuestionStep::Answered(Box::new(call))
            }
        }
    }

    async fn resume(
        &self,
        asked: &HandlerRequest,
        ticket: &Raw,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        let waiting = self.parked.take(ticket);
        let waiting = waiting
            .ok_or_else(|| invalid_params("nothing waits under this `requestState`; call again"))?;
        let ParkedWorkerCall { call, mut question, place, .. } = waiting;
        question.apply_answers(&asked.answers);
        match self.ask(call, question, &place).await {
            QuestionStep::Question(reply) => Ok(reply),
            QuestionStep::Answered(call) => self.follow(*call, place, asked, context).await,
        }
    }
}

/// The state of a question.
enum QuestionStep {
    /// The client gets the question.
    Question(HandlerReply),
    /// The plugin has its answer, and continues.
    Answered(Box<WorkerCall>),
}

/// Returns the fault of a call that timed out, and retires its worker.
pub(crate) fn hung_fault(call: &WorkerCall, slot: &PluginSlot) -> PluginFault {
    let fault = PluginFault::Hung(slot.call_timeout());
    if slot.workers().any(|worker| Arc::ptr_eq(&worker, &call.worker)) {
        slot.retire(&call.worker, fault.clone());
    }
    fault
}

/// Forwards a notification about a call to the client that made the call.
async fn forward_notification(told: &str, params: &Raw, context: &RequestContext) {
    match told {
        method::PROGRESS => context.progress(params).await,
        method::LOG => context.log(params).await,
        other => context.notify(&Notification::new(other, Some(params))).await,
    }
}

pub(crate) fn text_param(params: &Raw, path: &[&str]) -> Result<String, RpcError> {
    let value = params.get_path(path).map_err(|error| invalid_params(error.to_string()))?;
    let wrong = || invalid_params(format!("`{}` must be a string", path.join(".")));
    value.and_then(|value| value.to_text()).ok_or_else(wrong)
}

fn arguments(params: &Raw) -> Result<Option<Raw>, RpcError> {
    let arguments = params.get("arguments").map_err(|error| invalid_params(error.to_string()))?;
    match arguments {
        Some(arguments) if arguments.kind() == JsonKind::Object => Ok(Some(arguments)),
        Some(arguments) if arguments.kind() != JsonKind::Null => {
            Err(invalid_params("`arguments` must be an object"))
        }
        _ => Ok(None),
    }
}

pub(crate) fn invalid_params(text: impl Into<String>) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, text)
}

pub(crate) fn no_resource(uri: &str) -> RpcError {
    RpcError::new(code::RESOURCE_NOT_FOUND, format!("there is no resource `{uri}`"))
        .with_data(Raw::from(&json!({ "uri": uri })))
}
