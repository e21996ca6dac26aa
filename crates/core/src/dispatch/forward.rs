//! Forwards requests with methods that the engine does not know.
//!
//! Used by `dispatch`. It determines the server by a tool, prompt or resource in the parameters, by the only server
//! that declares the extension, or by the only server there is.

use std::sync::Arc;

use switchboard_wire::json::{Raw, decode_string};

use super::call_recorder::CallRecorder;
use super::prompts_and_resources::send_through;
use super::tool::text;
use super::{CallError, CallFinish, Request, Stage};
use crate::engine::{AppliedServer, ServerSnapshot};

/// The members in which a server declares its extensions.
const EXTENSION_MEMBERS: [&str; 2] = ["extensions", "experimental"];

/// Forwards a request to its server.
pub(super) async fn forward(
    stage: &Stage,
    request: Request,
    record: &mut CallRecorder,
) -> Result<CallFinish, CallError> {
    let placed = stage.recipient(&request)?;
    let asked = request.method.clone();
    send_through(stage, &placed, &asked, request, record).await
}

// === impl Stage ===

impl Stage {
    fn recipient(&self, request: &Request) -> Result<Arc<AppliedServer>, CallError> {
        if let Some(server) = &request.server {
            return self.applied_server(server);
        }
        if let [only] = self.applied.placed.all() {
            return Ok(only.clone());
        }
        let snapshot = self.snapshot();
        let named = self.owner_of_item(&request.params());
        let declared = || only_one(snapshot.servers.iter(), |view| declares(view, &request.method));
        match named.or_else(|| declared().map(|view| view.name.clone())) {
            Some(server) => self.applied_server(&server),
            None => Err(CallError::UnknownMethod {
                method: request.method.to_string(),
                servers: snapshot.catalog.servers().map(str::to_owned).collect(),
            }),
        }
    }

    /// The server of the tool, prompt or resource that the parameters name.
    fn owner_of_item(&self, params: &Raw) -> Option<String> {
        let catalog = &self.snapshot().catalog;
        let named = catalog.names(self.caller.session().names);
        if let Ok(name) = text(params, "name") {
            let tool = named.tool(&name).map(|listed| listed.server());
            return tool.or_else(|| Some(named.prompt(&name)?.server())).map(str::to_owned);
        }
        let uri = text(params, "uri").ok()?;
        let mentioned = self.caller.workspace().mentioning_server(&self.caller.session().id, &uri);
        catalog.owner(&uri, mentioned.as_deref()).map(str::to_owned)
    }
}

/// Whether a server declares an extension that a method belongs to: `vendor.example/things` has `things/list` and
/// `vendor.example/things/list`.
fn declares(view: &ServerSnapshot, method: &str) -> bool {
    let Some(facts) = &view.facts else { return false };
    let is_of = |extension: &str| {
        let short = extension.rsplit('/').next().unwrap_or(extension);
        [extension, short].iter().any(|name| {
            method.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let declared =
        EXTENSION_MEMBERS.iter().filter_map(|key| facts.capabilities.get(key).ok().flatten());
    declared.into_iter().any(|extensions| {
        let mut keys = extensions.members().filter_map(|member| decode_string(member.key));
        keys.any(|key| is_of(&key))
    })
}

/// Returns the only item that satisfies `so`.
fn only_one<T>(items: impl Iterator<Item = T>, so: impl Fn(&T) -> bool) -> Option<T> {
    let mut found = items.filter(so);
    let first = found.next();
    if found.next().is_some() { None } else { first }
}
