//! Requests of a client session: adds metadata and headers for the era, and sends the session's own requests.
//!
//! Used by `exchange_driver` for calls, by `handshake`, `lists`, `listen` and `tasks` for the session's requests. It
//! does not write the text (`request_text`) and does not read the answers of calls (`request_stream`).

use std::{borrow::Cow, sync::Arc};

use http::HeaderMap;

use super::{
    channel::ServerChannel,
    headers,
    http_channel::HttpChannel,
    request_meta::{RequestMeta, RequestMetaParts},
    request_stream::{OpenOutcome, OutgoingRequest, StreamItem},
    request_text,
    session::{CallArrival, ClientSession},
};
use crate::{
    Era, Error, Version,
    envelope::{Request, ResponseOutcome, RpcError},
    json::{JsonEdit, Raw},
    meta::{self, method},
    trace_context,
};

/// Additions of the session to a caller's request.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestExtras {
    /// Whether to ask for progress.
    pub(crate) progress: bool,
    /// Modern: capabilities of the client behind this call, if not the session's.
    pub(crate) capabilities: Option<Raw>,
    /// Modern: the least severe log level wanted.
    pub(crate) log_level: Option<Cow<'static, str>>,
    /// Modern: answers to an earlier `input_required`.
    pub(crate) input_responses: Option<Raw>,
    /// Modern: the `requestState` that came with the questions.
    pub(crate) request_state: Option<Raw>,
    /// 2025-11-25: the `task` member.
    pub(crate) task: Option<Raw>,
}

impl ClientSession {
    /// Writes a request for this session's era, under a new id.
    pub(crate) fn prepare(
        &self,
        asked: &str,
        params: Option<&Raw>,
        extras: &RequestExtras,
    ) -> Result<OutgoingRequest, Error> {
        let id = self.next_id();
        let mut digits = itoa::Buffer::new();
        let number = digits.format(id);
        let text = match self.era() {
            Era::Modern => {
                let declared = self.request_meta(extras, is_about_tasks(asked));
                request_text::write_modern_request(number, asked, params, extras, &declared)
            }
            Era::Legacy => request_text::write_legacy_request(number, asked, params, extras),
        };
        let text = text.map_err(|source| Error::Params { method: asked.to_owned(), source })?;
        let (method, can_ask) = (method::intern_name(asked), can_ask(asked));
        let headers = self.http_headers(asked, params)?;
        Ok(OutgoingRequest { id, method, text, headers, can_ask, cancellable: true })
    }

    fn request_meta(&self, extras: &RequestExtras, tasks: bool) -> Arc<RequestMeta> {
        let wished =
            extras.log_level.is_none().then(|| self.settings().log_level.clone()).flatten();
        let wanted = RequestMetaParts {
            version: self.facts().map_or(Version::LATEST, |facts| facts.version),
            info: self.client_info_json(),
            capabilities: extras.capabilities.as_ref().unwrap_or(&self.options.capabilities),
            tasks,
            log_level: extras.log_level.as_deref().or(wished.as_deref()),
        };
        self.declared.get_or_build(wanted, |given| {
            let dressed = self.with_roots(given);
            if tasks { with_tasks(dressed) } else { dressed }
        })
    }

    /// The client's name and version, as JSON.
    pub(crate) fn client_info_json(&self) -> &Raw {
        self.info.get_or_init(|| self.options.info.to_json())
    }

    /// The session's capabilities, with roots if the session has any.
    pub(crate) fn own_capabilities(&self) -> Raw {
        self.with_roots(self.options.capabilities.clone())
    }

    fn with_roots(&self, capabilities: Raw) -> Raw {
        if self.options.roots.is_none() || matches!(capabilities.peek_path(&["roots"]), Ok(Some(_)))
        {
            return capabilities;
        }
        capabilities.overwrite(&[JsonEdit::set(&["roots"], "{}")])
    }

    fn http_headers(&self, asked: &str, params: Option<&Raw>) -> Result<HeaderMap, Error> {
        let ServerChannel::Http(http) = &self.channel else {
            return Ok(HeaderMap::new());
        };
        let mut headers = self.era_headers(http, asked, params)?;
        if let Some(params) = params {
            trace_context::add_headers(&mut headers, params.as_str());
        }
        Ok(headers)
    }

    /// The headers that the session's era asks for.
    fn era_headers(
        &self,
        http: &HttpChannel,
        asked: &str,
        params: Option<&Raw>,
    ) -> Result<HeaderMap, Error> {
        let facts = self.facts();
        let Some(facts) = facts.filter(|facts| facts.era() == Era::Modern) else {
            return Ok(http.headers(self.facts().as_deref()));
        };
        let mut headers = headers::standard_headers(facts.version, asked, params);
        if asked == method::TOOLS_CALL {
            let name =
                params.and_then(|params| params.get("name").ok()?).and_then(|raw| raw.to_text());
            if let Some(tool) = name.and_then(|name| self.tools.get(&name)) {
                headers::add_params(&mut headers, &tool.headers, params)?;
            }
        }
        Ok(headers)
    }

    /// Sends a request of the session and returns its result.
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
            let mut out = self.prepare(asked, params, &RequestExtras::default())?;
            out.can_ask = false;
            match self.exchange(out).await? {
                Some(response) => {
                    return match response.outcome() {
                        ResponseOutcome::Result(result) => Ok(result),
                        ResponseOutcome::Error(error) => Err(Error::Rpc(error)),
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

    /// Sends a request and waits for its answer only. Returns `None` if the session had expired.
    pub(crate) async fn exchange(
        self: &Arc<Self>,
        out: OutgoingRequest,
    ) -> Result<Option<crate::envelope::Response>, Error> {
        let OpenOutcome::Stream(mut stream) = self.open(out).await? else {
            return Ok(None);
        };
        loop {
            match stream.next().await? {
                StreamItem::Last(response) => return Ok(Some(response)),
                StreamItem::Mail(CallArrival::Request(request)) => {
                    self.asked.remove(&request.id());
                    Box::pin(self.ask_inbox(request)).await;
                }
                StreamItem::Mail(_) => {}
            }
        }
    }

    pub(crate) fn generation(&self) -> u64 {
        match &self.channel {
            ServerChannel::Http(http) => http.generation(),
            ServerChannel::Link(_) => 0,
        }
    }

    /// Registers a request that came on a call's own stream as a question of that call. Returns `false` if it is
    /// refused.
    pub(crate) fn claim_request(&self, request: &Request, call: u64) -> bool {
        if self.asked.add(request, super::inbox::QuestionOwner::Call(call)) {
            return true;
        }
        let error = RpcError::new(crate::envelope::code::INTERNAL_ERROR, "too many questions wait");
        self.send_later(
            crate::envelope::Response::error(Some(&request.id()), &error).text().clone(),
        );
        false
    }
}

/// Declares tasks: a call that becomes a task is followed here, or handed to a caller that can follow it.
fn with_tasks(capabilities: Raw) -> Raw {
    let declared = JsonEdit::set(&["extensions", meta::TASKS_EXTENSION], "{}");
    capabilities.overwrite(&[declared])
}

fn is_about_tasks(asked: &str) -> bool {
    matches!(
        asked,
        method::TOOLS_CALL | method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL
    )
}

/// Whether the protocol lets a server ask questions before it answers this method.
pub(crate) fn can_ask(asked: &str) -> bool {
    matches!(asked, method::TOOLS_CALL | method::PROMPTS_GET | method::RESOURCES_READ)
}
