//! Requests of modern clients: metadata with each request, `server/discover`,
//! `subscriptions/listen`, calls.
//!
//! Used by `session`, which dispatches by era. It does not render results (`render`) and sends no
//! questions as requests (`legacy` does).

use std::sync::Arc;

use super::{
    ChangeNotification, ClientFacts, HandlerReply, HandlerRequest, HandlerSession, RequestContext,
    ServerHandler, SourceFilter, SourcedChange, SubscribedResource,
    context::LogSeverity,
    legacy::{can_be_asked, capability, unknown_method_error},
    render,
    resource_subscription::ResourceSubscription,
    session::RequestParams,
};
use crate::{
    Era, Version,
    client::{InputRequest, InputResponse, ListKind},
    envelope::{Id, Notification, Request, RpcError, code},
    json::{JsonKind, Raw, Rope},
    meta::{self, method},
};

/// The most unknown names of one `subscriptions/listen` request that are noted.
const MAX_UNKNOWN_NAMES: usize = 16;

/// The notifications that an open `subscriptions/listen` request wants.
#[derive(Debug, Clone)]
pub(super) struct ListenFilter {
    /// The id of the request, which tags every notification.
    pub(super) tag: Raw,
    lists: Vec<ListKind>,
    resources: Vec<String>,
    /// The sources that the request hears of; absent: all that the session hears of.
    hears: Option<SourceFilter>,
}

pub(super) async fn dispatch<H: ServerHandler>(
    session: &Arc<HandlerSession<H>>,
    request: &Request,
    asked: &str,
    params: RequestParams,
    version: &Raw,
) -> Result<Rope, RpcError> {
    let version = parse_modern_version(version)?;
    let context = context(&params, version)?;
    let result = match asked {
        method::DISCOVER => Ok(Box::pin(discover_result(session, &context)).await),
        method::LISTEN => Box::pin(listen(session, &request.id(), &params.all, &context)).await,
        method::INITIALIZE
        | method::PING
        | method::SET_LEVEL
        | method::RESOURCES_SUBSCRIBE
        | method::RESOURCES_UNSUBSCRIBE => Err(unknown_method_error(asked)),
        _ => return call(session, asked, params.all, &context).await,
    };
    session.render(version, asked, result)
}

/// The facts that a modern client states in the `_meta` of a message.
pub(super) fn stated_facts(params: &Raw) -> Option<ClientFacts> {
    let own = params.get("_meta").ok().flatten()?;
    let member = |key: &str| own.get(key).ok().flatten();
    let version = parse_modern_version(&member(meta::PROTOCOL_VERSION)?).ok()?;
    let capabilities = member(meta::CLIENT_CAPABILITIES)
        .filter(|capabilities| capabilities.kind() == JsonKind::Object)?;
    Some(ClientFacts { version, client_info: member(meta::CLIENT_INFO), capabilities })
}

fn parse_modern_version(version: &Raw) -> Result<Version, RpcError> {
    let text = version.to_text().ok_or_else(|| {
        RpcError::new(
            code::INVALID_PARAMS,
            format!("`{}` must be a string", meta::PROTOCOL_VERSION),
        )
    })?;
    match text.parse::<Version>() {
        Ok(version) if version.era() == Era::Modern => Ok(version),
        _ => Err(render::unsupported_version(&text)),
    }
}

fn context(params: &RequestParams, version: Version) -> Result<RequestContext, RpcError> {
    let invalid = |text: String| RpcError::new(code::INVALID_PARAMS, text);
    let member = |key: &str| params.meta.get(key).ok().flatten();
    let capabilities = member(meta::CLIENT_CAPABILITIES)
        .filter(|capabilities| capabilities.kind() == JsonKind::Object)
        .ok_or_else(|| invalid(format!("`_meta` must hold `{}`", meta::CLIENT_CAPABILITIES)))?;
    let log_level = match member(meta::LOG_LEVEL) {
        None => None,
        Some(level) => Some(
            level
                .to_text()
                .as_deref()
                .and_then(LogSeverity::parse)
                .ok_or_else(|| invalid(format!("`{}` must be a log level", meta::LOG_LEVEL)))?,
        ),
    };
    Ok(RequestContext {
        version,
        client_info: member(meta::CLIENT_INFO),
        capabilities,
        progress_token: member(meta::PROGRESS_TOKEN),
        log_level,
        outbox: params.outbox.clone(),
    })
}

async fn discover_result<H: ServerHandler>(
    session: &HandlerSession<H>,
    context: &RequestContext,
) -> Raw {
    let description = session.handler.describe_to(&context.client_facts()).await;
    let instructions = description.instructions_member();
    let capabilities = render::capabilities(Version::LATEST, &description.capabilities);
    let result = format!(
        r#"{{"supportedVersions":{},"capabilities":{capabilities}{instructions}}}"#,
        render::supported_versions_json()
    );
    Raw::from_trusted(result.into())
}

/// Calls the handler and renders its reply.
async fn call<H: ServerHandler>(
    session: &HandlerSession<H>,
    asked: &str,
    params: Raw,
    context: &RequestContext,
) -> Result<Rope, RpcError> {
    let member = |key| {
        params.get(key).map_err(|error| RpcError::new(code::INVALID_PARAMS, error.to_string()))
    };
    let state = member("requestState")?;
    let answers =
        member("inputResponses")?.map(|raw| parse_input_responses(&raw)).unwrap_or_default();
    let request = HandlerRequest {
        method: method::intern_name(asked),
        params: params.clone(),
        answers,
        state,
    };
    let result = match session.handler.call(request, context).await {
        Ok(HandlerReply::Complete(result)) => Ok(result),
        Ok(HandlerReply::Repeated(result)) => {
            return session.render_repeated(context.version, asked, &result);
        }
        Ok(HandlerReply::NeedsInput { questions, state }) => {
            let refused = questions.iter().find(|question| !can_be_asked(context, question));
            match refused {
                Some(question) => Err(render::missing_capability(&required_capability(question))),
                None => Ok(input_required(&questions, state.as_ref())),
            }
        }
        Err(error) => Err(error),
    };
    session.render(context.version, asked, result)
}

fn parse_input_responses(responses: &Raw) -> Vec<InputResponse> {
    responses
        .entries()
        .filter_map(|(key, result)| {
            let key = crate::json::decode_string(key)?.into_owned();
            Some(InputResponse { key, outcome: Ok(result.to_detached()) })
        })
        .collect()
}

fn required_capability(question: &InputRequest) -> Raw {
    let path = capability(question).unwrap_or_default();
    let object =
        path.iter().rev().fold("{}".to_owned(), |inner, key| format!(r#"{{"{key}":{inner}}}"#));
    Raw::from_trusted(object.into())
}

fn input_required(questions: &[InputRequest], state: Option<&Raw>) -> Raw {
    let mut result = String::from(r#"{"resultType":"input_required""#);
    if !questions.is_empty() {
        result.push_str(r#","inputRequests":"#);
        result.push_str(InputRequest::to_input_requests(questions).as_str());
    }
    if let Some(state) = state {
        result.push_str(r#","requestState":"#);
        result.push_str(state.as_str());
    }
    result.push('}');
    Raw::from_trusted(result.into())
}

/// Acknowledges the request, then stays open until it is cancelled. `HandlerSession::announce`
/// sends the change notifications.
async fn listen<H: ServerHandler>(
    session: &Arc<HandlerSession<H>>,
    id: &Id,
    params: &Raw,
    context: &RequestContext,
) -> Result<Raw, RpcError> {
    let wanted = params.get("notifications").ok().flatten();
    let wanted = wanted.ok_or_else(|| {
        RpcError::new(code::INVALID_PARAMS, "`notifications` must say what to listen for")
    })?;
    let (handler, client) = (session.handler.clone(), context.client_facts());
    let mut listening =
        ListenFilter::new(id.raw().clone(), &wanted, &handler.describe().capabilities);
    listening.hears = handler.source_filter(&client);
    let unknown = unknown_names(&wanted);
    if !unknown.is_empty() {
        handler.on_unknown_notifications(&unknown, &client);
    }
    let meta = params.get("_meta").ok().flatten().unwrap_or_else(Raw::null);
    let owner = handler.subscription_owner(&meta);
    let mut subscribed = ResourceSubscription::new(handler, client);
    subscribe_each(&mut subscribed, &mut listening, owner).await?;
    let open = OpenListenRequest { session, id, _subscribed: subscribed };
    let tag = Raw::object([(meta::SUBSCRIPTION_ID, &listening.tag)]);
    let granted = Raw::object([("notifications", listening.granted_json()), ("_meta", tag)]);
    let note = Notification::new(method::ACKNOWLEDGED, Some(&granted));
    session.outbox.send(note.text().clone()).await;
    session.state().listening.insert(id.key(), listening);
    let never = std::future::pending::<()>();
    never.await;
    drop(open);
    Ok(Raw::empty_object())
}

/// The names in a client's wish that the protocol does not have; a few at most.
fn unknown_names(wanted: &Raw) -> Vec<String> {
    let is_known = |name: &str| {
        let resources = ["resourcesListChanged", "resourceSubscriptions"];
        ["toolsListChanged", "promptsListChanged"].contains(&name) || resources.contains(&name)
    };
    let names = wanted.entries().filter_map(|(key, _)| crate::json::decode_string(key));
    let unknown = names.filter(|name| !is_known(name)).map(std::borrow::Cow::into_owned);
    unknown.take(MAX_UNKNOWN_NAMES).collect()
}

/// Subscribes to each resource that a client wants to hear of. One that cannot be subscribed to is left out, which the
/// acknowledgement shows, unless there is nothing else to listen for.
async fn subscribe_each<H: ServerHandler>(
    subscribed: &mut ResourceSubscription<H>,
    listening: &mut ListenFilter,
    owner: Option<String>,
) -> Result<(), RpcError> {
    let mut refused = None;
    for uri in std::mem::take(&mut listening.resources) {
        let resource = SubscribedResource { uri: uri.clone(), owner: owner.clone() };
        match subscribed.add(resource).await {
            Ok(()) => listening.resources.push(uri),
            Err(error) => {
                tracing::debug!(%error, uri, "a resource cannot be subscribed to");
                refused.get_or_insert(error);
            }
        }
    }
    let hears_anything = !listening.lists.is_empty() || !listening.resources.is_empty();
    refused.filter(|_| !hears_anything).map_or(Ok(()), Err)
}

/// An open `subscriptions/listen` request. Dropping it ends its subscriptions.
struct OpenListenRequest<'a, H: ServerHandler> {
    session: &'a Arc<HandlerSession<H>>,
    id: &'a Id,
    _subscribed: ResourceSubscription<H>,
}

impl<H: ServerHandler> Drop for OpenListenRequest<'_, H> {
    fn drop(&mut self) {
        let ended = self.session.state().listening.remove(&self.id.key());
        // Not under the lock: its filter may hold more than the session knows of.
        drop(ended);
    }
}

// === impl ListenFilter ===

impl ListenFilter {
    /// The part of `wanted` that the server's capabilities can honour.
    fn new(tag: Raw, wanted: &Raw, capabilities: &Raw) -> Self {
        let offers = |path: &[&str]| matches!(capabilities.get_path(path), Ok(Some(value)) if value.as_str() == "true");
        let asks =
            |key: &str| matches!(wanted.get(key), Ok(Some(value)) if value.as_str() == "true");
        let lists = [
            (ListKind::Tools, "toolsListChanged", "tools"),
            (ListKind::Prompts, "promptsListChanged", "prompts"),
            (ListKind::Resources, "resourcesListChanged", "resources"),
        ]
        .into_iter()
        .filter(|(_, key, capability)| asks(key) && offers(&[capability, "listChanged"]))
        .map(|(list, ..)| list)
        .collect();
        let resources = wanted
            .get("resourceSubscriptions")
            .ok()
            .flatten()
            .filter(|_| offers(&["resources", "subscribe"]))
            .and_then(|uris| uris.decode().ok())
            .unwrap_or_default();
        Self { tag, lists, resources, hears: None }
    }

    pub(super) fn wants(&self, announced: &SourcedChange) -> bool {
        if !self.hears.as_ref().is_none_or(|hears| hears.passes(announced)) {
            return false;
        }
        match &announced.change {
            ChangeNotification::List(ListKind::Templates) => {
                self.lists.contains(&ListKind::Resources)
            }
            ChangeNotification::List(list) => self.lists.contains(list),
            ChangeNotification::Resource(uri) => self.resources.contains(uri),
            ChangeNotification::Other(method, _) => method::is_extension_notification(method),
        }
    }

    /// The granted notifications, as JSON in the form of the request.
    fn granted_json(&self) -> Raw {
        let lists = self.lists.iter().map(|list| {
            let key = match list {
                ListKind::Tools => "toolsListChanged",
                ListKind::Prompts => "promptsListChanged",
                ListKind::Resources | ListKind::Templates => "resourcesListChanged",
            };
            (key, Raw::from(serde_json::Value::Bool(true)))
        });
        let uris = || Raw::array(self.resources.iter().map(|uri| Raw::string(uri)));
        let resources = (!self.resources.is_empty()).then(|| ("resourceSubscriptions", uris()));
        Raw::object(lists.chain(resources))
    }
}
