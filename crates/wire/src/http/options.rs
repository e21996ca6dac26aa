//! Options of an HTTP endpoint: headers, credentials, timeouts, limits.
//!
//! Used by `endpoint` and by every crate that builds one. Options of the pool are in `pool`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;

use super::credentials::{CredentialProvider, HeaderNames, NoCredentials};

/// Bounds on received data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseLimits {
    /// The longest body that is read whole, in bytes (16 MiB).
    pub max_body: usize,
    /// The longest single event, in bytes (16 MiB).
    pub max_event: usize,
}

/// The headers, credentials, timeouts and limits of an endpoint.
#[derive(Clone)]
pub struct EndpointOptions {
    /// Headers of each request. Headers of the request itself and credentials override them.
    pub headers: HeaderMap,
    /// The provider of credentials, called before each request and after each refusal.
    pub credentials: Arc<dyn CredentialProvider>,
    /// How long the response may take to begin (60 s), for each attempt.
    pub first_byte: Duration,
    /// The longest pause within a body that is read whole (60 s). Event streams have no limit.
    pub idle: Duration,
    /// Bounds on received data.
    pub limits: ResponseLimits,
}

// === impl EndpointOptions ===

impl Default for EndpointOptions {
    fn default() -> Self {
        Self {
            headers: HeaderMap::new(),
            credentials: Arc::new(NoCredentials),
            first_byte: Duration::from_mins(1),
            idle: Duration::from_mins(1),
            limits: ResponseLimits::default(),
        }
    }
}

impl fmt::Debug for EndpointOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointOptions")
            .field("headers", &HeaderNames(&self.headers))
            .field("first_byte", &self.first_byte)
            .field("idle", &self.idle)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

// === impl ResponseLimits ===

impl Default for ResponseLimits {
    fn default() -> Self {
        Self { max_body: 16 << 20, max_event: 16 << 20 }
    }
}
