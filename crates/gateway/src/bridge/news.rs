//! Word of changes, from the engine to the clients of a bridge.

use std::sync::Arc;

use switchboard_core::engine::{Event, Happened};
use switchboard_core::{Engine, WorkspaceId};
use switchboard_wire::client::List;
use switchboard_wire::server::Change;
use tokio::sync::broadcast::error::RecvError;

use super::audience::Audiences;

/// Tells until the engine is gone.
pub(super) async fn tell(engine: Engine, workspace: WorkspaceId, audiences: Arc<Audiences>) {
    let mut events = engine.events();
    // Holding the engine would keep it from ending.
    drop(engine);
    loop {
        match events.recv().await {
            Ok(event) => pass_on(&workspace, &event, &audiences),
            // Which ones were missed nobody knows; so all of them.
            Err(RecvError::Lagged(_)) => {
                for list in [List::Tools, List::Prompts, List::Resources] {
                    audiences.announce_to_all(&Change::List(list));
                }
            }
            Err(RecvError::Closed) => return,
        }
    }
}

fn pass_on(workspace: &WorkspaceId, event: &Event, audiences: &Audiences) {
    if !event.workspaces.contains(workspace) {
        return;
    }
    match &event.what {
        Happened::List(List::Templates) => {
            audiences.announce(event, &Change::List(List::Resources));
        }
        Happened::List(list) => audiences.announce(event, &Change::List(*list)),
        Happened::ResourceUpdated { uri, .. } => {
            audiences.announce(event, &Change::Resource(uri.clone()));
        }
        // Of a state, lists are what a client sees; logs of no call are the hub's own.
        _ => {}
    }
}
