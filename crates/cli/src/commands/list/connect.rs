//! Connecting to one server and leaving it again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard_wire::Error;
use switchboard_wire::client::{Client, ClientOptions, Target};
use tokio::sync::Semaphore;

use super::row::{Connection, Status};
use crate::hint::{self, Subject};
use crate::report::Failure;

/// A server that takes its time does not keep the others waiting for longer than this.
const SLOT: Duration = Duration::from_secs(1);
/// How long saying goodbye may take; a process is stopped well within it.
const GOODBYE: Duration = Duration::from_secs(3);

/// How one server is checked.
pub(super) struct Check {
    pub(super) name: String,
    pub(super) slots: Arc<Semaphore>,
    pub(super) timeout: Duration,
    pub(super) headers: Headers,
}

/// Where a server's headers come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Headers {
    /// Its entry.
    Written,
    /// A command as well, which is not run for a check.
    Helper,
}

impl Check {
    pub(super) async fn run(self, target: Target) -> (Status, Option<Client>) {
        let mut options = ClientOptions::new("switchboard", env!("CARGO_PKG_VERSION"));
        options.connect_timeout = self.timeout;
        options.listen = false;
        let slot = self.slots.acquire().await;
        let started = Instant::now();
        let mut connecting = std::pin::pin!(Client::connect(target, options));
        let connected = match tokio::time::timeout(SLOT, &mut connecting).await {
            Ok(connected) => connected,
            Err(_) => {
                drop(slot);
                connecting.await
            }
        };
        match connected {
            Ok((client, _inbox)) => (connected_to(&client, started.elapsed()), Some(client)),
            Err(error) => (self.failed(&error), None),
        }
    }

    fn failed(&self, error: &Error) -> Status {
        let subject = Subject::Configured(&self.name);
        let message = format!("cannot connect to `{}`", self.name);
        let failure = Failure::server(message, error, &subject);
        if failure.needs_authentication() && self.headers == Headers::Helper {
            return Status::Failed(failure.hinted(hint::helper_not_run()));
        }
        Status::Failed(failure)
    }
}

fn connected_to(client: &Client, took: Duration) -> Status {
    let facts = client.server();
    Status::Connected(Connection {
        name: facts.name(),
        version: facts.server_version(),
        protocol: facts.version.as_str(),
        era: facts.era().to_string(),
        connect_millis: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    })
}

/// Ends a connection; one that will not end in time is dropped, which ends it too.
pub(super) async fn close(client: &Client) {
    let _ = tokio::time::timeout(GOODBYE, client.close()).await;
}
