//! Resources that several servers have under one URI.
//!
//! URIs pass as servers give them, so that two servers may list the same one. Reading it reads that of the first. Such a
//! resource is tagged with its server where it is listed and where it was read, and a client that sends the tag along
//! reaches any of them.

use switchboard_core::dispatch::CallOutcome;
use switchboard_wire::envelope::RpcError;
use switchboard_wire::json::{JsonEdit, Raw, quote};
use switchboard_wire::server::HandlerRequest;

use super::call;
use super::view::BridgeView;

/// The key in `_meta` of the server that a resource is of.
pub(super) const SERVER_KEY: &str = "switchboard/server";
/// The key in `_meta` of the other servers that have the URI.
const OTHER_SERVERS_KEY: &str = "switchboard/otherServers";

/// An item with the tag of its server.
pub(super) fn tag_server(item: Raw, server: &str) -> Raw {
    item.with_edits(&[JsonEdit::set(&["_meta", SERVER_KEY], &quote(server))]).unwrap_or(item)
}

// === impl BridgeView ===

impl BridgeView {
    /// The server that a request for a resource names, if it names one.
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

    /// What was read, with its server and the others where several have the URI.
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
