//! The server's demand for a sign-in: its challenges, and the address that they came from.
//!
//! Used by `sign_in` as the start of every sign-in, by `oauth_credentials` and by `switchboard login`.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use switchboard_wire::http::{
    ChallengeAction, CredentialChallenge, CredentialError, CredentialProvider, EndpointOptions,
    HttpEndpoint, HttpError, HttpPool, HttpPoolOptions, RequestLine,
};
use url::Url;

use crate::challenge::AuthenticateChallenges;
use crate::error::Error;
use crate::network_zone::NetworkZone;

/// A request that every protected server answers with 401.
pub(crate) const PROBE_REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// The refusal of a server that starts a sign-in.
#[derive(Clone, Debug, Default)]
pub struct SignInRequirement {
    /// The server's challenges.
    pub challenges: AuthenticateChallenges,
    /// The server's address, if no proxy stands between.
    pub remote: Option<IpAddr>,
}

/// A provider of no credentials that records the address of a server that refused.
#[derive(Default)]
struct RefusalRecorder(Mutex<Option<IpAddr>>);

// === impl SignInRequirement ===

impl SignInRequirement {
    /// Sends a probe to the server at `url`; `None` if it demands no sign-in.
    pub async fn fetch(url: &Url, network: &HttpPoolOptions) -> Result<Option<Self>, Error> {
        let what = "what the server asks for";
        let pool = HttpPool::new(network).map_err(|source| Error::Fetch { what, source })?;
        let refusal = Arc::new(RefusalRecorder::default());
        let options =
            EndpointOptions { credentials: refusal.clone(), ..EndpointOptions::default() };
        let endpoint = HttpEndpoint::new(pool, url.clone(), options);
        match endpoint.post(Bytes::from_static(PROBE_REQUEST.as_bytes()), HeaderMap::new()).await {
            Ok(_) => Ok(None),
            Err(HttpError::Refused { challenges, .. }) => {
                let remote = *refusal.0.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(Some(Self { challenges: AuthenticateChallenges::parse(&challenges), remote }))
            }
            Err(source) => Err(Error::Fetch { what, source }),
        }
    }

    /// The server's network zone, if it is known.
    pub(crate) fn zone(&self) -> Option<NetworkZone> {
        self.remote.map(NetworkZone::of_address)
    }
}

// === impl RefusalRecorder ===

impl CredentialProvider for RefusalRecorder {
    fn headers<'a>(
        &'a self,
        _: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, CredentialError>> {
        Box::pin(std::future::ready(Ok(HeaderMap::new())))
    }

    fn on_challenge<'a>(
        &'a self,
        challenge: &'a CredentialChallenge,
    ) -> BoxFuture<'a, ChallengeAction> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = challenge.remote;
        Box::pin(std::future::ready(ChallengeAction::GiveUp))
    }
}
