//! The sessions of the faces, in the buckets of the cluster.
//!
//! Used by the faces through `SharedSessions`. It turns settings into JSON and errors into those of the faces; what is
//! sealed and written is the cluster's business.

use futures_util::future::BoxFuture;
use switchboard_cluster::{
    ClusterError, MAX_CLIENT_BYTES, SessionName, SessionRecord, SessionStore,
};
use switchboard_gateway::face::replicas::{
    BegunSession, ReplicaError, SessionSettings, SessionState, SettingsEdit, SharedSession,
    SharedSessions,
};

/// The sessions of a cluster.
pub(super) struct ClusterSessions(pub(super) SessionStore);

/// The state that a record tells.
pub(super) fn to_state(record: &SessionRecord) -> SessionState {
    let settings = to_settings(record);
    // Settings that cannot be read are of another version: the session cannot be continued here.
    let ended = record.ended || settings.is_none();
    SessionState { version: record.version, ended, settings: settings.unwrap_or_default() }
}

fn to_settings(record: &SessionRecord) -> Option<SessionSettings> {
    match &record.settings {
        None => Some(SessionSettings::default()),
        Some(text) => serde_json::from_str(text).ok(),
    }
}

fn unreachable(error: ClusterError) -> ReplicaError {
    ReplicaError::Unreachable(Box::new(error))
}

#[cfg(test)]
#[path = "../../../gateway/tests/it/face/shared_sessions.rs"]
mod contract;

impl SharedSessions for ClusterSessions {
    fn begin<'a>(
        &'a self,
        owner: &'a str,
        client: &'a str,
    ) -> BoxFuture<'a, Result<BegunSession, ReplicaError>> {
        Box::pin(async move {
            if client.len() > MAX_CLIENT_BYTES {
                return Err(ReplicaError::TooLarge(format!(
                    "the `initialize` of a client may have {MAX_CLIENT_BYTES} bytes in a cluster, and this one has {}",
                    client.len()
                )));
            }
            let begun = self.0.begin(owner, client.as_bytes()).await;
            let (name, id) = begun.map_err(unreachable)?;
            Ok(BegunSession { id, name: name.as_str().to_owned() })
        })
    }

    fn find<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<SharedSession>, ReplicaError>> {
        Box::pin(async move {
            let Some(found) = self.0.find(owner, id).await.map_err(unreachable)? else {
                return Ok(None);
            };
            let (state, client) = (to_state(&found.record), String::from_utf8(found.client));
            Ok(client.ok().filter(|_| !state.ended).map(|client| SharedSession {
                name: found.name.as_str().to_owned(),
                client,
                state,
            }))
        })
    }

    fn state<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<SessionState, ReplicaError>> {
        Box::pin(async move {
            let record = self.0.record(&SessionName::of_text(name)).await;
            record.map(|record| to_state(&record)).map_err(unreachable)
        })
    }

    fn change<'a>(
        &'a self,
        name: &'a str,
        edit: SettingsEdit,
    ) -> BoxFuture<'a, Result<(), ReplicaError>> {
        Box::pin(async move {
            let change = |record: &mut SessionRecord| {
                let mut settings = to_settings(record).unwrap_or_default();
                edit.apply(&mut settings);
                record.settings = serde_json::to_string(&settings).ok();
            };
            let changed = self.0.change(&SessionName::of_text(name), change).await;
            changed.map(|_| ()).map_err(unreachable)
        })
    }

    fn end<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), ReplicaError>> {
        Box::pin(async move {
            let name = SessionName::of_text(name);
            self.0.end(&name).await.map_err(unreachable)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;

    use switchboard_cluster::{Cluster, ClusterOptions, ReplicaFacts};
    use switchboard_testkit::nats::NatsServer;

    use super::*;

    #[tokio::test]
    async fn they_keep_the_contract_of_all_shared_sessions() {
        let (nats, folder) = (NatsServer::start(), tempfile::tempdir().unwrap());
        let file = folder.path().join("keys");
        std::fs::write(&file, "ab".repeat(32)).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let options =
            ClusterOptions::new(nats.url().parse().unwrap(), "team".parse().unwrap(), file);
        let join = async || {
            let text = |text: &str| text.to_owned();
            let facts = ReplicaFacts { version: text("1"), host: text("a"), listen: text("b") };
            Cluster::join(&options, facts, Arc::new(|| None)).await.unwrap()
        };
        let (one, other) = (join().await, join().await);
        let sessions = |cluster: &Cluster| ClusterSessions(cluster.sessions().clone());
        contract::check(&sessions(&one), &sessions(&other)).await;
    }
}
