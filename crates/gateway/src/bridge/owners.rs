//! Owners of resources: the tags that tell apart resources with one URI at several servers.
//!
//! Used by the bridge's lists, calls, views and refusals. URIs pass as servers give them, so two servers may list the
//! same one. Reading or subscribing to it reaches the first server. The bridge tags such a resource with its server
//! in lists, and tags read contents wherever more than one server may have resources. A client that sends the tag
//! along reaches any of the servers. It does not change URIs.

use switchboard_core::catalog::is_ui_uri;
use switchboard_core::dispatch::CallOutcome;
use switchboard_wire::envelope::RpcError;
use switchboard_wire::json::{JsonEdit, Raw, quote};
use switchboard_wire::server::HandlerRequest;

use super::call;
use super::view::BridgeView;

/// The `_meta` key for the server of a resource.
pub(crate) const SERVER_KEY: &str = "switchboard/server";
/// The `_meta` key for the other servers with the URI.
const OTHER_SERVERS_KEY: &str = "switchboard/otherServers";

/// Adds the tag of its server to an item.
pub(super) fn tag_server(item: Raw, server: &str) -> Raw {
    item.overwrite(&[JsonEdit::set(&["_meta", SERVER_KEY], &quote(server))])
}

/// The server that the `_meta` of a request names.
pub(super) fn server_tag(meta: &Raw) -> Option<String> {
    meta.get(SERVER_KEY).ok().flatten()?.to_text()
}

// === impl BridgeView ===

impl BridgeView {
    /// The server that a request for a resource names, if any.
    pub(super) fn named_server(&self, asked: &HandlerRequest) -> Result<Option<String>, RpcError> {
        let meta = asked.params.get("_meta").ok().flatten();
        meta.and_then(|meta| server_tag(&meta)).map(|server| self.shown_server(server)).transpose()
    }

    /// A server that a request names.
    pub(super) fn shown_server(&self, server: String) -> Result<String, RpcError> {
        let is_there = self.snapshot().is_some_and(|shown| shown.server(&server).is_some());
        if is_there && self.shows(&server) {
            return Ok(server);
        }
        Err(call::invalid_params(&format!(
            "`_meta[\"{SERVER_KEY}\"]`: there is no server `{server}` here"
        )))
    }

    /// Returns the read contents, tagged with their server where another server has resources too, or may have, and
    /// with the other servers that have the URI.
    pub(super) fn with_owner(&self, outcome: CallOutcome, asked: &HandlerRequest) -> Raw {
        let result = outcome.result;
        let uri = asked.params.get("uri").ok().flatten().and_then(|uri| uri.to_text());
        let (Some(uri), Some(snapshot), Some(server)) = (uri, self.snapshot(), outcome.server)
        else {
            return result;
        };
        if is_ui_uri(&uri) {
            // The address of its contents names the server.
            return result;
        }
        let coming = snapshot.servers_coming().map(|coming| coming.name.as_str());
        let mut candidates = snapshot.servers_with_resources().chain(coming);
        if !candidates.any(|other| other != server && self.shows(other)) {
            return result;
        }
        let tagged = tag_server(result, &server);
        let owners = snapshot.catalog.owners(&uri).into_iter();
        let others: Vec<&str> =
            owners.filter(|owner| *owner != server && self.shows(owner)).collect();
        if others.is_empty() {
            return tagged;
        }
        let others = Raw::array(others.into_iter().map(Raw::string));
        let others = JsonEdit::set(&["_meta", OTHER_SERVERS_KEY], others.as_str());
        tagged.overwrite(&[others])
    }
}
