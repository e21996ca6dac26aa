//! Who may come in: every request passes here before anything else looks at it.
//!
//! In order: the name the client used for us, the page that sent it, who it speaks for, how often it
//! asks. The guard knows nothing of what is asked.

mod forwarded;
mod held;
mod hosts;
mod peer;
mod rate;
#[cfg(target_os = "linux")]
mod sockets;
mod tokens;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts};

pub(super) use held::Held;
pub(super) use peer::Peer;
pub use tokens::{Caller, Denied, Tokens};

use super::{
    metrics::Metrics,
    options::{Access, FaceOptions, WithoutToken},
    refusal::{Reason, Refusal, Refused, empty},
};
use forwarded::forwarding_header;
pub use hosts::is_public_name;
use hosts::{Hosts, Origin};
pub(super) use rate::Rates;
use tokens::Wrong;

/// Whom a client of this machine's own user speaks for.
pub(super) const LOCAL: &str = "local";
/// Whom a client speaks for where nobody is asked.
const ANYONE: &str = "anyone";

/// The guard of one server.
pub(super) struct Guard {
    hosts: Hosts,
    access: Access,
    rates: Arc<Rates>,
    metrics: Arc<Metrics>,
    /// How often a token is looked at again that something lasting was asked for with.
    look: Duration,
}

/// Who stands at the door for requests that reveal nothing.
const OPEN: [&str; 3] = ["/health", "/healthz", "/readyz"];
/// What stands beside the faces asks itself who comes.
const BESIDE: [&str; 2] = ["/api/", "/console/"];
/// Where a resource says how one gets in (RFC 9728): for those who are not in yet.
pub(super) const DESCRIPTION: &str = "/.well-known/oauth-protected-resource";

// === impl Guard ===

impl Guard {
    pub(super) fn new(
        options: &FaceOptions,
        bound: SocketAddr,
        metrics: Arc<Metrics>,
        rates: Arc<Rates>,
    ) -> Self {
        Self {
            hosts: Hosts::new(bound, &options.hosts, &options.origins),
            access: options.access.clone().behind(&options.hosts),
            rates,
            metrics,
            look: options.times.keep_alive,
        }
    }

    /// Lets a request through to whoever answers it, or not.
    pub(super) async fn pass<A: Future<Output = Response>>(
        &self,
        mut request: Parts,
        peer: &Peer,
        answer: impl FnOnce(Parts, Option<Caller>) -> A,
    ) -> Response {
        let (mut response, origin) = match self.admit(&request, peer).await {
            Err(refusal) => (refusal.into_response(), None),
            Ok(Admitted { origin, .. }) if is_preflight(&request) => {
                (preflight(&request.headers), origin)
            }
            Ok(Admitted { origin, caller, held }) => {
                if let Some(held) = &held {
                    request.extensions.insert(held.clone());
                }
                let response = answer(request, caller).await;
                match held {
                    Some(held) if is_stream(&response) => {
                        (response.map(|body| held.over(body, self.look)), origin)
                    }
                    _ => (response, origin),
                }
            }
        };
        if let Some(origin) = origin {
            share(response.headers_mut(), origin);
        }
        if let Some(Refused(reason)) = response.extensions().get() {
            self.metrics.refused(*reason);
        }
        response
    }

    async fn admit(&self, request: &Parts, peer: &Peer) -> Result<Admitted, Refusal> {
        let headers = &request.headers;
        self.check_host(request, peer)?;
        let origin = self.hosts.check_origin(&request.uri, headers)?;
        if is_preflight(request) || is_open(request.uri.path()) {
            return Ok(Admitted { origin, caller: None, held: None });
        }
        let (caller, held) = self.caller(headers, request.uri.path(), peer).await?;
        self.rates.take(&caller.principal, 1)?;
        Ok(Admitted { origin, caller: Some(caller), held })
    }

    /// What was found out about a name holds for as long as the connection does.
    fn check_host(&self, request: &Parts, peer: &Peer) -> Result<(), Refusal> {
        let mut named = request.headers.get_all(header::HOST).iter();
        let only = match (named.next(), named.next(), request.uri.authority()) {
            (Some(name), None, None) => Some(name),
            _ => None,
        };
        if only.is_some_and(|name| peer.knows(name)) {
            return Ok(());
        }
        self.hosts.check_host(&request.uri, &request.headers, Some(peer.local.ip()))?;
        if let Some(name) = only {
            peer.learn(name);
        }
        Ok(())
    }

    async fn caller(
        &self,
        headers: &HeaderMap,
        path: &str,
        peer: &Peer,
    ) -> Result<(Caller, Option<Held>), Refusal> {
        if let Some(tokens) = &self.access.tokens
            && let Some(given) = headers.get(header::AUTHORIZATION)
        {
            let refused = |wrong| tokens::refusal(&**tokens, path, wrong);
            let token = tokens::bearer(given).ok_or_else(|| refused(Wrong::Unreadable))?;
            let principal = tokens.admit(token, path).await;
            let principal = principal.map_err(|denied| refused(Wrong::Denied(denied)))?;
            let caller = Caller::new(&principal);
            let held = Held::new(tokens, token, path, &caller.principal);
            return Ok((caller, Some(held)));
        }
        let proxied = forwarding_header(headers);
        match self.access.without_token {
            WithoutToken::Anyone => Ok((Caller::new(ANYONE), None)),
            WithoutToken::SameUser if proxied.is_none() && peer.is_same_user().await => {
                Ok((Caller::new(LOCAL), None))
            }
            WithoutToken::SameUser | WithoutToken::Refused => {
                let wrong = if proxied.is_some() { Wrong::Proxied } else { Wrong::Missing };
                Err(match &self.access.tokens {
                    Some(tokens) => tokens::refusal(&**tokens, path, wrong),
                    None => another_user(),
                })
            }
        }
    }
}

// === impl Access ===

impl Access {
    /// The same, where clients use these names for us. A name that others can use means that the other end of a
    /// connection may be a proxy: then it does not matter as which user it runs.
    fn behind(mut self, names: &[String]) -> Self {
        let is_public = names.iter().any(|name| is_public_name(name));
        if is_public && self.without_token == WithoutToken::SameUser {
            self.without_token = WithoutToken::Refused;
        }
        self
    }
}

/// Whether a principal is known by a token, rather than by being this machine's user or by nothing at all.
pub(super) fn is_token(principal: &str) -> bool {
    !matches!(principal, LOCAL | ANYONE)
}

fn is_open(path: &str) -> bool {
    let of_resource = path.strip_prefix(DESCRIPTION);
    let is_beside = path == "/" || BESIDE.iter().any(|folder| path.starts_with(folder));
    is_beside
        || OPEN.contains(&path)
        || of_resource.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn another_user() -> Refusal {
    let text = "only programs of the user who runs this hub, on the same machine and not through \
                a proxy, are let in without a token";
    Refusal::new(Reason::Peer, StatusCode::FORBIDDEN, text)
}

/// A request that may go on.
struct Admitted {
    origin: Option<Origin>,
    /// `None` where it does not matter who asks.
    caller: Option<Caller>,
    /// The token it came with.
    held: Option<Held>,
}

fn is_preflight(request: &Parts) -> bool {
    request.method == Method::OPTIONS
        && request.headers.contains_key(header::ORIGIN)
        && request.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Whether an answer may go on for as long as anybody listens.
pub(super) fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Tells the browser that a page may make this request.
fn preflight(asked: &HeaderMap) -> Response {
    let mut response = empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    let methods = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    // Tools choose names of headers, so there is no list of them.
    let wanted = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    headers.extend(wanted.map(|wanted| (header::ACCESS_CONTROL_ALLOW_HEADERS, wanted)));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

/// Tells the browser that the page may read the answer.
fn share(headers: &mut HeaderMap, Origin(origin): Origin) {
    const EXPOSED: HeaderValue = HeaderValue::from_static(
        "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after",
    );
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    headers.append(header::VARY, HeaderValue::from(HeaderName::from_static("origin")));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::face::options::Rate;

    #[test]
    fn a_name_that_was_right_makes_no_other_right() {
        let bound = "127.0.0.1:7420".parse().unwrap();
        let rates = Arc::new(Rates::new(Rate::Unlimited));
        let guard = Guard::new(&FaceOptions::local(), bound, Arc::default(), rates);
        let peer = Peer::new("127.0.0.1:1".parse().unwrap(), bound);
        for (uri, host, is_ours) in [
            ("/mcp", "localhost:7420", true),
            ("/mcp", "localhost:7420", true),
            ("/mcp", "evil.example", false),
            ("http://evil.example/mcp", "localhost:7420", false),
            ("/mcp", "127.0.0.1:7420", true),
            ("/mcp", "localhost:7420", true),
        ] {
            let request = http::Request::builder().uri(uri).header(header::HOST, host);
            let (request, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(guard.check_host(&request, &peer).is_ok(), is_ours, "{uri} at {host}");
        }
    }
}
