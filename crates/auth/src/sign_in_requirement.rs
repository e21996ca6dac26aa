//! What a server asks for when it turns us away, and where it was then: the beginning of every sign-in.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use parking_lot::Mutex;
use switchboard_wire::http::{
    ChallengeAction, CredentialChallenge, CredentialError, CredentialProvider, EndpointOptions,
    HttpEndpoint, HttpError, HttpPool, HttpPoolOptions, RequestLine,
};
use url::Url;

use crate::challenge::AuthenticateChallenges;
use crate::error::Error;
use crate::network_zone::NetworkZone;

/// Something a server that is protected answers 401 to, whatever else it thinks of it.
pub(crate) const PROBE_REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// What a server asked for when it turned us away.
#[derive(Clone, Debug, Default)]
pub struct SignInRequirement {
    /// Its challenges.
    pub challenges: AuthenticateChallenges,
    /// The address that it did so from, where no proxy stands between.
    pub remote: Option<IpAddr>,
}

/// No credentials, and a note of where a refusal came from.
#[derive(Default)]
struct RefusalRecorder(Mutex<Option<IpAddr>>);

// === impl SignInRequirement ===

impl SignInRequirement {
    /// Asks the server at `url`: nothing if it lets everybody in.
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
                let remote = *refusal.0.lock();
                Ok(Some(Self { challenges: AuthenticateChallenges::parse(&challenges), remote }))
            }
            Err(source) => Err(Error::Fetch { what, source }),
        }
    }

    /// Where the server is, as far as is known.
    pub(crate) fn zone(&self) -> Option<NetworkZone> {
        self.remote.map(NetworkZone::of_address)
    }
}

// === impl Refusal ===

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
        *self.0.lock() = challenge.remote;
        Box::pin(std::future::ready(ChallengeAction::GiveUp))
    }
}
