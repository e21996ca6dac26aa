//! What a server asks for when it turns us away, and where it was then: the beginning of every sign-in.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use switchboard_wire::http::{
    Challenge, CredentialError, Credentials, Endpoint, EndpointOptions, HttpError, Outgoing, Pool,
    PoolOptions, Verdict,
};
use url::Url;

use crate::challenge::Challenges;
use crate::error::Error;
use crate::zone::Zone;

/// Something a server that is protected answers 401 to, whatever else it thinks of it.
pub(crate) const QUESTION: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// What a server asked for when it turned us away.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    /// Its challenges.
    pub challenges: Challenges,
    /// The address that it did so from, where no proxy stands between.
    pub remote: Option<IpAddr>,
}

/// No credentials, and a note of where a refusal came from.
#[derive(Default)]
struct Refusal(Mutex<Option<IpAddr>>);

// === impl Demand ===

impl Demand {
    /// Asks the server at `url`: nothing if it lets everybody in.
    pub async fn of(url: &Url, network: &PoolOptions) -> Result<Option<Self>, Error> {
        let what = "what the server asks for";
        let pool = Pool::new(network).map_err(|source| Error::Fetch { what, source })?;
        let refusal = Arc::new(Refusal::default());
        let options =
            EndpointOptions { credentials: refusal.clone(), ..EndpointOptions::default() };
        let endpoint = Endpoint::new(pool, url.clone(), options);
        match endpoint.post(Bytes::from_static(QUESTION.as_bytes()), HeaderMap::new()).await {
            Ok(_) => Ok(None),
            Err(HttpError::Refused { challenges, .. }) => {
                let remote = *refusal.0.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(Some(Self { challenges: Challenges::parse(&challenges), remote }))
            }
            Err(source) => Err(Error::Fetch { what, source }),
        }
    }

    /// Where the server is, as far as is known.
    pub(crate) fn zone(&self) -> Option<Zone> {
        self.remote.map(Zone::of)
    }
}

// === impl Refusal ===

impl Credentials for Refusal {
    fn headers<'a>(&'a self, _: Outgoing<'a>) -> BoxFuture<'a, Result<HeaderMap, CredentialError>> {
        Box::pin(std::future::ready(Ok(HeaderMap::new())))
    }

    fn challenged<'a>(&'a self, challenge: &'a Challenge) -> BoxFuture<'a, Verdict> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = challenge.remote;
        Box::pin(std::future::ready(Verdict::GiveUp))
    }
}
