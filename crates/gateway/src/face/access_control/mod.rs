//! Who may come in: every request passes here before anything else looks at it.
//!
//! In order: the name the client used for us, the page that sent it, who it speaks for, how often it
//! asks. The guard knows nothing of what is asked.

mod forwarded;
mod hosts;
mod peer;
mod rate;
#[cfg(target_os = "linux")]
mod sock_diag;
mod token_in_use;
mod tokens;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts};

pub(super) use peer::Peer;
pub(super) use token_in_use::TokenInUse;
pub use tokens::{FaceCaller, TokenDenial, TokenVerifier};

use super::{
    metrics::Metrics,
    options::{AnonymousAccess, FaceAccess, FaceOptions},
    refusal::{HttpRefusal, RefusalMark, RefusalReason, empty_response},
};
use forwarded::forwarding_header;
pub use hosts::is_public_name;
use hosts::{AllowedHosts, RequestOrigin};
pub(super) use rate::RateLimiter;
use tokens::TokenFault;

/// Whom a client of this machine's own user speaks for.
pub(super) const LOCAL_USER_PRINCIPAL: &str = "local";
/// Whom a client speaks for where nobody is asked.
const ANYONE_PRINCIPAL: &str = "anyone";

/// The guard of one server.
pub(super) struct AccessControl {
    hosts: AllowedHosts,
    access: FaceAccess,
    rates: Arc<RateLimiter>,
    metrics: Arc<Metrics>,
    /// How often a token is looked at again that something lasting was asked for with.
    look: Duration,
}

/// Who stands at the door for requests that reveal nothing.
const OPEN_PATHS: [&str; 3] = ["/health", "/healthz", "/readyz"];
/// What stands beside the faces asks itself who comes.
const BESIDE_PREFIXES: [&str; 2] = ["/api/", "/console/"];
/// Where a resource says how one gets in (RFC 9728): for those who are not in yet.
pub(super) const RESOURCE_METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

// === impl AccessControl ===

impl AccessControl {
    pub(super) fn new(
        options: &FaceOptions,
        bound: SocketAddr,
        metrics: Arc<Metrics>,
        rates: Arc<RateLimiter>,
    ) -> Self {
        Self {
            hosts: AllowedHosts::new(bound, &options.hosts, &options.origins),
            access: options.access.clone().behind_names(&options.hosts),
            rates,
            metrics,
            look: options.times.keep_alive,
        }
    }

    /// Lets a request through to whoever answers it, or not.
    pub(super) async fn admit_and_answer<A: Future<Output = Response>>(
        &self,
        mut request: Parts,
        peer: &Peer,
        answer: impl FnOnce(Parts, Option<FaceCaller>) -> A,
    ) -> Response {
        let (mut response, origin) = match self.admit(&request, peer).await {
            Err(refusal) => (refusal.into_response(), None),
            Ok(RequestAdmission { origin, .. }) if is_preflight(&request) => {
                (preflight(&request.headers), origin)
            }
            Ok(RequestAdmission { origin, caller, held }) => {
                if let Some(held) = &held {
                    request.extensions.insert(held.clone());
                }
                let response = answer(request, caller).await;
                match held {
                    Some(held) if is_stream(&response) => {
                        (response.map(|body| held.bind_body(body, self.look)), origin)
                    }
                    _ => (response, origin),
                }
            }
        };
        if let Some(origin) = origin {
            allow_origin(response.headers_mut(), origin);
        }
        if let Some(RefusalMark(reason)) = response.extensions().get() {
            self.metrics.count_refusal(*reason);
        }
        response
    }

    async fn admit(&self, request: &Parts, peer: &Peer) -> Result<RequestAdmission, HttpRefusal> {
        let headers = &request.headers;
        self.check_host(request, peer)?;
        let origin = self.hosts.check_origin(&request.uri, headers)?;
        if is_preflight(request) || is_open(request.uri.path()) {
            return Ok(RequestAdmission { origin, caller: None, held: None });
        }
        let (caller, held) = self.caller(headers, request.uri.path(), peer).await?;
        self.rates.take(&caller.principal, 1)?;
        Ok(RequestAdmission { origin, caller: Some(caller), held })
    }

    /// What was found out about a name holds for as long as the connection does.
    fn check_host(&self, request: &Parts, peer: &Peer) -> Result<(), HttpRefusal> {
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
    ) -> Result<(FaceCaller, Option<TokenInUse>), HttpRefusal> {
        if let Some(tokens) = &self.access.tokens
            && let Some(given) = headers.get(header::AUTHORIZATION)
        {
            let refused = |wrong| tokens::token_refusal(&**tokens, path, wrong);
            let token =
                tokens::bearer_token(given).ok_or_else(|| refused(TokenFault::Unreadable))?;
            let principal = tokens.admit(token, path).await;
            let principal = principal.map_err(|denied| refused(TokenFault::Denied(denied)))?;
            let caller = FaceCaller::new(&principal);
            let held = TokenInUse::new(tokens, token, path, &caller.principal);
            return Ok((caller, Some(held)));
        }
        let proxied = forwarding_header(headers);
        match self.access.without_token {
            AnonymousAccess::Anyone => Ok((FaceCaller::new(ANYONE_PRINCIPAL), None)),
            AnonymousAccess::SameUser if proxied.is_none() && peer.is_same_user().await => {
                Ok((FaceCaller::new(LOCAL_USER_PRINCIPAL), None))
            }
            AnonymousAccess::SameUser | AnonymousAccess::Refused => {
                let wrong =
                    if proxied.is_some() { TokenFault::Proxied } else { TokenFault::Missing };
                Err(match &self.access.tokens {
                    Some(tokens) => tokens::token_refusal(&**tokens, path, wrong),
                    None => another_user(),
                })
            }
        }
    }
}

// === impl FaceAccess ===

impl FaceAccess {
    /// The same, where clients use these names for us. A name that others can use means that the other end of a
    /// connection may be a proxy: then it does not matter as which user it runs.
    fn behind_names(mut self, names: &[String]) -> Self {
        let is_public = names.iter().any(|name| is_public_name(name));
        if is_public && self.without_token == AnonymousAccess::SameUser {
            self.without_token = AnonymousAccess::Refused;
        }
        self
    }
}

/// Whether a principal is known by a token, rather than by being this machine's user or by nothing at all.
pub(super) fn is_token(principal: &str) -> bool {
    !matches!(principal, LOCAL_USER_PRINCIPAL | ANYONE_PRINCIPAL)
}

fn is_open(path: &str) -> bool {
    let of_resource = path.strip_prefix(RESOURCE_METADATA_PATH);
    let is_beside = path == "/" || BESIDE_PREFIXES.iter().any(|folder| path.starts_with(folder));
    is_beside
        || OPEN_PATHS.contains(&path)
        || of_resource.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn another_user() -> HttpRefusal {
    let text = "only programs of the user who runs this hub, on the same machine and not through \
                a proxy, are let in without a token";
    HttpRefusal::new(RefusalReason::Peer, StatusCode::FORBIDDEN, text)
}

/// A request that may go on.
struct RequestAdmission {
    origin: Option<RequestOrigin>,
    /// `None` where it does not matter who asks.
    caller: Option<FaceCaller>,
    /// The token it came with.
    held: Option<TokenInUse>,
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
    let mut response = empty_response(StatusCode::NO_CONTENT);
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
fn allow_origin(headers: &mut HeaderMap, RequestOrigin(origin): RequestOrigin) {
    const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
        "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after",
    );
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    headers.append(header::VARY, HeaderValue::from(HeaderName::from_static("origin")));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::face::options::RequestRate;

    #[test]
    fn a_name_that_was_right_makes_no_other_right() {
        let bound = "127.0.0.1:7420".parse().unwrap();
        let rates = Arc::new(RateLimiter::new(RequestRate::Unlimited));
        let guard = AccessControl::new(&FaceOptions::local(), bound, Arc::default(), rates);
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
