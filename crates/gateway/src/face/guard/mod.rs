//! Who may come in: every request passes here before anything else looks at it.
//!
//! In order: the name the client used for us, the page that sent it, who it speaks for, how often it
//! asks. The guard knows nothing of what is asked.

mod held;
mod hosts;
mod peer;
mod rate;
mod tokens;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts};

pub(super) use held::Held;
pub(super) use peer::Peer;
pub use tokens::{Caller, Tokens};

use super::{
    metrics::Metrics,
    options::{Access, FaceOptions, WithoutToken},
    refusal::{Reason, Refusal, Refused, empty},
};
use hosts::{Hosts, Origin};
use rate::Rates;

/// Whom a client of this machine's own user speaks for.
const LOCAL: &str = "local";
/// Whom a client speaks for where nobody is asked.
const ANYONE: &str = "anyone";

/// The guard of one server.
pub(super) struct Guard {
    hosts: Hosts,
    access: Access,
    rates: Rates,
    metrics: Arc<Metrics>,
    /// How often a token is looked at again that something lasting was asked for with.
    look: Duration,
}

/// Who stands at the door for requests that reveal nothing.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];

// === impl Guard ===

impl Guard {
    pub(super) fn new(options: &FaceOptions, bound: SocketAddr, metrics: Arc<Metrics>) -> Self {
        Self {
            hosts: Hosts::new(bound, &options.hosts, &options.origins),
            access: options.access.clone(),
            rates: Rates::new(options.limits.rate),
            metrics,
            look: options.times.keep_alive,
        }
    }

    async fn admit(&self, request: &Parts) -> Result<Admitted, Refusal> {
        let headers = &request.headers;
        let peer = request.extensions.get::<Arc<Peer>>();
        let local = peer.map(|peer| peer.local.ip());
        self.hosts.check_host(&request.uri, headers, local)?;
        let origin = self.hosts.check_origin(headers, local)?;
        if is_preflight(request) || OPEN.contains(&request.uri.path()) {
            return Ok(Admitted { origin, caller: None, held: None });
        }
        let (caller, held) = self.caller(headers, peer).await?;
        self.rates.take(&caller.principal)?;
        Ok(Admitted { origin, caller: Some(caller), held })
    }

    async fn caller(
        &self,
        headers: &HeaderMap,
        peer: Option<&Arc<Peer>>,
    ) -> Result<(Caller, Option<Held>), Refusal> {
        if let Some(tokens) = &self.access.tokens
            && let Some(given) = headers.get(header::AUTHORIZATION)
        {
            let token = tokens::bearer(given)
                .ok_or_else(|| tokens::refusal(&**tokens, Some("invalid_request")))?;
            let principal = tokens.principal(token).await;
            let refused = || tokens::refusal(&**tokens, Some("invalid_token"));
            let caller = Caller::new(&principal.ok_or_else(refused)?);
            let held = Held::new(tokens, token, &caller.principal);
            return Ok((caller, Some(held)));
        }
        match (self.access.without_token, peer) {
            (WithoutToken::Anyone, _) => Ok((Caller::new(ANYONE), None)),
            (WithoutToken::SameUser, Some(peer)) if peer.is_same_user().await => {
                Ok((Caller::new(LOCAL), None))
            }
            _ => Err(match &self.access.tokens {
                Some(tokens) => tokens::refusal(&**tokens, None),
                None => another_user(),
            }),
        }
    }
}

fn another_user() -> Refusal {
    let text = "only programs of the user who runs this hub, on the same machine, are let in \
                without a token";
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

/// Lets a request through to the routes, or not.
pub(super) async fn pass(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut request, body) = request.into_parts();
    let (mut response, origin) = match guard.admit(&request).await {
        Err(refusal) => (refusal.into_response(), None),
        Ok(Admitted { origin, .. }) if is_preflight(&request) => {
            (preflight(&request.headers), origin)
        }
        Ok(Admitted { origin, caller, held }) => {
            if let Some(caller) = caller {
                request.extensions.insert(caller);
            }
            if let Some(held) = &held {
                request.extensions.insert(held.clone());
            }
            let response = next.run(Request::from_parts(request, body)).await;
            match held {
                Some(held) if is_stream(&response) => {
                    (response.map(|body| held.over(body, guard.look)), origin)
                }
                _ => (response, origin),
            }
        }
    };
    if let Some(origin) = origin {
        share(response.headers_mut(), origin);
    }
    if let Some(Refused(reason)) = response.extensions().get() {
        guard.metrics.refused(*reason);
    }
    response
}

/// Lets a request through that uses our name and comes from no other page. Pages of elsewhere may never read the answer.
pub(super) async fn pass_named(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    let local = request.extensions().get::<Arc<Peer>>().map(|peer| peer.local.ip());
    let hosts = &guard.hosts;
    let named = hosts.check_host(request.uri(), request.headers(), local);
    match named.and_then(|()| hosts.check_origin(request.headers(), local)) {
        Ok(_) => next.run(request).await,
        Err(refusal) => {
            guard.metrics.refused(refusal.reason);
            refusal.into_response()
        }
    }
}

/// Whether an answer may go on for as long as anybody listens.
fn is_stream(response: &Response) -> bool {
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
