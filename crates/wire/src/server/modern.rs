//! What only modern clients do: metadata with each request, discovery, listening.

use std::sync::Arc;

use super::{
    Asked, Change, Context, Handler, Reply, Session,
    context::Severity,
    legacy::{can_be_asked, capability, unknown},
    render,
    session::Params,
    subscribed::Subscribed,
};
use crate::{
    Era, Version,
    client::{Answer, InputRequest, List},
    envelope::{Id, Notification, Request, RpcError, code},
    json::{Edit, JsonKind, Raw, Rope, quote},
    meta::{self, method},
};

/// What an open listen request wants to hear.
#[derive(Debug, Clone)]
pub(super) struct Listening {
    /// The id of the request, which tags every notification.
    pub(super) tag: Raw,
    lists: Vec<List>,
    resources: Vec<String>,
}

pub(super) async fn dispatch<H: Handler>(
    session: &Arc<Session<H>>,
    request: &Request,
    asked: &str,
    params: Params,
    version: &Raw,
) -> Result<Rope, RpcError> {
    let version = spoken(version)?;
    let context = context(session, &params.meta, version)?;
    let result = match asked {
        method::DISCOVER => Ok(discovered(session)),
        method::LISTEN => Box::pin(listen(session, &request.id(), &params.all, &context)).await,
        method::INITIALIZE
        | method::PING
        | method::SET_LEVEL
        | method::RESOURCES_SUBSCRIBE
        | method::RESOURCES_UNSUBSCRIBE => Err(unknown(asked)),
        _ => return call(session, asked, params.all, &context).await,
    };
    session.render(version, asked, result)
}

fn spoken(version: &Raw) -> Result<Version, RpcError> {
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

fn context<H: Handler>(
    session: &Session<H>,
    own: &Raw,
    version: Version,
) -> Result<Context, RpcError> {
    let invalid = |text: String| RpcError::new(code::INVALID_PARAMS, text);
    let member = |key: &str| own.get(key).ok().flatten();
    let capabilities = member(meta::CLIENT_CAPABILITIES)
        .filter(|capabilities| capabilities.kind() == JsonKind::Object)
        .ok_or_else(|| invalid(format!("`_meta` must hold `{}`", meta::CLIENT_CAPABILITIES)))?;
    let log_level = match member(meta::LOG_LEVEL) {
        None => None,
        Some(level) => Some(
            level
                .to_text()
                .as_deref()
                .and_then(Severity::parse)
                .ok_or_else(|| invalid(format!("`{}` must be a log level", meta::LOG_LEVEL)))?,
        ),
    };
    Ok(Context {
        version,
        client_info: member(meta::CLIENT_INFO),
        capabilities,
        progress_token: member(meta::PROGRESS_TOKEN),
        log_level,
        outbox: session.outbox.clone(),
    })
}

fn discovered<H: Handler>(session: &Session<H>) -> Raw {
    let description = session.handler.describe();
    let instructions = description.instructions_member();
    let capabilities = render::capabilities(Version::LATEST, &description.capabilities);
    let result = format!(
        r#"{{"supportedVersions":{},"capabilities":{capabilities}{instructions}}}"#,
        render::supported()
    );
    Raw::trusted(result.into())
}

/// Calls the handler, and renders what it says.
async fn call<H: Handler>(
    session: &Session<H>,
    asked: &str,
    params: Raw,
    context: &Context,
) -> Result<Rope, RpcError> {
    let member = |key| {
        params.get(key).map_err(|error| RpcError::new(code::INVALID_PARAMS, error.to_string()))
    };
    let state = member("requestState")?;
    let answers = member("inputResponses")?.map(|raw| answers(&raw)).unwrap_or_default();
    let request = Asked { method: method::kept(asked), params: params.clone(), answers, state };
    let result = match session.handler.call(request, context).await {
        Ok(Reply::Complete(result)) => Ok(result),
        Ok(Reply::Repeated(result)) => {
            return session.render_repeated(context.version, asked, &result);
        }
        Ok(Reply::NeedsInput { questions, state }) => {
            let refused = questions.iter().find(|question| !can_be_asked(context, question));
            match refused {
                Some(question) => Err(render::missing_capability(&required(question))),
                None => Ok(input_required(&questions, state.as_ref())),
            }
        }
        Err(error) => Err(error),
    };
    session.render(context.version, asked, result)
}

fn answers(responses: &Raw) -> Vec<Answer> {
    responses
        .members()
        .filter_map(|member| {
            let key = crate::json::decode_string(member.key)?.into_owned();
            let outcome = Ok(Raw::parse(member.value.to_owned()).ok()?);
            Some(Answer { key, outcome })
        })
        .collect()
}

fn required(question: &InputRequest) -> Raw {
    let path = capability(question).unwrap_or_default();
    let object =
        path.iter().rev().fold("{}".to_owned(), |inner, key| format!(r#"{{"{key}":{inner}}}"#));
    Raw::trusted(object.into())
}

fn input_required(questions: &[InputRequest], state: Option<&Raw>) -> Raw {
    let mut result = String::from(r#"{"resultType":"input_required""#);
    if !questions.is_empty() {
        result.push_str(r#","inputRequests":"#);
        result.push_str(InputRequest::write_all(questions).as_str());
    }
    if let Some(state) = state {
        result.push_str(r#","requestState":"#);
        result.push_str(state.as_str());
    }
    result.push('}');
    Raw::trusted(result.into())
}

/// Acknowledges, then stays open until it is cancelled. Change notifications are sent by
/// [`Session::announce`].
async fn listen<H: Handler>(
    session: &Arc<Session<H>>,
    id: &Id,
    params: &Raw,
    context: &Context,
) -> Result<Raw, RpcError> {
    let wanted = params.get("notifications").ok().flatten();
    let wanted = wanted.ok_or_else(|| {
        RpcError::new(code::INVALID_PARAMS, "`notifications` must say what to listen for")
    })?;
    let listening =
        Listening::new(id.raw().clone(), &wanted, &session.handler.describe().capabilities);
    let (handler, client) = (session.handler.clone(), context.client_facts());
    let subscribed = Subscribed::to(handler, &listening.resources, client).await?;
    let open = Open { session, id, _subscribed: subscribed };
    let tag = Edit::set(&["_meta", meta::SUBSCRIPTION_ID], listening.tag.as_str());
    let granted = format!(r#"{{"notifications":{}}}"#, listening.granted());
    let granted = Raw::trusted(granted.into()).with(&[tag]).unwrap_or_else(|_| Raw::empty_object());
    let note = Notification::new(method::ACKNOWLEDGED, Some(&granted));
    session.outbox.send(note.text().clone()).await;
    session.state().listening.insert(id.key(), listening);
    let never = std::future::pending::<()>();
    never.await;
    drop(open);
    Ok(Raw::empty_object())
}

/// An open listen request; its end ends what it subscribed to.
struct Open<'a, H: Handler> {
    session: &'a Arc<Session<H>>,
    id: &'a Id,
    _subscribed: Subscribed<H>,
}

impl<H: Handler> Drop for Open<'_, H> {
    fn drop(&mut self) {
        self.session.state().listening.remove(&self.id.key());
    }
}

// === impl Listening ===

impl Listening {
    /// The part of `wanted` that the server's capabilities can honour.
    fn new(tag: Raw, wanted: &Raw, capabilities: &Raw) -> Self {
        let offers = |path: &[&str]| matches!(capabilities.get_path(path), Ok(Some(value)) if value.as_str() == "true");
        let asks =
            |key: &str| matches!(wanted.get(key), Ok(Some(value)) if value.as_str() == "true");
        let lists = [
            (List::Tools, "toolsListChanged", "tools"),
            (List::Prompts, "promptsListChanged", "prompts"),
            (List::Resources, "resourcesListChanged", "resources"),
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
        Self { tag, lists, resources }
    }

    pub(super) fn wants(&self, change: &Change) -> bool {
        match change {
            Change::List(List::Templates) => self.lists.contains(&List::Resources),
            Change::List(list) => self.lists.contains(list),
            Change::Resource(uri) => self.resources.contains(uri),
            Change::Other(..) => false,
        }
    }

    /// What was granted, in the words it was asked in.
    fn granted(&self) -> String {
        let mut granted: Vec<String> = self
            .lists
            .iter()
            .map(|list| match list {
                List::Tools => r#""toolsListChanged":true"#.to_owned(),
                List::Prompts => r#""promptsListChanged":true"#.to_owned(),
                List::Resources | List::Templates => r#""resourcesListChanged":true"#.to_owned(),
            })
            .collect();
        if !self.resources.is_empty() {
            let uris: Vec<_> = self.resources.iter().map(|uri| quote(uri)).collect();
            granted.push(format!(r#""resourceSubscriptions":[{}]"#, uris.join(",")));
        }
        format!("{{{}}}", granted.join(","))
    }
}
