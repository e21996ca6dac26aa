//! Dressing a request for the era it is sent in, and the session's own requests.

use std::{borrow::Cow, sync::Arc};

use http::HeaderMap;

use super::{
    channel::ServerChannel,
    headers,
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
};

/// What a request carries besides what its caller wrote.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestExtras {
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

impl ClientSession {
    /// Dresses a request for this session's era under an id of its own.
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
            info: extras.client_info.as_ref().unwrap_or_else(|| self.client_info_json()),
            capabilities: extras.capabilities.as_ref().unwrap_or(&self.options.capabilities),
            tasks,
            log_level: extras.log_level.as_deref().or(wished.as_deref()),
        };
        self.declared.get_or_build(wanted, |given| {
            let dressed = self.with_roots(given);
            if tasks { with_tasks(dressed) } else { dressed }
        })
    }

    /// Who we are, as JSON.
    pub(crate) fn client_info_json(&self) -> &Raw {
        self.info.get_or_init(|| self.options.info.to_json())
    }

    /// The session's capabilities, roots among them where it has any.
    pub(crate) fn own_capabilities(&self) -> Raw {
        self.with_roots(self.options.capabilities.clone())
    }

    fn with_roots(&self, capabilities: Raw) -> Raw {
        if self.options.roots.is_none() || matches!(capabilities.peek_path(&["roots"]), Ok(Some(_)))
        {
            return capabilities;
        }
        capabilities.with_edits(&[JsonEdit::set(&["roots"], "{}")]).unwrap_or(capabilities)
    }

    fn http_headers(&self, asked: &str, params: Option<&Raw>) -> Result<HeaderMap, Error> {
        let ServerChannel::Http(http) = &self.channel else {
            return Ok(HeaderMap::new());
        };
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

    /// Sends a request and waits for the answer alone. `None`: the session was over.
    pub(crate) async fn exchange(
        self: &Arc<Self>,
        out: OutgoingRequest,
    ) -> Result<Option<crate::envelope::Response>, Error> {
        let OpenOutcome::Stream(mut stream) = self.open(out).await? else {
            return Ok(None);
        };
        loop {
            match stream.next().await? {
                StreamItem::Done(response) => return Ok(Some(response)),
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

    /// Takes a request that came on a call's own stream as that call's. `false`: refused.
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

/// A call that becomes a task is followed, or handed to whoever can: either way the server may make one of it.
fn with_tasks(capabilities: Raw) -> Raw {
    let declared = JsonEdit::set(&["extensions", meta::TASKS_EXTENSION], "{}");
    capabilities.with_edits(&[declared]).unwrap_or(capabilities)
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
