//! Resources with one URI at several servers.
//!
//! Used by `lists`, `call` and `refusal`. URIs pass unchanged, so two servers may list one URI; a read goes to the
//! first. Lists and results tag these resources with their server, and a client that sends the tag along reaches any
//! of the servers.

use switchboard_core::dispatch::CallOutcome;
use switchboard_wire::envelope::RpcError;
use switchboard_wire::json::{JsonEdit, Raw, quote};
use switchboard_wire::server::HandlerRequest;

use super::call;
use super::view::BridgeView;

/// The `_meta` key for the server of a resource.
pub(super) const SERVER_KEY: &str = "switchboard/server";
/// The `_meta` key for the other servers with the URI.
const OTHER_SERVERS_KEY: &str = "switchboard/otherServers";

/// Adds the tag of its server to an item.
pub(super) fn tag_server(item: Raw, server: &str) -> Raw {
    item.with_edits(&[JsonEdit::set(&["_meta", SERVER_KEY], &quote(server))]).unwrap_or(item)
}

// === impl BridgeView ===

impl BridgeView {
    /// The server that a request for a resource names, if any.
    pub(super) fn named_server(&self, asked: &HandlerRequest) -> Result<Option<String>, RpcError> {
        let named = asked.params.get_path(&["_meta", SERVER_KEY]).ok().flatten();
        let Some(server) = named.and_then(|named| named.to_text()) else { return Ok(None) };
        let is_there = self.snapshot().is_some_and(|shown| shown.server(&server).is_some());
        if is_there && self.shows(&server) {
            return Ok(Some(server));
        }
        Err(call::invalid_params(&format!(
            "`_meta[\"{SERVER_KEY}\"]`: there is no server `{server}` here"
        )))
    }

    /// The result of a read, tagged with its server and the others if several have the URI.
    pub(super) fn with_owner(&self, outcome: CallOutcome, asked: &HandlerRequest) -> Raw {
        let result = outcome.result;
        let uri = asked.params.get("uri").ok().flatten().and_then(|uri| uri.to_text());
        let catalog =
            self.principal().ok().and_then(|lease| self.bridge().engine.catalog_for(lease));
        let (Some(uri), Some(catalog), Some(server)) = (uri, catalog, outcome.server) else {
            return result;
        };
        let owners = catalog.owners(&uri).into_iter().filter(|owner| self.shows(owner));
        let others: Vec<&str> = owners.filter(|owner| *owner != server).collect();
        if others.is_empty() {
            return result;
        }
        let others = Raw::from_value(&others).unwrap_or_else(|_| Raw::null());
        let others = JsonEdit::set(&["_meta", OTHER_SERVERS_KEY], others.as_str());
        let tagged = tag_server(result, &server);
        tagged.with_edits(&[others]).unwrap_or(tagged)
    }
}
