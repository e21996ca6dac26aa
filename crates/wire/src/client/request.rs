//! Dressing a request for the era it is sent in, and the session's own requests.

use std::{borrow::Cow, sync::Arc};

use http::HeaderMap;

use super::{
    channel::Channel,
    declared::{Declared, Wanted},
    headers,
    session::{Arrival, Session},
    stream::{Arrived, Opened, Outgoing},
};
use crate::{
    Era, Error, Version,
    envelope::{Id, Outcome, Request, RpcError},
    json::{Edit, Raw},
    meta::{self, method},
};

/// What a request carries besides what its caller wrote.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extras {
    /// Ask for progress.
    pub(crate) progress: bool,
    /// Modern: capabilities of whoever is behind this call, if not the session's own.
    pub(crate) capabilities: Option<Raw>,
    /// Modern: who is behind this call, if not the session's own.
    pub(crate) client_info: Option<Raw>,
    /// Modern: least severe log message wanted.
    pub(crate) log_level: Option<Cow<'static, str>>,
    /// Modern: answers to an earlier `input_required`.
    pub(crate) input_responses: Option<Raw>,
    /// Modern: the state that came with it.
    pub(crate) request_state: Option<Raw>,
    /// 2025-11-25: the `task` member.
    pub(crate) task: Option<Raw>,
}

const META: &[&str] = &["_meta"];
const META_VERSION: &[&str] = &["_meta", meta::PROTOCOL_VERSION];
const META_INFO: &[&str] = &["_meta", meta::CLIENT_INFO];
const META_CAPABILITIES: &[&str] = &["_meta", meta::CLIENT_CAPABILITIES];
const META_LOG_LEVEL: &[&str] = &["_meta", meta::LOG_LEVEL];
const META_PROGRESS: &[&str] = &["_meta", meta::PROGRESS_TOKEN];
const INPUT_RESPONSES: &[&str] = &["inputResponses"];
const REQUEST_STATE: &[&str] = &["requestState"];
const TASK: &[&str] = &["task"];

impl Session {
    /// Dresses `request` for this session's era under an id of its own.
    pub(crate) fn prepare(&self, request: &Request, extras: &Extras) -> Result<Outgoing, Error> {
        let id = self.next_id();
        let mut digits = itoa::Buffer::new();
        let number = digits.format(id);
        let asked = request.method();
        let text = match self.era() {
            Era::Modern => self.modern_text(request, extras, number),
            Era::Legacy => legacy_text(request, extras, number),
        };
        let method = method::kept(&asked);
        let text = match text {
            Ok(text) => text,
            Err(source) => return Err(Error::Params { method: method.into_owned(), source }),
        };
        let can_ask = can_ask(&method);
        let headers = self.http_headers(&method, request);
        Ok(Outgoing { id, method, text, headers, can_ask, cancellable: true })
    }

    fn modern_text(
        &self,
        request: &Request,
        extras: &Extras,
        id: &str,
    ) -> Result<bytestring::ByteString, crate::json::SpliceError> {
        let asked = request.method();
        let declared = self.declared(extras, is_about_tasks(&asked));
        let mut edits = Vec::with_capacity(8);
        if !extras.progress && request.has_no("_meta") {
            edits.push(Edit::set(META, declared.whole.as_str()));
        } else {
            edits.extend([
                Edit::set(META_VERSION, &declared.version),
                Edit::set(META_INFO, declared.info()),
                Edit::set(META_CAPABILITIES, declared.capabilities.as_str()),
                set_or_remove(META_LOG_LEVEL, declared.log_level.as_deref()),
                set_or_remove(META_PROGRESS, extras.progress.then_some(id)),
            ]);
        }
        edits.push(Edit::remove(TASK));
        // Other methods have members of these names that are their own.
        if can_ask(&asked) {
            let responses = extras.input_responses.as_ref().map(Raw::as_str);
            let state = extras.request_state.as_ref().map(Raw::as_str);
            edits.push(set_or_remove(INPUT_RESPONSES, responses));
            edits.push(set_or_remove(REQUEST_STATE, state));
        }
        request.edited_as(id, &edits)
    }

    fn declared(&self, extras: &Extras, tasks: bool) -> Arc<Declared> {
        let wished = extras.log_level.is_none().then(|| self.wishes().log_level.clone()).flatten();
        let wanted = Wanted {
            version: self.facts().map_or(Version::LATEST, |facts| facts.version),
            info: extras.client_info.as_ref().unwrap_or_else(|| self.own_info()),
            capabilities: extras.capabilities.as_ref().unwrap_or(&self.options.capabilities),
            tasks,
            log_level: extras.log_level.as_deref().or(wished.as_deref()),
        };
        self.declared.of(wanted, |given| {
            let dressed = self.with_roots(given);
            if tasks { with_tasks(dressed) } else { dressed }
        })
    }

    /// Who we are, as JSON.
    pub(crate) fn own_info(&self) -> &Raw {
        let written = || Raw::of(&self.options.info).unwrap_or_else(|_| Raw::empty_object());
        self.info.get_or_init(written)
    }

    /// The session's capabilities, roots among them where it has any.
    pub(crate) fn own_capabilities(&self) -> Raw {
        self.with_roots(self.options.capabilities.clone())
    }

    fn with_roots(&self, capabilities: Raw) -> Raw {
        if self.options.roots.is_none() || matches!(capabilities.peek(&["roots"]), Ok(Some(_))) {
            return capabilities;
        }
        capabilities.with(&[Edit::set(&["roots"], "{}")]).unwrap_or(capabilities)
    }

    fn http_headers(&self, asked: &str, request: &Request) -> HeaderMap {
        let Channel::Http(http) = &self.channel else {
            return HeaderMap::new();
        };
        let facts = self.facts();
        let Some(facts) = facts.filter(|facts| facts.era() == Era::Modern) else {
            return http.headers(self.facts().as_deref());
        };
        let params = request.params();
        let params = params.as_ref();
        let mut headers = headers::standard(facts.version, asked, params);
        if asked == method::TOOLS_CALL {
            let name =
                params.and_then(|params| params.get("name").ok()?).and_then(|raw| raw.to_text());
            if let Some(tool) = name.and_then(|name| self.tools.get(&name)) {
                headers::add_params(&mut headers, &tool.headers, params);
            }
        }
        headers
    }

    /// A request of the session's own: sent, waited for, its result returned.
    pub(crate) async fn request(
        self: &Arc<Self>,
        asked: &str,
        params: Option<&Raw>,
    ) -> Result<Raw, Error> {
        let after = self.options.request_timeout;
        let request = Request::new(&Id::number(0), asked, params);
        match tokio::time::timeout(after, self.request_unbounded(&request)).await {
            Ok(result) => result,
            Err(_) => Err(Error::Timeout { method: asked.to_owned(), after }),
        }
    }

    async fn request_unbounded(self: &Arc<Self>, request: &Request) -> Result<Raw, Error> {
        let mut renewed = false;
        loop {
            let generation = self.generation();
            let mut out = self.prepare(request, &Extras::default())?;
            out.can_ask = false;
            match self.exchange(out).await? {
                Some(response) => {
                    return match response.outcome() {
                        Outcome::Result(result) => Ok(result),
                        Outcome::Error(error) => Err(Error::Rpc(error)),
                    };
                }
                None if renewed => return Err(Error::Closed),
                None => {
                    renewed = true;
                    Box::pin(self.renew(generation)).await?;
                }
            }
        }
    }

    /// Sends a request and waits for the answer alone. `None`: the session was over.
    pub(crate) async fn exchange(
        self: &Arc<Self>,
        out: Outgoing,
    ) -> Result<Option<crate::envelope::Response>, Error> {
        let Opened::Stream(mut stream) = self.open(out).await? else {
            return Ok(None);
        };
        loop {
            match stream.next().await? {
                Arrived::Done(response) => return Ok(Some(response)),
                Arrived::Mail(Arrival::Request(request)) => {
                    self.asked.remove(&request.id());
                    Box::pin(self.ask_inbox(request)).await;
                }
                Arrived::Mail(_) => {}
            }
        }
    }

    pub(crate) fn generation(&self) -> u64 {
        match &self.channel {
            Channel::Http(http) => http.generation(),
            Channel::Link(_) => 0,
        }
    }

    /// Takes a request that came on a call's own stream as that call's. `false`: refused.
    pub(crate) fn own_request(&self, request: &Request, call: u64) -> bool {
        if self.asked.add(request, super::inbox::Owner::Call(call)) {
            return true;
        }
        let error = RpcError::new(crate::envelope::code::INTERNAL_ERROR, "too many questions wait");
        self.later(crate::envelope::Response::error(Some(&request.id()), &error).text().clone());
        false
    }
}

/// A call that becomes a task is followed, or handed to whoever can: either way the server may make one of it.
fn with_tasks(capabilities: Raw) -> Raw {
    let declared = Edit::set(&["extensions", meta::TASKS_EXTENSION], "{}");
    capabilities.with(&[declared]).unwrap_or(capabilities)
}

fn is_about_tasks(asked: &str) -> bool {
    matches!(
        asked,
        method::TOOLS_CALL | method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL
    )
}

/// Whether the protocol lets a server ask something back before it answers this.
pub(crate) fn can_ask(asked: &str) -> bool {
    matches!(asked, method::TOOLS_CALL | method::PROMPTS_GET | method::RESOURCES_READ)
}

/// A legacy request carries none of the modern metadata, whoever forwarded it.
fn legacy_text(
    request: &Request,
    extras: &Extras,
    id: &str,
) -> Result<bytestring::ByteString, crate::json::SpliceError> {
    // Parameters by position are not MCP's, but whoever uses them gets them through unchanged.
    if request.has_params_by_position() {
        return request.edited_as(id, &[]);
    }
    let task = extras.task.as_ref().map(Raw::as_str);
    let edits = [
        Edit::remove(META_VERSION),
        Edit::remove(META_INFO),
        Edit::remove(META_CAPABILITIES),
        Edit::remove(META_LOG_LEVEL),
        set_or_remove(META_PROGRESS, extras.progress.then_some(id)),
        Edit::remove(INPUT_RESPONSES),
        Edit::remove(REQUEST_STATE),
        // A task that the caller itself asked for goes through, so it is not taken out.
        set_or_remove(TASK, task),
    ];
    let wanted = if task.is_some() { &edits[..] } else { &edits[..edits.len() - 1] };
    request.edited_as(id, wanted)
}

fn set_or_remove<'a>(path: &'a [&'a str], value: Option<&'a str>) -> Edit<'a> {
    match value {
        Some(value) => Edit::set(path, value),
        None => Edit::remove(path),
    }
}
