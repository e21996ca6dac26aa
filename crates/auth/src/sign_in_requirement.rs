//! The server's demand for a sign-in: its challenges, and the address that they came from.
//!
//! Used by `sign_in` as the start of every sign-in, by `oauth_credentials` and by `switchboard login`.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use parking_lot::Mutex;
use switchboard_wire::http::{
    CredentialChallenge, EndpointOptions, HttpEndpoint, HttpError, HttpPool, HttpPoolOptions,
};
use url::Url;

use crate::challenge::AuthenticateChallenges;
use crate::error::Error;
use crate::network_zone::NetworkZone;
use crate::refusal_observer::RefusalObserver;

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

// === impl SignInRequirement ===

impl SignInRequirement {
    /// Sends a probe to the server at `url`; `None` if it demands no sign-in.
    pub async fn fetch(url: &Url, network: &HttpPoolOptions) -> Result<Option<Self>, Error> {
        let what = "the challenge of the server";
        let pool = HttpPool::new(network).map_err(|source| Error::Fetch { what, source })?;
        let remote = Arc::new(Mutex::new(None));
        let recorded = Arc::clone(&remote);
        let observer = RefusalObserver(move |refusal: &CredentialChallenge| {
            *recorded.lock() = refusal.remote;
        });
        let options =
            EndpointOptions { credentials: Arc::new(observer), ..EndpointOptions::default() };
        let endpoint = HttpEndpoint::new(pool, url.clone(), options);
        match endpoint.post(Bytes::from_static(PROBE_REQUEST.as_bytes()), HeaderMap::new()).await {
            Ok(_) => Ok(None),
            Err(HttpError::Refused { challenges, .. }) => {
                let remote = *remote.lock();
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
