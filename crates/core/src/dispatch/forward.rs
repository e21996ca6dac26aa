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
use super::{CallError, CallFinish, RepeatSafety, Request, Stage};
use crate::connection::OpaqueCapabilities;
use crate::engine::{AppliedServer, WorkspaceSnapshot};

/// Where the parameters of an unknown method may name a tool or prompt.
const ITEM_PATHS: [&[&str]; 4] = [&["name"], &["ref", "name"], &["tool"], &["toolName"]];
/// Where the parameters of an unknown method may name a resource.
const URI_PATHS: [&[&str]; 2] = [&["uri"], &["ref", "uri"]];
/// The member of those parameters that may name several resources.
const URIS: &str = "uris";
/// The most resources of one request whose server is looked up.
const MAX_URIS: usize = 64;

/// The server of a request, and the tools and prompts of it that the request names.
struct Recipient {
    server: Arc<AppliedServer>,
    items: Vec<ItemReference>,
}

/// A tool or prompt that a request names.
struct ItemReference {
    path: &'static [&'static str],
    server: String,
    /// Its name there.
    name: String,
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
        if recipient.items.is_empty() {
            return Ok(request);
        }
        let (items, params) = (&recipient.items, request.params());
        let names: Vec<String> = items.iter().map(|item| quote(&item.name)).collect();
        let edits = items.iter().zip(&names).map(|(item, name)| JsonEdit::set(item.path, name));
        request.with_edits(&params, &edits.collect::<Vec<_>>())
    }

    async fn recipient(&self, request: &Request) -> Result<Recipient, CallError> {
        let params = request.params();
        if let Some(server) = &request.server {
            let items = self.named_items(&params, Some(server));
            return Ok(Recipient { server: self.applied_server(server)?, items });
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
        let mut items = self.named_items(params, None);
        if let Some(first) = items.first() {
            let server = first.server.clone();
            items.retain(|item| item.server == server);
            return Ok(Some(Recipient { server: self.applied_server(&server)?, items }));
        }
        let server = self.owner_of_uri(params).or_else(|| {
            match &declaring(&self.snapshot(), &request.method)[..] {
                [only] => Some((*only).to_owned()),
                _ => None,
            }
        });
        if let Some(server) = server {
            let server = self.applied_server(&server)?;
            return Ok(Some(Recipient { server, items: Vec::new() }));
        }
        Ok(self.only_server().map(|server| Recipient { server, items: Vec::new() }))
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

    /// The tools and prompts that the parameters name, of `server` or of any server.
    fn named_items(&self, params: &Raw, server: Option<&str>) -> Vec<ItemReference> {
        let snapshot = self.snapshot();
        let named = snapshot.catalog.names(self.caller.session().names);
        let find = |path: &'static [&'static str]| {
            let name = text_at(params, path)?;
            let tool = named.tool(&name).map(|listed| (listed.server(), &*listed.tool.name));
            let prompt =
                || named.prompt(&name).map(|listed| (listed.server(), &*listed.prompt.name));
            let (owner, name) = tool.or_else(prompt)?;
            let item = ItemReference { path, server: owner.to_owned(), name: name.to_owned() };
            server.is_none_or(|server| server == owner).then_some(item)
        };
        ITEM_PATHS.into_iter().filter_map(find).collect()
    }

    /// The server of the resources that the parameters name, if they are all of one server.
    fn owner_of_uri(&self, params: &Raw) -> Option<String> {
        let single = URI_PATHS.into_iter().filter_map(|path| text_at(params, path));
        let several = params.get(URIS).ok().flatten();
        let several = several.iter().flat_map(Raw::elements).filter_map(|uri| uri.to_text());
        let (snapshot, session) = (self.snapshot(), &self.caller.session().id);
        let owner = |uri: String| {
            let mentioned = self.caller.workspace().mentioning_server(session, &uri);
            snapshot.catalog.owner(&uri, mentioned.as_deref()).map(str::to_owned)
        };
        let mut owners = single.chain(several.take(MAX_URIS)).filter_map(owner);
        let first = owners.next()?;
        owners.all(|other| other == first).then_some(first)
    }
}

fn text_at(params: &Raw, path: &[&str]) -> Option<String> {
    params.get_path(path).ok().flatten()?.to_text()
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
