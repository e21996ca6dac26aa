//! This program as one replica of several: joining the cluster, and what the hub and its faces get of it.
//!
//! Used by `commands::serve`. Without `--cluster` nothing of it runs. `switchboard_cluster` knows NATS, `gateway` knows
//! sessions; this module connects the two.

mod relay;
mod sealer;
mod sessions;
mod tokens;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use switchboard_cluster::{Cluster, ClusterError, ClusterOptions, ReplicaFacts};
use switchboard_config::Desired;
use switchboard_gateway::face::replicas::ReplicaGroup;
use switchboard_hub::{ProgramReplicas, ServedWorkspace};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::notice::Notice;
use crate::report::{Failure, FailureKind};
use crate::version::VERSION;
use relay::{ClusterRelay, forward_events};
use sealer::ClusterSealer;
use sessions::ClusterSessions;
use tokens::TokenSync;

/// What other replicas send and the faces have not taken yet.
const EVENT_QUEUE: usize = 1024;
/// The digits of a configuration's digest that are shown.
const DIGEST_BYTES: usize = 6;

/// This program's place in a cluster.
pub(crate) struct ClusterMember {
    cluster: Cluster,
    replicas: ProgramReplicas,
    /// What is served, once it is.
    served: Arc<OnceLock<Weak<ServedWorkspace>>>,
    _tasks: [AbortOnDropHandle<()>; 2],
}

// === impl ClusterMember ===

impl ClusterMember {
    /// Joins the cluster as the replica that listens at `address`.
    pub(crate) async fn join(
        options: &ClusterOptions,
        host: String,
        address: SocketAddr,
        state_dir: &Path,
    ) -> Result<Self, Failure> {
        let served: Arc<OnceLock<Weak<ServedWorkspace>>> = Arc::default();
        let facts = ReplicaFacts { version: VERSION.to_owned(), host, listen: address.to_string() };
        let of_config = Arc::clone(&served);
        let config = Arc::new(move || {
            let workspace = of_config.get()?.upgrade()?;
            Some(config_digest(&workspace.snapshot().desired))
        });
        let joining = Cluster::join(options, facts, config).await;
        let cluster = joining.map_err(|error| failure("cannot join the cluster", error))?;
        let changes = cluster.sessions().follow().await;
        let changes = changes.map_err(|error| failure("cannot follow the cluster", error))?;
        let tokens = share_tokens(&cluster, state_dir).await;
        let tokens = tokens.map_err(|error| failure("cannot share tokens", error))?;
        let no_tag =
            || Failure::plain(FailureKind::Failed, "the cluster gave this replica no name");
        let (Some(peers), Ok(tag)) = (cluster.peers().take_events(), cluster.id().as_str().parse())
        else {
            return Err(no_tag());
        };
        let (sender, events) = mpsc::channel(EVENT_QUEUE);
        let forwarding = tokio::spawn(forward_events(peers, changes, sender));
        let group = ReplicaGroup {
            tag,
            sessions: Arc::new(ClusterSessions(cluster.sessions().clone())),
            relay: Arc::new(ClusterRelay {
                peers: cluster.peers().clone(),
                contact: cluster.contact(),
            }),
            members: Arc::clone(cluster.members()),
            events: Arc::new(Mutex::new(Some(events))),
        };
        let replicas = ProgramReplicas {
            place: format!("cluster {}", options.name),
            sealer: Arc::new(ClusterSealer::new(cluster.keys().clone())),
            group,
        };
        let tasks = [AbortOnDropHandle::new(forwarding), tokens];
        Ok(Self { cluster, replicas, served, _tasks: tasks })
    }

    /// What the hub gets of the cluster.
    pub(crate) fn replicas(&self) -> &ProgramReplicas {
        &self.replicas
    }

    /// Tells the other replicas from now on which configuration is served.
    pub(crate) fn show_workspace(&self, workspace: &Arc<ServedWorkspace>) {
        // A replica serves one workspace.
        let _ = self.served.set(Arc::downgrade(workspace));
    }

    /// What a person should know about the cluster.
    pub(crate) fn notices(&self) -> impl Iterator<Item = Notice> {
        self.cluster.warnings().iter().map(|text| Notice::warning(text.clone()))
    }

    /// Leaves the cluster.
    pub(crate) async fn leave(self) -> Result<(), Failure> {
        self.cluster.leave().await.map_err(|error| failure("cannot leave the cluster", error))
    }
}

/// Merges this replica's tokens with those of the others, once and then whenever they change.
async fn share_tokens(
    cluster: &Cluster,
    state_dir: &Path,
) -> Result<AbortOnDropHandle<()>, ClusterError> {
    let mut sync = TokenSync::new(cluster.tokens().clone(), state_dir);
    sync.merge_first().await?;
    let rows = cluster.tokens().follow().await?;
    Ok(AbortOnDropHandle::new(tokio::spawn(sync.run(rows))))
}

/// A failure of the cluster, with what to do about it.
pub(crate) fn failure(message: &str, error: ClusterError) -> Failure {
    let hint = match &error {
        ClusterError::KeyFile { .. } => {
            Some("a key is a line of 32 random bytes: `openssl rand -hex 32 > cluster.key`")
        }
        ClusterError::FileAccess { .. } => Some("let only its owner read it: `chmod 600`"),
        ClusterError::Connect { .. } => {
            Some("check that NATS runs there, and that a firewall lets this machine in")
        }
        ClusterError::Space { .. } => Some(
            "raise `max_file_store` in the `jetstream` block of NATS: a cluster sets 560 MiB aside",
        ),
        ClusterError::Version { .. } => Some("install NATS 2.11 or later"),
        _ => None,
    };
    let failure = Failure::new(message, error);
    match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// A digest of what a configuration serves: equal on machines with the same servers, rules, hooks and settings, wherever
/// their files are. Values of variables are left out: they differ between machines.
fn config_digest(desired: &Desired) -> String {
    let mut servers: Vec<_> = desired
        .servers
        .iter()
        .map(|server| {
            format!("{} {} {}", server.name, server.state.name(), server.template.to_json())
        })
        .collect();
    servers.sort_unstable();
    let rules = [&desired.rules.allow, &desired.rules.deny, &desired.rules.ask];
    let rules = rules.map(|rules| rules.iter().map(|rule| rule.text.clone()).collect::<Vec<_>>());
    let mut digest = Sha256::new();
    let hooks = desired.hooks.iter().map(|hook| {
        format!("{:?} {:?} {} {:?}", hook.event, hook.matcher, hook.command, hook.timeout)
    });
    let settings = &desired.settings;
    let variables: Vec<_> = settings.env.keys().map(String::as_str).collect();
    let others = format!(
        "{:?} {:?} {:?} {variables:?}",
        settings.limits, settings.check_arguments, settings.start
    );
    let behaviour: Vec<_> = hooks.chain([others]).collect();
    for part in servers.iter().chain(rules.iter().flatten()).chain(&behaviour) {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    let digest = digest.finalize();
    let shown =
        digest.iter().take(DIGEST_BYTES).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{shown:0width$x}", width = 2 * DIGEST_BYTES)
}
