//! Word of changes, from the engine to the clients of a bridge.
//!
//! Changes of one moment are told together: a server that comes up brings four lists, one after the other. Which lists
//! changed is for the audiences to find out.

use std::sync::Arc;
use std::time::Duration;

use switchboard_core::engine::{EngineEvent, EngineEventKind};
use switchboard_core::{Engine, WorkspaceId};
use switchboard_wire::client::ListKind;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::watch;
use tokio::time::Instant;

use super::audience::Audiences;

/// Clients are told once nothing has changed for this long.
const QUIET_INTERVAL: Duration = Duration::from_millis(50);
/// Clients are told this long after the first change, whatever else changes.
const MAX_ANNOUNCE_DELAY: Duration = Duration::from_millis(500);
/// Announcements that are remembered until clients are told. Each is of one server and list.
const MAX_REMEMBERED_CHANGES: usize = 1024;

/// What the engine tells one bridge. It ends with the bridge.
pub(super) struct ChangeAnnouncer {
    workspace: WorkspaceId,
    audiences: Arc<Audiences>,
    events: broadcast::Receiver<EngineEvent>,
    /// Moves whenever a list could have changed.
    revisions: watch::Receiver<u64>,
}

/// The engine is gone.
struct EngineGone;

// === impl ChangeAnnouncer ===

impl ChangeAnnouncer {
    pub(super) fn new(engine: &Engine, workspace: WorkspaceId, audiences: Arc<Audiences>) -> Self {
        Self { events: engine.events(), revisions: engine.changes(), workspace, audiences }
    }

    /// Announces changes until the engine is gone.
    pub(super) async fn announce(mut self) {
        let mut said = Vec::new();
        while self.next(&mut said).await.is_ok() {
            let first = Instant::now();
            loop {
                let tell_at = (Instant::now() + QUIET_INTERVAL).min(first + MAX_ANNOUNCE_DELAY);
                match tokio::time::timeout_at(tell_at, self.next(&mut said)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(EngineGone)) => return,
                    Err(_) => break,
                }
            }
            self.audiences.announce_changes(&said);
            said.clear();
        }
    }

    /// Waits until a list may have changed. Safe to cancel.
    async fn next(&mut self, said: &mut Vec<(EngineEvent, ListKind)>) -> Result<(), EngineGone> {
        loop {
            let event = tokio::select! {
                changed = self.revisions.changed() => return changed.map_err(|_| EngineGone),
                event = self.events.recv() => event,
            };
            match event {
                Ok(event) if !event.workspaces.contains(&self.workspace) => {}
                Ok(event) => match event.what {
                    EngineEventKind::ListAnnounced(list) => {
                        if said.len() < MAX_REMEMBERED_CHANGES {
                            said.push((event, list));
                        }
                        return Ok(());
                    }
                    EngineEventKind::ResourceUpdated { ref uri, .. } => {
                        self.audiences.announce_resource(&event, uri);
                    }
                    // Of a state, lists are what a client sees; logs of no call are the hub's own.
                    _ => {}
                },
                // Lists are compared, so that no change of one is missed with its event.
                Err(RecvError::Lagged(_)) => return Ok(()),
                Err(RecvError::Closed) => return Err(EngineGone),
            }
        }
    }
}
