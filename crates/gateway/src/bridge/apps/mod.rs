//! MCP Apps (`io.modelcontextprotocol/ui`) for clients of the gateway: addresses of UI resources, and calls of apps.
//!
//! Used by `view`, `lists`, `call`, `tasks` and `audience`. A client of several servers sees UI resources under
//! addresses that name their server (`address`, `translate`). An app knows only its own server, and its host passes
//! on the names that the app uses. So a tool that the client's view does not have is looked for at the servers whose
//! UI the session has read. It does not show apps, and does not decide whether a call is permitted.

mod address;
mod translate;

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use switchboard_core::Caller;
use switchboard_core::catalog::{Catalog, ListedTool, is_ui_uri};
use switchboard_core::dispatch::{CallOrigin, LIST_RESOURCES_TOOL, READ_RESOURCE_TOOL};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::meta::{UI_EXTENSION, method};
use switchboard_wire::server::{HandlerRequest, RequestContext};

pub(super) use address::UiAddress;
pub(super) use translate::{AddressedRequest, UiAddressForm};

use super::call;
use super::view::BridgeView;

/// The most servers that a session is remembered to have read a UI of.
const MAX_UI_SERVERS: usize = 64;

/// The servers whose UI resources a session has read, the last one first.
#[derive(Debug, Default)]
pub(super) struct UiServers(Mutex<VecDeque<String>>);

/// Who calls a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolCaller {
    /// The client, for its model, for an app, or for itself.
    Client,
    /// A model, through the gateway's own tool `call_tool`.
    Model,
}

/// Whether a client shows MCP Apps.
pub(super) fn shows_apps(context: &RequestContext) -> bool {
    context.has_capability(&["extensions", UI_EXTENSION])
}

// === impl UiServers ===

impl UiServers {
    fn add(&self, server: &str) {
        let mut servers = self.0.lock();
        servers.retain(|known| known != server);
        servers.push_front(server.to_owned());
        servers.truncate(MAX_UI_SERVERS);
    }

    fn has(&self, server: &str) -> bool {
        self.0.lock().iter().any(|known| known == server)
    }

    fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

// === impl BridgeView ===

impl BridgeView {
    /// The form in which the view shows the addresses of UI resources.
    pub(super) fn address_form(&self) -> UiAddressForm {
        UiAddressForm::of_part(&self.opening.part)
    }

    /// Remembers the server of a UI resource that the client has read.
    pub(super) fn note_ui_read(&self, asked: &HandlerRequest, server: Option<&str>) {
        let (Some(server), Ok(Some(uri))) = (server, call::requested_name(asked)) else { return };
        if asked.method == method::RESOURCES_READ && is_ui_uri(&uri) {
            self.ui_servers.add(server);
        }
    }

    /// Who is behind a request, as far as the client says so.
    pub(super) fn origin(caller: ToolCaller, context: &RequestContext) -> CallOrigin {
        match caller {
            ToolCaller::Model => CallOrigin::Model,
            ToolCaller::Client if shows_apps(context) => CallOrigin::AppHost,
            ToolCaller::Client => CallOrigin::Client,
        }
    }

    /// Checks that a server that an address names is shown.
    pub(super) fn addressed_server(&self, server: String) -> Result<String, RpcError> {
        let is_there = self.snapshot().is_some_and(|shown| shown.server(&server).is_some());
        if is_there && self.shows(&server) {
            return Ok(server);
        }
        let text = format!("there is no server `{server}` here, which the address names");
        Err(RpcError::new(code::RESOURCE_NOT_FOUND, text))
    }

    /// The server of a UI resource that the client names as its server does, if that can be told: an app knows its
    /// own addresses only. Where several servers have the resource, the error says under which addresses.
    pub(super) fn bare_ui_server(
        &self,
        uri: &str,
        caller: &Caller,
    ) -> Result<Option<String>, RpcError> {
        if self.address_form() == UiAddressForm::Original || !is_ui_uri(uri) {
            return Ok(None);
        }
        let Some(catalog) = self.bridge().engine.catalog_of(caller) else { return Ok(None) };
        let owners = self.ui_owners(uri, &catalog);
        let read: Vec<&str> =
            owners.iter().copied().filter(|server| self.ui_servers.has(server)).collect();
        match (&read[..], &owners[..]) {
            ([only], _) | ([], [only]) => Ok(Some((*only).to_owned())),
            (_, []) => {
                let mut known = catalog.servers().filter(|server| self.ui_servers.has(server));
                let first = known.next().map(str::to_owned);
                Ok(if known.next().is_some() { None } else { first })
            }
            _ => Err(self.several_owners_error(uri, &owners)),
        }
    }

    /// The servers that list a UI resource, else those with tools that point to it.
    fn ui_owners<'c>(&self, uri: &str, catalog: &'c Catalog) -> Vec<&'c str> {
        let mut owners = catalog.owners(uri);
        if owners.is_empty() {
            let tools = catalog.tools().iter();
            let pointing = tools.filter(|listed| listed.tool.ui.resource.as_deref() == Some(uri));
            owners.extend(pointing.map(|listed| listed.server()));
            owners.dedup();
        }
        owners.retain(|server| self.shows(server));
        owners
    }

    fn several_owners_error(&self, uri: &str, owners: &[&str]) -> RpcError {
        let form = self.address_form();
        let addresses: Vec<String> =
            owners.iter().filter_map(|server| form.address(server, uri)).collect();
        let text = format!("several servers have {uri}; name one of `{}`", addresses.join("`, `"));
        RpcError::new(code::RESOURCE_NOT_FOUND, text)
            .with_data(Raw::from(json!({ "uri": uri, "addresses": addresses })))
    }

    /// The tool that an app means by a name that the client's view does not have: the tool that its server calls so,
    /// of the only server whose UI the session has read. `None` if no server has such a tool, or the view has it.
    pub(super) fn find_app_tool(
        &self,
        name: &str,
        context: &RequestContext,
    ) -> Result<Option<Arc<ListedTool>>, RpcError> {
        if !self.could_have_apps(context) {
            return Ok(None);
        }
        let catalog = self.bridge().engine.catalog_of(&self.caller(context)?);
        let Some(catalog) = catalog else { return Ok(None) };
        let names = catalog.names(self.bridge().options.names);
        if names.tool(name).is_some() || [LIST_RESOURCES_TOOL, READ_RESOURCE_TOOL].contains(&name) {
            return Ok(None);
        }
        let servers = catalog.servers().filter(|server| self.shows(server));
        let tools: Vec<&Arc<ListedTool>> =
            servers.filter_map(|server| catalog.tool_of(server, name)).collect();
        let read: Vec<&Arc<ListedTool>> =
            tools.iter().copied().filter(|tool| self.ui_servers.has(tool.server())).collect();
        match (&read[..], &tools[..]) {
            ([only], _) if names.tool_name(&only.name).is_some() => Ok(Some(Arc::clone(only))),
            (_, []) => Ok(None),
            (read, tools) => {
                let shown = |tool: &&Arc<ListedTool>| names.tool_name(&tool.name);
                let candidates: Vec<&str> = tools.iter().filter_map(shown).collect();
                Err(candidates_error(name, read.len(), &candidates))
            }
        }
    }

    fn could_have_apps(&self, context: &RequestContext) -> bool {
        shows_apps(context) || !self.ui_servers.is_empty()
    }

    /// The name in the client's view of the tool that an app calls `name`. A call that cannot be resolved is recorded.
    pub(super) fn app_tool_name(
        &self,
        asked: &HandlerRequest,
        context: &RequestContext,
    ) -> Result<Option<String>, RpcError> {
        if !self.could_have_apps(context) {
            return Ok(None);
        }
        let Some(name) = call::requested_name(asked)? else { return Ok(None) };
        let found = self.find_app_tool(&name, context).inspect_err(|_| {
            if let Ok(caller) = self.caller(context) {
                let sent = asked.params.as_str().len();
                let engine = &self.bridge().engine;
                engine.begin_local_call(&caller, &asked.method, &name, sent).fail("not-found");
            }
        })?;
        Ok(found.map(|tool| tool.label.name(self.bridge().options.names)))
    }
}

/// The error for a name that several servers have a tool of, none or more than one of which showed its UI.
fn candidates_error(name: &str, read: usize, candidates: &[&str]) -> RpcError {
    let why = if read == 0 {
        "no UI of a server with such a tool was read in this session"
    } else {
        "UIs of several servers with such a tool were read in this session"
    };
    let text =
        format!("no tool here is called `{name}`, and {why}; call `{}`", candidates.join("` or `"));
    let data = json!({ "candidates": candidates });
    RpcError::new(code::INVALID_PARAMS, text).with_data(Raw::from(data))
}
