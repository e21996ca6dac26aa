//! Word of changes, from the engine to the clients of a bridge.

use switchboard_core::engine::{Event, Happened};
use switchboard_core::{Engine, WorkspaceId};
use switchboard_wire::client::List;
use switchboard_wire::server::{Change, Changes};
use tokio::sync::broadcast::error::RecvError;

/// Tells until the engine is gone.
pub(super) async fn tell(engine: Engine, workspace: WorkspaceId, changes: Changes) {
    let mut events = engine.events();
    // Holding the engine would keep it from ending.
    drop(engine);
    loop {
        match events.recv().await {
            Ok(event) => pass_on(&workspace, event, &changes),
            // Which ones were missed nobody knows; so all of them.
            Err(RecvError::Lagged(_)) => {
                for list in [List::Tools, List::Prompts, List::Resources] {
                    changes.announce(Change::List(list));
                }
            }
            Err(RecvError::Closed) => return,
        }
    }
}

fn pass_on(workspace: &WorkspaceId, event: Event, changes: &Changes) {
    if !event.workspaces.contains(workspace) {
        return;
    }
    match event.what {
        Happened::List(List::Templates) => changes.announce(Change::List(List::Resources)),
        Happened::List(list) => changes.announce(Change::List(list)),
        Happened::ResourceUpdated { uri, .. } => changes.announce(Change::Resource(uri)),
        // Of a state, lists are what a client sees; logs of no call are the hub's own.
        _ => {}
    }
}
