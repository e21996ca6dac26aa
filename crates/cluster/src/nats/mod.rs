//! NATS as the cluster uses it: one connection that comes back by itself, and buckets of small values.
//!
//! Used by `cluster`, `heartbeat` and `status`. It seals nothing.

mod address;
mod bucket;
mod credentials;

use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event, jetstream};

pub use address::NatsAddresses;
pub(crate) use bucket::{Bucket, BucketPlan, StoreFacts};
pub(crate) use credentials::NatsCredentials;

use crate::{ClusterError, ClusterOptions};

/// How long connecting may take, with TLS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an answer of NATS may take.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(4);
/// The longest pause between two attempts to connect again.
const MAX_RECONNECT_PAUSE: Duration = Duration::from_secs(1);
/// How often an idle connection is checked.
const PING_INTERVAL: Duration = Duration::from_secs(5);
/// The oldest server with keys that expire.
const OLDEST_SERVER: (i64, i64, i64) = (2, 11, 0);
/// The most messages that wait for the connection.
const SEND_QUEUE: usize = 1024;

/// The connection of this replica.
#[derive(Debug, Clone)]
pub(crate) struct NatsConnection {
    pub(crate) jetstream: jetstream::Context,
    pub(crate) client: Client,
    /// The addresses, without users.
    servers: String,
}

// === impl NatsConnection ===

impl NatsConnection {
    /// Connects and checks the version. Later the connection comes back by itself, at the addresses of `options` only.
    pub(crate) async fn open(options: &ClusterOptions) -> Result<Self, ClusterError> {
        let servers = options.servers.redacted();
        let credentials = credentials::find(options)?;
        options.servers.check_protection(credentials.is_some())?;
        let connecting =
            connect_options(options, credentials).connect(options.servers.without_users()?).await;
        let client = connecting
            .map_err(|source| ClusterError::Connect { servers: servers.clone(), source })?;
        let jetstream =
            jetstream::ContextBuilder::new().timeout(ANSWER_TIMEOUT).build(client.clone());
        let connection = Self { jetstream, client, servers };
        connection.check_version()?;
        Ok(connection)
    }

    fn check_version(&self) -> Result<(), ClusterError> {
        let (major, minor, patch) = OLDEST_SERVER;
        if self.client.is_server_compatible(major, minor, patch) {
            return Ok(());
        }
        let (servers, version) = (self.servers.clone(), self.version());
        Err(ClusterError::Version { servers, version })
    }

    /// What the server says of its version.
    pub(crate) fn version(&self) -> String {
        self.client.server_info().version
    }

    /// The addresses, without users.
    pub(crate) fn servers(&self) -> &str {
        &self.servers
    }

    /// Waits for an answer of NATS.
    pub(crate) async fn within<T, E>(
        action: &'static str,
        asking: impl Future<Output = Result<T, E>>,
    ) -> Result<T, ClusterError>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        match tokio::time::timeout(ANSWER_TIMEOUT, asking).await {
            Ok(answer) => answer.map_err(|error| ClusterError::store(action, error)),
            Err(_) => Err(ClusterError::Timeout { action, seconds: ANSWER_TIMEOUT.as_secs() }),
        }
    }
}

fn connect_options(
    options: &ClusterOptions,
    credentials: Option<NatsCredentials>,
) -> ConnectOptions {
    let mut connect = ConnectOptions::new()
        .name(format!("switchboard {}", options.name))
        .connection_timeout(CONNECT_TIMEOUT)
        .request_timeout(Some(ANSWER_TIMEOUT))
        .ping_interval(PING_INTERVAL)
        .client_capacity(SEND_QUEUE)
        // NATS is not trusted to say where else it is: credentials go to the configured addresses alone.
        .ignore_discovered_servers()
        .require_tls(options.servers.need_tls())
        .reconnect_delay_callback(|attempts| {
            let millis = 50_u64.saturating_mul(1 << attempts.min(10));
            Duration::from_millis(millis).min(MAX_RECONNECT_PAUSE)
        })
        .event_callback(async |event| log_event(&event));
    if let Some(ca) = &options.ca_file {
        connect = connect.add_root_certificates(ca.clone());
    }
    match credentials {
        Some(NatsCredentials::User { user, password }) => connect.user_and_password(user, password),
        Some(NatsCredentials::Token(token)) => connect.token(token),
        None => connect,
    }
}

fn log_event(event: &Event) {
    match event {
        Event::Connected => tracing::info!("connected to NATS"),
        Event::Disconnected => tracing::warn!("the connection to NATS is lost"),
        other => tracing::debug!(%other, "NATS"),
    }
}
