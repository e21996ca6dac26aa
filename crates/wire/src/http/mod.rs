//! The HTTP client: one pool, endpoints, event streams.
//!
//! Used by `client`, `link` and `ws`, and by `auth` and `sources` for their own requests. A [`HttpPool`] holds
//! connections, an [`HttpEndpoint`] is one URL with its headers and credentials, an [`HttpResponse`] is the response,
//! an [`SseStream`] its server-sent events. Dropping an `HttpResponse` or an `SseStream` closes that exchange; no
//! task stays behind. It does not know JSON-RPC: it reads content types, never a body.
//!
//! # Repeated requests
//!
//! A request is sent at most once, except where the server did not run it: after 401 and 403 answered by
//! [`ChallengeAction::Retry`], after a redirect that keeps the method, after an HTTP/2 stream was refused before
//! processing (`REFUSED_STREAM`, or above the last id of a `GOAWAY`), and after a pooled connection was found closed
//! before a byte of the request was written. When a server closes an idle connection just as a request goes out on
//! it, the request fails with [`HttpError::Closed`] and [`ResponseProgress::Nothing`]; only the caller can know
//! whether repeating it is safe.

mod address_filter;
mod classify;
mod credentials;
mod endpoint;
mod error;
mod options;
mod pool;
mod redirect;
mod response;
mod route;
mod send;
pub mod sse;
mod sse_stream;
mod tls;

pub use address_filter::{AddressFilter, AddressPredicate, NameResolver, SystemResolver};
pub use credentials::{
    BrowserSignIn, ChallengeAction, CredentialChallenge, CredentialError, CredentialProvider,
    NoCredentials, RequestLine, SignInInfo, SignInRevision, SignOutOutcome, StaticHeaders,
};
pub use endpoint::HttpEndpoint;
pub use error::{
    ConnectFailure, DisconnectKind, HttpError, RedirectRefusal, RequestSummary, ResponseProgress,
};
pub use options::{EndpointOptions, ResponseLimits};
pub use pool::{HttpPool, HttpPoolOptions, ProxySettings, ProxyVariables};
pub use response::{HttpResponse, ResponseBody};
pub use sse::SseEvent;
pub use sse_stream::SseStream;
pub use tls::{TlsClientIdentity, TlsOptions};

pub(crate) use error::Source;
pub(crate) use response::read_excerpt;
