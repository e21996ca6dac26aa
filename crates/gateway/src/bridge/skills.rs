//! The skills of a server, for clients that know the extension.
//!
//! One server's skills are shown as they are. Those of several are not shown: the address of a skill does not say whose
//! it is, and a list put together of several could not be read from. A client that wants them asks for one server.

use std::sync::Arc;

use serde_json::Value;
use switchboard_core::Snapshot;
use switchboard_core::engine::ServerView;
use switchboard_wire::meta::SKILLS_EXTENSION;
use switchboard_wire::server::Asked;

use super::view::View;

// === impl View ===

impl View {
    /// The one server that has skills.
    pub(super) fn skilled(&self) -> Option<String> {
        let snapshot = self.snapshot()?;
        self.only(&snapshot).map(|(server, _)| server.name.clone())
    }

    /// What it says of them.
    pub(super) fn skills(&self) -> Option<Value> {
        let snapshot = self.snapshot()?;
        self.only(&snapshot).map(|(_, settings)| settings)
    }

    fn only<'a>(&self, snapshot: &'a Arc<Snapshot>) -> Option<(&'a ServerView, Value)> {
        let shown = snapshot.servers.iter().filter(|server| self.shows(&server.name));
        let mut skilled = shown.filter_map(|server| Some((server, declared(server)?)));
        let first = skilled.next();
        if skilled.next().is_some() { None } else { first }
    }
}

/// Whether a resource is a file of a skill. Those need not be on any list.
pub(super) fn is_file(asked: &Asked) -> bool {
    let uri = asked.params.get("uri").ok().flatten().and_then(|uri| uri.to_text());
    uri.is_some_and(|uri| uri.starts_with("skill://"))
}

fn declared(server: &ServerView) -> Option<Value> {
    let capabilities = &server.facts.as_ref()?.capabilities;
    capabilities.get_path(&["extensions", SKILLS_EXTENSION]).ok().flatten()?.decode().ok()
}
