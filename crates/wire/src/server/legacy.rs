//! Requests of legacy clients: handshake, ping, log level, subscriptions, and calls with questions.
//!
//! Used by `session`, which dispatches by era. It does not render results (`render`) and does not know the modern era
//! (`modern`).

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use super::{
    ClientFacts, HandlerReply, HandlerRequest, HandlerSession, RequestContext, ServerHandler,
    SubscribedResource, context::LogSeverity, render, resource_subscription::ResourceSubscription,
    session::RequestParams,
};
use crate::{
    Era, Version,
    client::{InputRequest, InputResponse},
    envelope::{ResponseOutcome, RpcError, code},
    json::{JsonEdit, Raw, Rope, quote},
    meta::{self, method},
};

/// The most resources that one session may subscribe to.
const MAX_SUBSCRIPTIONS: usize = 1024;

/// The most rounds of questions of one call.
const MAX_QUESTION_ROUNDS: usize = 64;

pub(super) async fn dispatch<H: ServerHandler>(
    session: &Arc<HandlerSession<H>>,
    asked: &str,
    params: RequestParams,
) -> Result<Rope, RpcError> {
    match asked {
        method::INITIALIZE => {
            return Box::pin(initialize(session, &params.all)).await.map(Rope::from);
        }
        method::PING => return Ok(Raw::empty_object().into()),
        _ => {}
    }
    let (greeted, log_level) = {
        let state = session.state();
        let greeted = state.greeted.clone().ok_or_else(not_initialized_error)?;
        (greeted, state.log_level.unwrap_or(LogSeverity::DEBUG))
    };
    let result = match asked {
        method::DISCOVER | method::LISTEN => Err(unknown_method_error(asked)),
        method::SET_LEVEL => set_level(session, &params.all),
        method::RESOURCES_SUBSCRIBE => Box::pin(subscribe(session, &params.all, &greeted)).await,
        method::RESOURCES_UNSUBSCRIBE => Box::pin(unsubscribe(session, &params.all)).await,
        _ => return call(session, asked, params, (greeted, log_level)).await,
    };
    session.render(greeted.version, asked, result)
}

fn not_initialized_error() -> RpcError {
    RpcError::new(
        code::INVALID_PARAMS,
        format!(
            "send `initialize` first, or name `{}` and `{}` in `_meta`",
            meta::PROTOCOL_VERSION,
            meta::CLIENT_CAPABILITIES
        ),
    )
}

pub(super) fn unknown_method_error(asked: &str) -> RpcError {
    RpcError::new(code::METHOD_NOT_FOUND, format!("Method not found: {asked}"))
}

/// Answers `initialize` with the requested version if it is a legacy one, else with the latest legacy version.
async fn initialize<H: ServerHandler>(
    session: &HandlerSession<H>,
    params: &Raw,
) -> Result<Raw, RpcError> {
    let member = |key| params.get(key).ok().flatten();
    let wanted = member("protocolVersion").and_then(|version| version.to_text());
    let wanted = wanted.ok_or_else(|| {
        RpcError::new(code::INVALID_PARAMS, "`protocolVersion` must be a version")
    })?;
    let version = wanted
        .parse::<Version>()
        .ok()
        .filter(|version| version.era() == Era::Legacy)
        .unwrap_or(Version::LATEST_LEGACY);
    let client_info = member("clientInfo");
    session.handler.on_initialize(client_info.as_ref());
    let client = ClientFacts {
        version,
        client_info: client_info.map(|info| info.to_detached()),
        capabilities: member("capabilities")
            .map_or_else(Raw::empty_object, |own| own.to_detached()),
    };
    session.state().greeted = Some(client.clone());
    let description = session.handler.describe_to(&client).await;
    let instructions = description.instructions_member();
    let capabilities = render::capabilities(version, &description.capabilities);
    let result = format!(
        r#"{{"protocolVersion":"{version}","capabilities":{capabilities},"serverInfo":{}{instructions}}}"#,
        description.info
    );
    Ok(Raw::from_trusted(result.into()))
}

fn set_level<H: ServerHandler>(session: &HandlerSession<H>, params: &Raw) -> Result<Raw, RpcError> {
    let level = params.get("level").ok().flatten().and_then(|level| level.to_text());
    let severity = level.as_deref().and_then(LogSeverity::parse);
    let severity = severity
        .ok_or_else(|| RpcError::new(code::INVALID_PARAMS, "`level` must be a log level"))?;
    session.state().log_level = Some(severity);
    Ok(Raw::empty_object())
}

/// Subscribes to a resource. A repeated subscription counts once.
async fn subscribe<H: ServerHandler>(
    session: &HandlerSession<H>,
    params: &Raw,
    client: &ClientFacts,
) -> Result<Raw, RpcError> {
    let resource = resource(session, params)?;
    let (is_known, subscriptions) = {
        let state = session.state();
        (state.subscriptions.contains_key(&resource), state.subscriptions.len())
    };
    if !is_known && subscriptions >= MAX_SUBSCRIPTIONS {
        let text = format!(
            "this session hears of {MAX_SUBSCRIPTIONS} resources already; end one with `resources/unsubscribe`"
        );
        return Err(RpcError::new(code::INVALID_REQUEST, text));
    }
    if !is_known {
        let mut subscribed = ResourceSubscription::new(session.handler.clone(), client.clone());
        subscribed.add(resource.clone()).await?;
        let before = session.state().subscriptions.insert(resource, Box::new(subscribed));
        // Dropped without the lock, since the drop calls the handler.
        drop(before);
    }
    Ok(Raw::empty_object())
}

/// Ends a subscription. A client cannot end subscriptions of other clients.
async fn unsubscribe<H: ServerHandler>(
    session: &HandlerSession<H>,
    params: &Raw,
) -> Result<Raw, RpcError> {
    let resource = resource(session, params)?;
    // Without an owner the request is about every resource of that URI.
    let is_meant = |known: &SubscribedResource| {
        known.uri == resource.uri && (resource.owner.is_none() || known.owner == resource.owner)
    };
    let subscribed: Vec<_> =
        session.state().subscriptions.extract_if(|known, _| is_meant(known)).collect();
    for (_, subscribed) in subscribed {
        if let Ok(subscribed) = subscribed.downcast::<ResourceSubscription<H>>() {
            subscribed.end().await?;
        }
    }
    Ok(Raw::empty_object())
}

/// The resource that a request is about.
fn resource<H: ServerHandler>(
    session: &HandlerSession<H>,
    params: &Raw,
) -> Result<SubscribedResource, RpcError> {
    let uri = params.get("uri").ok().flatten().and_then(|uri| uri.to_text());
    let uri = uri.ok_or_else(|| RpcError::new(code::INVALID_PARAMS, "`uri` must be a string"))?;
    let meta = params.get("_meta").ok().flatten();
    let owner = meta.and_then(|meta| session.handler.subscription_owner(&meta));
    Ok(SubscribedResource { uri, owner })
}

/// Calls the handler until it has an answer, asks the client in between, and renders the answer.
async fn call<H: ServerHandler>(
    session: &HandlerSession<H>,
    asked: &str,
    params: RequestParams,
    (greeted, log_level): (ClientFacts, LogSeverity),
) -> Result<Rope, RpcError> {
    let ClientFacts { version, client_info, capabilities } = greeted;
    let context = RequestContext {
        version,
        client_info,
        capabilities,
        progress_token: params.meta.get(meta::PROGRESS_TOKEN).ok().flatten(),
        log_level: Some(log_level),
        outbox: params.outbox.clone(),
    };
    let (mut answers, mut state) = (Vec::new(), None);
    for _ in 0..MAX_QUESTION_ROUNDS {
        let request = |answers, state| {
            let (method, params) = (method::intern_name(asked), params.all.clone());
            HandlerRequest { method, params, answers, state }
        };
        match session.handler.call(request(answers, state), &context).await {
            Ok(HandlerReply::NeedsInput { questions, state: kept }) => {
                let request = request(Vec::new(), kept);
                let waiting = AbandonOnDrop { handler: &*session.handler, asked: Some(&request) };
                answers = Box::pin(ask_all(session, questions, &context)).await;
                waiting.disarm();
                state = request.state;
            }
            Ok(HandlerReply::Complete(result)) => {
                return session.render(version, asked, Ok(result));
            }
            Ok(HandlerReply::Repeated(result)) => {
                return session.render_repeated(version, asked, &result);
            }
            Err(error) => return session.render(version, asked, Err(error)),
        }
    }
    Err(RpcError::new(code::INTERNAL_ERROR, "the server asks without end"))
}

/// A request that waits for its client's answers. Dropping it tells the handler that the request is abandoned.
struct AbandonOnDrop<'a, H: ServerHandler> {
    handler: &'a H,
    asked: Option<&'a HandlerRequest>,
}

async fn ask_all<H: ServerHandler>(
    session: &HandlerSession<H>,
    questions: Vec<InputRequest>,
    context: &RequestContext,
) -> Vec<InputResponse> {
    let asking = questions.into_iter().map(|question| async move {
        if !can_be_asked(context, &question) {
            return question.refuse("the client cannot be asked this");
        }
        let params = with_elicitation_id(&question);
        let outcome = match session.ask(&context.outbox, &question.method, &params).await {
            ResponseOutcome::Result(result) => Ok(result),
            ResponseOutcome::Error(error) => Err(error),
        };
        InputResponse { key: question.key, outcome }
    });
    futures_util::future::join_all(asking).await
}

/// Whether the client declared the capability that the question needs.
pub(super) fn can_be_asked(context: &RequestContext, question: &InputRequest) -> bool {
    capability(question).is_none_or(|path| context.has_capability(&path))
}

/// The parameters of a question in the form of 2025-11-25. A URL elicitation there needs an `elicitationId`: modern
/// servers send none, and SDK clients refuse the question without it.
fn with_elicitation_id(question: &InputRequest) -> Raw {
    let has_id = matches!(question.params.get("elicitationId"), Ok(Some(_)));
    if question.method != method::ELICIT || !is_url(question) || has_id {
        return question.params.clone();
    }
    // `RandomState` has random keys, so that ids of two sessions or processes differ.
    let id = quote(&format!("{:016x}", RandomState::new().hash_one(&question.key)));
    let edit = JsonEdit::set(&["elicitationId"], &id);
    question.params.clone().overwrite(&[edit])
}

/// The capability that a question needs. A client that declares elicitation without a mode supports forms.
pub(super) fn capability(question: &InputRequest) -> Option<Vec<&'static str>> {
    match question.method.as_str() {
        method::ELICIT if is_url(question) => Some(vec!["elicitation", "url"]),
        method::ELICIT => Some(vec!["elicitation"]),
        method::SAMPLE => Some(vec!["sampling"]),
        method::ROOTS_LIST => Some(vec!["roots"]),
        _ => None,
    }
}

fn is_url(question: &InputRequest) -> bool {
    matches!(question.params.get("mode"), Ok(Some(mode)) if mode.as_str() == "\"url\"")
}

// === impl AbandonOnDrop ===

impl<H: ServerHandler> AbandonOnDrop<'_, H> {
    /// The client has answered; the request is repeated and not abandoned.
    fn disarm(mut self) {
        self.asked = None;
    }
}

impl<H: ServerHandler> Drop for AbandonOnDrop<'_, H> {
    fn drop(&mut self) {
        if let Some(asked) = self.asked {
            self.handler.on_abandoned(asked);
        }
    }
}
