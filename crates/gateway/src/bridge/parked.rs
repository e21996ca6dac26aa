//! Calls that wait for their client to answer something.
//!
//! A handle is random and names one parked call. It works once, for the same principal and the same request, until it
//! expires; then the call is dropped, which cancels it at its server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use switchboard_core::Running;
use switchboard_core::dispatch::Question;
use switchboard_wire::json::Raw;
use switchboard_wire::server::Asked;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// Calls that may wait at once; the oldest go first.
const CAPACITY: usize = 1024;

/// Calls that wait. Clones share them.
#[derive(Clone)]
pub(super) struct Parked {
    patience: Duration,
    calls: Arc<Mutex<HashMap<String, Waiting>>>,
}

struct Waiting {
    bound: Bound,
    since: Instant,
    call: Call,
    /// Ends it when its time is up, and ends with it.
    _expiry: AbortOnDropHandle<()>,
}

/// A call, and what it waits for.
pub(super) struct Call {
    pub(super) running: Running,
    pub(super) question: Question,
}

/// Whom and what a handle is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bound {
    principal: String,
    request: [u8; 32],
}

// === impl Bound ===

impl Bound {
    /// The same for a request and for its repetition with answers.
    pub(super) fn of(principal: &str, asked: &Asked) -> Self {
        let mut digest = Sha256::new();
        let mut part = |bytes: &[u8]| {
            digest.update(bytes.len().to_le_bytes());
            digest.update(bytes);
        };
        part(asked.method.as_bytes());
        for key in ["name", "uri", "arguments"] {
            let member = asked.params.get(key).ok().flatten();
            part(member.as_ref().map_or("", Raw::as_str).as_bytes());
        }
        Self { principal: principal.to_owned(), request: digest.finalize().into() }
    }
}

// === impl Parked ===

impl Parked {
    pub(super) fn new(patience: Duration) -> Self {
        Self { patience, calls: Arc::default() }
    }

    /// Puts a call away; the handle, as a JSON string.
    pub(super) fn put(&self, bound: Bound, call: Call) -> Result<Raw, getrandom::Error> {
        let mut random = [0; 24];
        getrandom::fill(&mut random)?;
        let handle = URL_SAFE_NO_PAD.encode(random);
        let mut calls = self.lock();
        calls.retain(|_, waiting| waiting.since.elapsed() < self.patience);
        if calls.len() >= CAPACITY {
            let oldest = calls.iter().min_by_key(|(_, waiting)| waiting.since);
            if let Some(oldest) = oldest.map(|(handle, _)| handle.clone()) {
                calls.remove(&oldest);
            }
        }
        let expiry = self.expiry(handle.clone());
        let waiting = Waiting { bound, since: Instant::now(), call, _expiry: expiry };
        calls.insert(handle.clone(), waiting);
        drop(calls);
        Ok(Raw::string(&handle))
    }

    /// Takes a call back. `None`: there is none under this handle for this request, or no longer.
    pub(super) fn take(&self, handle: &Raw, bound: &Bound) -> Option<Call> {
        let handle = handle.to_text()?;
        let mut calls = self.lock();
        // Somebody else's handle does not end its call.
        (calls.get(&handle)?.bound == *bound).then_some(())?;
        calls.remove(&handle).map(|waiting| waiting.call)
    }

    fn expiry(&self, handle: String) -> AbortOnDropHandle<()> {
        let (calls, patience) = (Arc::downgrade(&self.calls), self.patience);
        AbortOnDropHandle::new(tokio::spawn(async move {
            tokio::time::sleep(patience).await;
            if let Some(calls) = calls.upgrade() {
                calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&handle);
            }
        }))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
