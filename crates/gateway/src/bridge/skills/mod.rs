//! The skills of all servers of a view, for clients that know the extension `io.modelcontextprotocol/skills`.
//!
//! Used by `view` and `call`. A view of several servers shows one list (`listing`), with addresses that name the server
//! (`address`), and translates them in requests and results: `skills/get`, `resources/read` and
//! `resources/directory/read`. Everything else of an entry, digests above all, stays as its server sent it. A view of
//! one server shows that server's skills unchanged. It checks no digest: that is the client's part.

mod address;
mod listing;

use serde_json::{Map, Value};
use switchboard_core::dispatch::CallOutcome;
use switchboard_core::{CallError, Request, skills};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::{JsonEdit, Raw, decode_string, quote};
use switchboard_wire::meta::method;
use switchboard_wire::server::HandlerRequest;

use self::address::SkillAddress;
use super::view::BridgeView;
use super::{call, owners};
use crate::view_provider::ViewSelection;

/// The only setting that the extension defines: whether `resources/directory/read` is there.
const DIRECTORY_READ_SETTING: &str = "directoryRead";

// === impl BridgeView ===

impl BridgeView {
    /// The settings of the extension for the client; `None` if no server has skills.
    ///
    /// In a view of several servers `directoryRead` is true if one server reads directories: a read goes to the server
    /// that its address names, and a server without the feature refuses it itself. Other settings have no meaning that
    /// could be merged and are left out.
    pub(super) fn skills(&self) -> Option<Value> {
        let snapshot = self.snapshot()?;
        if let ViewSelection::Server(only) = &self.opening.part {
            return skills::declared_settings(&snapshot, only)?.decode().ok();
        }
        let declared = skills::servers_with_skills(&snapshot)
            .filter_map(|server| skills::declared_settings(&snapshot, server));
        let reads = |settings: Raw| {
            matches!(settings.peek_path(&[DIRECTORY_READ_SETTING]), Ok(Some("true")))
        };
        let reads_directories = declared.map(reads).reduce(|one, other| one || other)?;
        let mut merged = Map::new();
        if reads_directories {
            merged.insert(DIRECTORY_READ_SETTING.to_owned(), Value::Bool(true));
        }
        Some(Value::Object(merged))
    }

    /// Whether the addresses of skills name their server in this view.
    pub(super) fn merges_skills(&self) -> bool {
        !matches!(self.opening.part, ViewSelection::Server(_))
    }

    /// The servers of the view that have skills.
    fn skill_servers(&self) -> Vec<String> {
        let Some(snapshot) = self.snapshot() else { return Vec::new() };
        let shown = skills::servers_with_skills(&snapshot).filter(|server| self.shows(server));
        shown.map(str::to_owned).collect()
    }

    /// The skill, or the file of one, that a request names by an address of this view. An address is one only while
    /// its server has skills; otherwise the text is a URI like any other.
    pub(super) fn requested_skill(&self, asked: &HandlerRequest) -> Option<SkillAddress> {
        if !has_skill_uri(&asked.method) {
            return None;
        }
        let uri = asked.params.peek_path(&["uri"]).ok()??;
        self.skill_at(&decode_string(uri)?)
    }

    /// Waits for starting servers if a request could be about a skill: only a connected server says whether it has
    /// skills, and this may be the first request since the program started.
    pub(super) async fn await_skill_servers(&self, asked: &HandlerRequest) -> Result<(), RpcError> {
        if !self.merges_skills() || !has_skill_uri(&asked.method) {
            return Ok(());
        }
        let is_about_skills = matches!(&*asked.method, method::SKILLS_GET | method::DIRECTORY_READ);
        let uri = || decode_string(asked.params.peek_path(&["uri"]).ok()??);
        if is_about_skills || uri().is_some_and(|uri| SkillAddress::parse(&uri).is_some()) {
            self.await_servers().await?;
        }
        Ok(())
    }

    /// The skill, or the file of one, at an address of this view.
    pub(super) fn skill_at(&self, uri: &str) -> Option<SkillAddress> {
        let address = SkillAddress::parse(uri).filter(|_| self.merges_skills())?;
        self.skill_servers().contains(&address.server).then_some(address)
    }

    /// Directs a request about skills to its server, with the server's own URI.
    pub(super) fn aim_at_skill(
        &self,
        request: Request,
        asked: &HandlerRequest,
    ) -> Result<Request, RpcError> {
        if !self.merges_skills() {
            return Ok(self.aim_at_server(request));
        }
        if let Some(server) = self.named_server(asked)? {
            return Ok(request.of_server(server));
        }
        let servers = self.skill_servers();
        match &servers[..] {
            [only] => Ok(request.of_server(only.clone())),
            [] if asked.method == method::SKILLS_GET => {
                let text = format!("Method not found: {}", asked.method);
                Err(RpcError::new(code::METHOD_NOT_FOUND, text))
            }
            // The engine knows which server listed or mentioned the URI.
            _ => Ok(request),
        }
    }

    /// The result of a request that named a skill by its address, with addresses of this view.
    pub(super) fn with_skill_addresses(
        &self,
        outcome: CallOutcome,
        asked: &HandlerRequest,
    ) -> CallOutcome {
        let Some(SkillAddress { server, .. }) = self.requested_skill(asked) else { return outcome };
        let result = match &*asked.method {
            method::SKILLS_GET => {
                let entry = outcome.result.get("skill").ok().flatten();
                entry.and_then(|entry| {
                    let entry = entry_with_addresses(&entry, &server)?;
                    Some(set(&outcome.result, "skill", &entry))
                })
            }
            method::DIRECTORY_READ => items_with_addresses(&outcome.result, "resources", &server),
            method::RESOURCES_READ => items_with_addresses(&outcome.result, "contents", &server),
            // The meaning of a result of an unknown method is unknown.
            _ => None,
        };
        let mut outcome = outcome;
        if let Some(result) = result {
            outcome.result = result;
        }
        outcome
    }

    /// The refusal of a request for a URI that could be of several servers, with the addresses that it could mean.
    pub(super) fn ambiguous_skill(
        &self,
        error: &CallError,
        asked: &HandlerRequest,
    ) -> Option<RpcError> {
        let is_ours = matches!(&*asked.method, method::SKILLS_GET | method::DIRECTORY_READ);
        if !is_ours || !matches!(error, CallError::UnknownMethod { .. }) {
            return None;
        }
        let uri = asked.params.get("uri").ok().flatten()?.to_text()?;
        let servers = self.skill_servers();
        let addresses = servers.iter().filter_map(|server| address::issue(server, &uri));
        let addresses: Vec<String> = addresses.map(|address| format!("`{address}`")).collect();
        let which = if addresses.is_empty() {
            "no server here has it".to_owned()
        } else {
            format!("several servers could have it; use one of {}", addresses.join(", "))
        };
        Some(call::invalid_params(&format!("`{uri}` does not say which server it is of: {which}")))
    }
}

/// The parameters of a request for a skill, with the server's own URI.
pub(super) fn with_own_uri(params: &Raw, address: &SkillAddress) -> Raw {
    set(params, "uri", &Raw::string(&address.uri))
}

/// The addresses that clients of a view may know a changed resource by: that of a skill, and the URI itself. A URI that
/// looks like the address of another server's skill is not announced as that.
pub(super) fn announced_addresses(part: &ViewSelection, server: &str, uri: &str) -> Vec<String> {
    if matches!(part, ViewSelection::Server(_)) {
        return vec![uri.to_owned()];
    }
    let own = Some(uri.to_owned()).filter(|uri| SkillAddress::parse(uri).is_none());
    own.into_iter().chain(address::issue(server, uri)).collect()
}

/// Whether messages of this method may name a skill, or a file of one, in `uri`: those of an extension may.
fn has_skill_uri(asked: &str) -> bool {
    asked == method::RESOURCES_READ
        || method::is_extension_request(asked)
        || method::is_extension_notification(asked)
}

/// Whether a request names a resource of the usual scheme of skills, which need not be in a list.
pub(super) fn is_skill_uri(asked: &HandlerRequest) -> bool {
    let uri = asked.params.get("uri").ok().flatten().and_then(|uri| uri.to_text());
    uri.is_some_and(|uri| uri.starts_with("skill://"))
}

/// An entry of `skills/list` with addresses of its server, and with the tag of its server. `None` if its `uri` cannot
/// become an address.
fn entry_with_addresses(entry: &Raw, server: &str) -> Option<Raw> {
    let entry = item_with_address(entry, server)?;
    let with_files = items_with_addresses(&entry, "resources", server).unwrap_or(entry);
    Some(owners::tag_server(with_files, server))
}

/// An object with the items of the list `member` under addresses. Items without a `uri` that can become one stay as
/// they are. `None` if there is no such list.
fn items_with_addresses(object: &Raw, member: &str, server: &str) -> Option<Raw> {
    let items = object.get(member).ok()??;
    if !items.as_str().starts_with('[') {
        return None;
    }
    let shown = items.elements().map(|item| item_with_address(&item, server).unwrap_or(item));
    Some(set(object, member, &Raw::array(shown)))
}

fn item_with_address(item: &Raw, server: &str) -> Option<Raw> {
    let uri = item.get("uri").ok()??.to_text()?;
    let address = quote(&address::issue(server, &uri)?);
    Some(item.clone().overwrite(&[JsonEdit::set(&["uri"], &address)]))
}

fn set(object: &Raw, member: &str, value: &Raw) -> Raw {
    object.clone().overwrite(&[JsonEdit::set(&[member], value.as_str())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_resource_is_announced_under_the_address_of_its_own_server() {
        let (everything, one) = (ViewSelection::Everything, ViewSelection::Server("one".into()));
        for (part, uri, expected) in [
            (&everything, "skill://a", &["skill://a", "skill://one.switchboard/a"][..]),
            (&everything, "note://a", &["note://a", "skill://note+one.switchboard/a"]),
            (&everything, "urn:a", &["urn:a"]),
            (
                &everything,
                "skill://two.switchboard/a",
                &["skill://one.switchboard/two.switchboard/a"],
            ),
            (&one, "skill://two.switchboard/a", &["skill://two.switchboard/a"]),
        ] {
            assert_eq!(announced_addresses(part, "one", uri), expected, "{uri}");
        }
    }
}
