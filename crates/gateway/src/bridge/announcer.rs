//! The announcer: turns events of the engine into change notifications for the clients of a bridge.
//!
//! Used by `bridge`, one task for each bridge. It combines changes that come close together, since a starting server
//! brings four lists, one after the other. It does not find out which lists changed (`audience`).

use std::sync::Arc;
use std::time::Duration;

use switchboard_core::engine::{EngineEvent, EngineEventKind};
use switchboard_core::{Engine, WorkspaceId};
use switchboard_wire::client::ListKind;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::watch;
use tokio::time::Instant;

use super::audience::Audiences;

/// Clients are told after this long without a change.
const QUIET_INTERVAL: Duration = Duration::from_millis(50);
/// Clients are told at the latest this long after the first change.
const MAX_ANNOUNCE_DELAY: Duration = Duration::from_millis(500);
/// The most announcements kept until clients are told. Each is one list of one server.
const MAX_REMEMBERED_CHANGES: usize = 1024;

/// The events of the engine for one bridge. It ends with the bridge.
pub(super) struct ChangeAnnouncer {
    workspace: WorkspaceId,
    audiences: Arc<Audiences>,
    events: broadcast::Receiver<EngineEvent>,
    /// Changes whenever a list may have changed.
    revisions: watch::Receiver<u64>,
}

/// The engine has ended.
struct EngineGone;

// === impl ChangeAnnouncer ===

impl ChangeAnnouncer {
    pub(super) fn new(engine: &Engine, workspace: WorkspaceId, audiences: Arc<Audiences>) -> Self {
        Self { events: engine.events(), revisions: engine.changes(), workspace, audiences }
    }

    /// Announces changes until the engine ends.
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

    /// Waits until a list may have changed. Cancel-safe.
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
                    EngineEventKind::Notification(ref notification) => {
                        self.audiences.pass_on(&event, notification);
                    }
                    // Other events do not change a list, and logs outside calls are the hub's.
                    _ => {}
                },
                // Lists are compared, so that a lost event loses no change.
                Err(RecvError::Lagged(_)) => return Ok(()),
                Err(RecvError::Closed) => return Err(EngineGone),
            }
        }
    }
}
