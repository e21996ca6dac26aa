//! The skills of a server, for clients that know the extension.
//!
//! Used by `view` and `call`. The skills of one server are shown unchanged. If several servers have skills, none are
//! shown: the URI of a skill does not name its server, so a merged list could not be read from. A client that wants
//! them opens a view of one server.

use std::sync::Arc;

use serde_json::Value;
use switchboard_core::WorkspaceSnapshot;
use switchboard_core::engine::ServerSnapshot;
use switchboard_wire::meta::SKILLS_EXTENSION;
use switchboard_wire::server::HandlerRequest;

use super::view::BridgeView;

// === impl BridgeView ===

impl BridgeView {
    /// The only server with skills.
    pub(super) fn skills_server(&self) -> Option<String> {
        let snapshot = self.snapshot()?;
        self.only_skills_server(&snapshot).map(|(server, _)| server.name.clone())
    }

    /// That server's skills capability.
    pub(super) fn skills(&self) -> Option<Value> {
        let snapshot = self.snapshot()?;
        self.only_skills_server(&snapshot).map(|(_, settings)| settings)
    }

    fn only_skills_server<'a>(
        &self,
        snapshot: &'a Arc<WorkspaceSnapshot>,
    ) -> Option<(&'a ServerSnapshot, Value)> {
        let shown = snapshot.servers.iter().filter(|server| self.shows(&server.name));
        let mut skilled = shown.filter_map(|server| Some((server, declared_skills(server)?)));
        let first = skilled.next();
        if skilled.next().is_some() { None } else { first }
    }
}

/// Whether a resource is a file of a skill, which need not be in a list.
pub(super) fn is_file(asked: &HandlerRequest) -> bool {
    let uri = asked.params.get("uri").ok().flatten().and_then(|uri| uri.to_text());
    uri.is_some_and(|uri| uri.starts_with("skill://"))
}

fn declared_skills(server: &ServerSnapshot) -> Option<Value> {
    let capabilities = &server.facts.as_ref()?.capabilities;
    capabilities.get_path(&["extensions", SKILLS_EXTENSION]).ok().flatten()?.decode().ok()
}
