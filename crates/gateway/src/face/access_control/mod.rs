//! Access control: admits or refuses every HTTP request before a face sees it.
//!
//! Used by `routes` and `accept`. It checks, in order: the host name, the origin page, the principal, the request
//! rate. It does not look at the body, and decides nothing about tools.

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
use switchboard_core::principal::{ANYONE_PRINCIPAL, LOCAL_PRINCIPAL, Principal};

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

/// The access control of one server.
pub(super) struct AccessControl {
    hosts: AllowedHosts,
    access: FaceAccess,
    rates: Arc<RateLimiter>,
    metrics: Arc<Metrics>,
    /// How often the token of a stream is verified again.
    look: Duration,
}

/// Paths without access control: they reveal nothing.
const OPEN_PATHS: [&str; 3] = ["/health", "/healthz", "/readyz"];
/// Paths beside the faces, which have their own access control.
const BESIDE_PREFIXES: [&str; 3] = ["/api/", "/console/", "/sign-in/"];
/// The path of the resource metadata (RFC 9728), which clients need before they have a token.
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

    /// Admits a request and has it answered, or refuses it.
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
        self.rates.take(caller.principal.id(), 1)?;
        Ok(RequestAdmission { origin, caller: Some(caller), held })
    }

    /// Checks the host name, once for each name on a connection.
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
            let held = TokenInUse::new(tokens, token, path, principal.clone());
            return Ok((FaceCaller { principal }, Some(held)));
        }
        let proxied = forwarding_header(headers);
        match self.access.without_token {
            AnonymousAccess::Anyone => Ok((FaceCaller { principal: Principal::anyone() }, None)),
            AnonymousAccess::SameUser if proxied.is_none() && peer.is_same_user().await => {
                Ok((FaceCaller { principal: Principal::local() }, None))
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
    /// Adjusts the access to the allowed names. If other machines can use one of the names, a connection may come
    /// from a proxy, and its user then proves nothing.
    fn behind_names(mut self, names: &[String]) -> Self {
        let is_public = names.iter().any(|name| is_public_name(name));
        if is_public && self.without_token == AnonymousAccess::SameUser {
            self.without_token = AnonymousAccess::Refused;
        }
        self
    }
}

/// Whether a principal was identified by a token, not as the hub's own user or as anyone.
pub(super) fn is_token(principal: &str) -> bool {
    !matches!(principal, LOCAL_PRINCIPAL | ANYONE_PRINCIPAL)
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

/// An admitted request.
struct RequestAdmission {
    origin: Option<RequestOrigin>,
    /// The caller; `None` on open paths.
    caller: Option<FaceCaller>,
    /// The token of the request.
    held: Option<TokenInUse>,
}

fn is_preflight(request: &Parts) -> bool {
    request.method == Method::OPTIONS
        && request.headers.contains_key(header::ORIGIN)
        && request.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Whether a response is a stream without a definite end.
pub(super) fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Answers a preflight: the browser may send the page's request.
fn preflight(asked: &HeaderMap) -> Response {
    let mut response = empty_response(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    let methods = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    // Tools choose header names, so there is no fixed list.
    let wanted = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    headers.extend(wanted.map(|wanted| (header::ACCESS_CONTROL_ALLOW_HEADERS, wanted)));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

/// Lets the page read the response.
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
