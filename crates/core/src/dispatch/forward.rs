//! Forwards requests and notifications with methods that the engine does not know.
//!
//! Used by `dispatch`. It determines the server by a tool, prompt or resource in the parameters, by the only server
//! that declares the extension, or by the only server there is. Servers that rules hide do not count. Permission judges
//! a method as the tool `method:<name>` of its server (`method_consent`). It does not know the meaning of a method.

use std::sync::Arc;

use switchboard_wire::json::{JsonEdit, Raw, quote};
use switchboard_wire::meta::method;

use super::call_recorder::CallRecorder;
use super::prompts_and_resources::{plain_outcome, send_through};
use super::tool::text;
use super::{CallError, CallFinish, RepeatSafety, Request, Stage};
use crate::connection::OpaqueCapabilities;
use crate::engine::{AppliedServer, WorkspaceSnapshot};

/// The server of a request, and the name there of the tool or prompt that the request names.
struct Recipient {
    server: Arc<AppliedServer>,
    item: Option<String>,
}

/// Forwards a request to its server.
pub(super) async fn forward(
    stage: &Stage,
    request: Request,
    record: &mut CallRecorder,
) -> Result<CallFinish, CallError> {
    if !method::is_extension_request(&request.method) {
        return Err(not_of_extension_error(&request));
    }
    let recipient = stage.recipient(&request).await?;
    let method = request.method.clone();
    let request = stage.permit_request(&recipient, request, record).await?;
    send_through(stage, &recipient.server, &method, request, record).await
}

/// Forwards a notification to its server.
pub(super) async fn notify(
    stage: &Stage,
    request: Request,
    record: &mut CallRecorder,
) -> Result<CallFinish, CallError> {
    if !method::is_extension_notification(&request.method) {
        return Err(not_of_extension_error(&request));
    }
    let recipient = stage.recipient(&request).await?;
    let placed = &*recipient.server;
    let method = request.method.clone();
    let request = stage.permit_request(&recipient, request, record).await?;
    let connection = stage.connection(placed).await?;
    let live = stage.ready(placed, &connection).await?;
    let sent = live.client.notify(&method, request.params.as_ref()).await;
    sent.map_err(|error| CallError::server(&placed.name, error, RepeatSafety::Harmless))?;
    Ok(CallFinish::done(plain_outcome(placed, Raw::empty_object())))
}

// === impl Stage ===

impl Stage {
    /// Checks that the request may be sent, and returns it in the form that its server gets.
    async fn permit_request(
        &self,
        recipient: &Recipient,
        request: Request,
        record: &mut CallRecorder,
    ) -> Result<Request, CallError> {
        let placed = &*recipient.server;
        record.set_server(placed);
        self.check_visible(placed, &request.method)?;
        if !is_known(&request.method) {
            let because = self.permit_method(placed, &request).await?;
            record.set_decision(&because);
        }
        let Some(item) = &recipient.item else { return Ok(request) };
        let params = request.params();
        request.with_edits(&params, &[JsonEdit::set(&["name"], &quote(item))])
    }

    async fn recipient(&self, request: &Request) -> Result<Recipient, CallError> {
        let params = request.params();
        if let Some(server) = &request.server {
            let item = self.named_item(&params, Some(server)).map(|(_, item)| item);
            return Ok(Recipient { server: self.applied_server(server)?, item });
        }
        if let Some(recipient) = self.known_recipient(request, &params)? {
            return Ok(recipient);
        }
        // A server whose lists and capabilities are still coming may be the one.
        self.await_first_lists(None).await;
        match self.known_recipient(request, &params)? {
            Some(recipient) => Ok(recipient),
            None => Err(CallError::UnknownMethod {
                method: request.method.to_string(),
                servers: candidates(&self.snapshot(), &request.method),
            }),
        }
    }

    fn known_recipient(
        &self,
        request: &Request,
        params: &Raw,
    ) -> Result<Option<Recipient>, CallError> {
        if let Some((server, item)) = self.named_item(params, None) {
            return Ok(Some(Recipient { server: self.applied_server(&server)?, item: Some(item) }));
        }
        let server = self.owner_of_uri(params).or_else(|| {
            match &declaring(&self.snapshot(), &request.method)[..] {
                [only] => Some((*only).to_owned()),
                _ => None,
            }
        });
        if let Some(server) = server {
            return Ok(Some(Recipient { server: self.applied_server(&server)?, item: None }));
        }
        Ok(self.only_server().map(|server| Recipient { server, item: None }))
    }

    /// The only server that there is, or that no rule hides.
    fn only_server(&self) -> Option<Arc<AppliedServer>> {
        let (permissions, principal) = (&self.applied.permissions, self.caller.rule_principal());
        let all = self.applied.placed.all();
        let mut visible =
            all.iter().filter(|placed| !permissions.hides_server(&placed.normal, principal));
        match (all, visible.next(), visible.next()) {
            ([only], ..) | (_, Some(only), None) => Some(Arc::clone(only)),
            _ => None,
        }
    }

    /// The server of the tool or prompt that `name` in the parameters is, and its name there.
    fn named_item(&self, params: &Raw, server: Option<&str>) -> Option<(String, String)> {
        let name = text(params, "name").ok()?;
        let snapshot = self.snapshot();
        let named = snapshot.catalog.names(self.caller.session().names);
        let tool = named.tool(&name).map(|listed| (listed.server(), &*listed.tool.name));
        let prompt = || named.prompt(&name).map(|listed| (listed.server(), &*listed.prompt.name));
        let (owner, item) = tool.or_else(prompt)?;
        let is_meant = server.is_none_or(|server| server == owner);
        is_meant.then(|| (owner.to_owned(), item.to_owned()))
    }

    /// The server of the resource that the parameters name.
    fn owner_of_uri(&self, params: &Raw) -> Option<String> {
        let uri = text(params, "uri").ok()?;
        let mentioned = self.caller.workspace().mentioning_server(&self.caller.session().id, &uri);
        self.snapshot().catalog.owner(&uri, mentioned.as_deref()).map(str::to_owned)
    }
}

/// Whether the program knows a method that is forwarded: reading skills is like reading resources.
fn is_known(asked: &str) -> bool {
    matches!(asked, method::SKILLS_LIST | method::SKILLS_GET | method::DIRECTORY_READ)
}

/// The error for a message of the protocol itself that is sent in the wrong direction or form.
fn not_of_extension_error(request: &Request) -> CallError {
    CallError::UnknownMethod { method: request.method.to_string(), servers: Vec::new() }
}

/// The servers that declare an extension that a method belongs to, without those that rules hide; if there is none,
/// those that declare an extension of the method's vendor.
fn declaring<'a>(snapshot: &'a WorkspaceSnapshot, method: &str) -> Vec<&'a str> {
    let declared = |server: &&str| {
        let facts = snapshot.server(server).and_then(|view| view.facts.as_ref());
        let reading = facts.map(|facts| OpaqueCapabilities::of_server(&facts.capabilities));
        reading.map(|reading| reading.declared).unwrap_or_default()
    };
    let servers = || snapshot.catalog.servers();
    let of_extension: Vec<&str> =
        servers().filter(|server| declared(server).has_method(method)).collect();
    if !of_extension.is_empty() {
        return of_extension;
    }
    servers().filter(|server| declared(server).has_vendor_of(method)).collect()
}

/// The servers that a request could be for: those that declare its extension, else all.
fn candidates(snapshot: &WorkspaceSnapshot, method: &str) -> Vec<String> {
    let declaring = declaring(snapshot, method);
    let all = || snapshot.catalog.servers().map(str::to_owned).collect();
    if declaring.is_empty() { all() } else { declaring.into_iter().map(str::to_owned).collect() }
}
