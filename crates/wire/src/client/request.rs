//! Dressing a request for the era it is sent in, and the session's own requests.

use std::{borrow::Cow, sync::Arc};

use bytestring::ByteString;
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
    envelope::{Outcome, Request, RpcError},
    json::{Edit, JsonKind, Members, Raw, SpliceError, quote_into},
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

/// Members of parameters that are ours to change.
const OURS: [&str; 4] = ["_meta", "task", "inputResponses", "requestState"];
const META_VERSION: &[&str] = &["_meta", meta::PROTOCOL_VERSION];
const META_INFO: &[&str] = &["_meta", meta::CLIENT_INFO];
const META_CAPABILITIES: &[&str] = &["_meta", meta::CLIENT_CAPABILITIES];
const META_LOG_LEVEL: &[&str] = &["_meta", meta::LOG_LEVEL];
const META_PROGRESS: &[&str] = &["_meta", meta::PROGRESS_TOKEN];
const INPUT_RESPONSES: &[&str] = &["inputResponses"];
const REQUEST_STATE: &[&str] = &["requestState"];
const TASK: &[&str] = &["task"];

impl Session {
    /// Dresses a request for this session's era under an id of its own.
    pub(crate) fn prepare(
        &self,
        asked: &str,
        params: Option<&Raw>,
        extras: &Extras,
    ) -> Result<Outgoing, Error> {
        let id = self.next_id();
        let mut digits = itoa::Buffer::new();
        let number = digits.format(id);
        let text = match self.era() {
            Era::Modern => self.modern_text(number, asked, params, extras),
            Era::Legacy => legacy_text(number, asked, params, extras),
        };
        let text = text.map_err(|source| Error::Params { method: asked.to_owned(), source })?;
        let (method, can_ask) = (method::kept(asked), can_ask(asked));
        let headers = self.http_headers(asked, params);
        Ok(Outgoing { id, method, text, headers, can_ask, cancellable: true })
    }

    fn modern_text(
        &self,
        id: &str,
        asked: &str,
        params: Option<&Raw>,
        extras: &Extras,
    ) -> Result<ByteString, SpliceError> {
        let declared = self.declared(extras, is_about_tasks(asked));
        // Other methods have members of these names that are their own.
        let (responses, state) = match can_ask(asked) {
            true => (extras.input_responses.as_ref(), extras.request_state.as_ref()),
            false => (None, None),
        };
        let is_usual = !extras.progress && responses.is_none() && state.is_none();
        if is_usual && let Some(members) = members_of(params) {
            let between = if members.is_empty() { "" } else { "," };
            let params = ["{", members, between, r#""_meta":"#, declared.whole.as_str(), "}"];
            return Ok(message(id, asked, &params));
        }
        let mut edits = vec![
            Edit::set(META_VERSION, &declared.version),
            Edit::set(META_INFO, declared.info()),
            Edit::set(META_CAPABILITIES, declared.capabilities.as_str()),
            set_or_remove(META_LOG_LEVEL, declared.log_level.as_deref()),
            set_or_remove(META_PROGRESS, extras.progress.then_some(id)),
            Edit::remove(TASK),
        ];
        if can_ask(asked) {
            edits.push(set_or_remove(INPUT_RESPONSES, responses.map(Raw::as_str)));
            edits.push(set_or_remove(REQUEST_STATE, state.map(Raw::as_str)));
        }
        edited(id, asked, params, &edits)
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

    fn http_headers(&self, asked: &str, params: Option<&Raw>) -> HeaderMap {
        let Channel::Http(http) = &self.channel else {
            return HeaderMap::new();
        };
        let facts = self.facts();
        let Some(facts) = facts.filter(|facts| facts.era() == Era::Modern) else {
            return http.headers(self.facts().as_deref());
        };
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
        match tokio::time::timeout(after, self.request_unbounded(asked, params)).await {
            Ok(result) => result,
            Err(_) => Err(Error::Timeout { method: asked.to_owned(), after }),
        }
    }

    async fn request_unbounded(
        self: &Arc<Self>,
        asked: &str,
        params: Option<&Raw>,
    ) -> Result<Raw, Error> {
        let mut renewed = false;
        loop {
            let generation = self.generation();
            let mut out = self.prepare(asked, params, &Extras::default())?;
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
    id: &str,
    asked: &str,
    params: Option<&Raw>,
    extras: &Extras,
) -> Result<ByteString, SpliceError> {
    let task = extras.task.as_ref().map(Raw::as_str);
    let is_usual = !extras.progress && task.is_none() && members_of(params).is_some();
    // Parameters by position are not MCP's, but whoever uses them gets them through unchanged.
    if is_usual || params.is_some_and(|params| params.kind() == JsonKind::Array) {
        return Ok(written(id, asked, params));
    }
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
    edited(id, asked, params, wanted)
}

/// The members of parameters, as they stand, where nothing among them is ours to change.
fn members_of(params: Option<&Raw>) -> Option<&str> {
    let Some(params) = params else { return Some("") };
    let members = params.as_str().strip_prefix('{')?.strip_suffix('}')?.trim_ascii();
    let ours = Members::of(params.as_str()).find_each(OURS).ok()?;
    ours.iter().all(Option::is_none).then_some(members)
}

/// A request with members of its parameters changed.
fn edited(
    id: &str,
    asked: &str,
    params: Option<&Raw>,
    edits: &[Edit<'_>],
) -> Result<ByteString, SpliceError> {
    let given = params.cloned().unwrap_or_else(Raw::empty_object);
    let changed = given.with(edits)?;
    // What was not there is not there, unless something is added.
    let changed = (params.is_some() || changed.as_str() != "{}").then_some(changed);
    Ok(written(id, asked, changed.as_ref()))
}

fn written(id: &str, asked: &str, params: Option<&Raw>) -> ByteString {
    let params = params.map(Raw::as_str);
    message(id, asked, params.as_slice())
}

/// A request whose parameters are made of these parts.
fn message(id: &str, asked: &str, params: &[&str]) -> ByteString {
    let length = id.len() + asked.len() + params.iter().map(|part| part.len()).sum::<usize>();
    let mut text = String::with_capacity(64 + length);
    text.extend([r#"{"jsonrpc":"2.0","id":"#, id, r#","method":"#]);
    quote_into(&mut text, asked);
    if !params.is_empty() {
        text.push_str(r#","params":"#);
        text.extend(params.iter().copied());
    }
    text.push('}');
    text.into()
}

fn set_or_remove<'a>(path: &'a [&'a str], value: Option<&'a str>) -> Edit<'a> {
    match value {
        Some(value) => Edit::set(path, value),
        None => Edit::remove(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legacy_request_is_what_its_caller_wrote_without_what_is_modern() {
        let modern = format!(
            r#"{{"_meta":{{"{}":"x","progressToken":5,"own":1}},"requestState":"s","a":1}}"#,
            meta::PROTOCOL_VERSION
        );
        for (given, progress, task, expected) in [
            (None, false, None, None),
            (None, true, None, Some(r#"{"_meta":{"progressToken":7}}"#)),
            (Some("{}"), false, None, Some("{}")),
            (Some(r#"{ "a" : 1.0 }"#), false, None, Some(r#"{ "a" : 1.0 }"#)),
            (Some(r#"{"task":{}}"#), false, None, Some(r#"{"task":{}}"#)),
            (Some(r#"{"a":1}"#), false, Some("{}"), Some(r#"{"a":1,"task":{}}"#)),
            (
                Some(r#"{"\u005fmeta":{"progressToken":1}}"#),
                false,
                None,
                Some(r#"{"\u005fmeta":{}}"#),
            ),
            (Some(&modern), false, None, Some(r#"{"_meta":{"own":1},"a":1}"#)),
            (Some("[1,2]"), true, None, Some("[1,2]")),
        ] {
            let raw = |text: &str| Raw::parse(text.to_owned()).unwrap();
            let task = task.map(raw);
            let extras = Extras { progress, task, ..Extras::default() };
            let params = given.map(raw);
            let text = legacy_text("7", "x/\"y", params.as_ref(), &extras).unwrap();
            let expected = expected.map(|params| format!(r#","params":{params}"#));
            let expected = expected.unwrap_or_default();
            assert_eq!(
                &*text,
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x/\"y"{expected}}}"#),
                "{given:?}"
            );
        }
        let twice = Raw::parse(r#"{"_meta":{},"_meta":{}}"#.to_owned()).unwrap();
        let refused = legacy_text("7", "x", Some(&twice), &Extras::default());
        assert_eq!(refused, Err(SpliceError::Duplicate("_meta".to_owned())));
    }

    #[test]
    fn members_that_are_ours_are_seen_however_they_are_spelt() {
        let members = |text: &str| {
            let params = Raw::parse(text.to_owned()).unwrap();
            members_of(Some(&params)).map(str::to_owned)
        };
        assert_eq!(members_of(None), Some(""));
        assert_eq!(members("{}").as_deref(), Some(""));
        assert_eq!(members(r#"{ "a" : {"_meta":1} }"#).as_deref(), Some(r#""a" : {"_meta":1}"#));
        for ours in [
            r#"{"_meta":{}}"#,
            r#"{"a":1,"\u005fmeta":null}"#,
            r#"{"task":{}}"#,
            r#"{"inputResponses":1}"#,
            r#"{"requestState":1}"#,
            "[]",
            "1",
        ] {
            assert_eq!(members(ours), None, "{ours}");
        }
    }
}
