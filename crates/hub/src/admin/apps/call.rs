//! Which servers have apps, and the calls that apps make through the console, limited to the app's own server.
//!
//! Used by `call`, for `POST /workspaces/{id}/call?app=…` and for the requests of a console. A call of an app is not typed by a person, so rules that ask
//! apply to it. It does not place calls.

use serde_json::{Map, Value, json};
use switchboard_config::PermissionMode;
use switchboard_core::catalog::{Catalog, ListedTool, NameStyle};
use switchboard_core::permission::UserConsent;
use switchboard_core::remote::RemoteRequest;
use switchboard_core::{Session, WorkspaceSnapshot};
use switchboard_wire::json::{JsonEdit, Raw};
use switchboard_wire::meta::UI_EXTENSION;

use crate::admin::problem::{AdminProblem, AdminProblemKind};
use crate::admin::{ResultLimit, WorkspaceRequest};

/// The extension that servers look for before they offer apps, and its settings.
const EXTENSIONS: &str =
    r#"{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}"#;

/// The capabilities of a session whose client shows apps.
pub(in crate::admin) fn capabilities(others: &Raw) -> Raw {
    let edit = JsonEdit::set(&["extensions"], EXTENSIONS);
    others.clone().overwrite(&[edit])
}

/// The session for the calls of a server's apps: no person types them, and an app gets whole results.
pub(in crate::admin) fn session(server: &str, id: String) -> Session {
    let client = format!("app of {server} in the console");
    let whose =
        WorkspaceRequest { client, results: ResultLimit::Pipe, ..WorkspaceRequest::default() };
    let mut session = whose.to_session(id);
    session.consent = UserConsent::None;
    // App and tool are of one server: without a rule the app may do no more than its server could do.
    session.usual_mode = PermissionMode::Client;
    session.capabilities = capabilities(&session.capabilities);
    session
}

/// Whether a catalog has tools with apps of this server.
pub(in crate::admin) fn has_apps(catalog: &Catalog, server: &str) -> bool {
    let mut tools = catalog.tools().iter();
    tools.any(|listed| listed.server() == server && listed.tool.ui.resource.is_some())
}

/// The servers that declare apps and show none to clients that do not show apps.
pub(in crate::admin) fn servers_with_hidden_apps(
    snapshot: &WorkspaceSnapshot,
) -> impl Iterator<Item = &str> {
    snapshot.catalog.servers().filter(|server| {
        let facts = snapshot.server(server).and_then(|view| view.facts.as_ref());
        let declares =
            facts.is_some_and(|facts| facts.has_capability(&["extensions", UI_EXTENSION]));
        declares && !has_apps(&snapshot.catalog, server)
    })
}

/// Checks that an app of `server` may make this request, and returns the request for the engine. An app may call a tool
/// of its own server that is visible to apps, and read a resource of its own server.
pub(in crate::admin) fn check_call(
    server: &str,
    request: &RemoteRequest,
    catalog: &Catalog,
) -> Result<RemoteRequest, AdminProblem> {
    let malformed =
        |error: serde_json::Error| AdminProblem::malformed(format!("`params`: {error}"));
    let params: Map<String, Value> = request.params.decode().map_err(malformed)?;
    let params = match &*request.method {
        "tools/call" => tool_params(server, &params, catalog)?,
        "resources/read" => json!({ "uri": params.get("uri") }),
        other => {
            return Err(refused(format!("an app may not use `{other}`"))
                .with_detail("apps call tools and read resources of their own server"));
        }
    };
    Ok(RemoteRequest {
        method: request.method.clone(),
        params: Raw::from(params),
        server: Some(server.to_owned()),
        progress: false,
        timeout_millis: request.timeout_millis,
        time_limit_millis: request.time_limit_millis,
        log_level: None,
    })
}

/// The parameters with the full name of the tool that the app names by its bare name.
fn tool_params(
    server: &str,
    params: &Map<String, Value>,
    catalog: &Catalog,
) -> Result<Value, AdminProblem> {
    let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
    let is_it = |listed: &&std::sync::Arc<ListedTool>| {
        listed.label.server().as_str() == server && listed.tool.name == name
    };
    let listed = catalog.tools().iter().find(is_it).ok_or_else(|| {
        refused(format!("`{server}` has no tool `{name}`"))
            .with_detail("an app may call the tools of its own server only")
    })?;
    if !is_visible_to_apps(&listed.tool.item) {
        return Err(refused(format!("`{name}` of `{server}` is not for apps"))
            .with_detail("its `_meta.ui.visibility` does not name `app`"));
    }
    let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
    Ok(json!({ "name": listed.label.name(NameStyle::Full), "arguments": arguments }))
}

/// Whether a tool's `_meta.ui.visibility` names `app`, as it does by default.
fn is_visible_to_apps(item: &Raw) -> bool {
    let item: Value = item.decode().unwrap_or_default();
    match &item["_meta"]["ui"]["visibility"] {
        Value::Null => true,
        Value::Array(words) => words.iter().any(|word| word == "app"),
        _ => false,
    }
}

fn refused(title: String) -> AdminProblem {
    AdminProblem::new(AdminProblemKind::Foreign, title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_for_apps_unless_it_says_otherwise() {
        for (item, is_visible) in [
            (json!({}), true),
            (json!({ "_meta": { "ui": { "resourceUri": "ui://a" } } }), true),
            (json!({ "_meta": { "ui": { "visibility": ["model", "app"] } } }), true),
            (json!({ "_meta": { "ui": { "visibility": ["app"] } } }), true),
            (json!({ "_meta": { "ui": { "visibility": ["model"] } } }), false),
            (json!({ "_meta": { "ui": { "visibility": [] } } }), false),
            (json!({ "_meta": { "ui": { "visibility": "app" } } }), false),
        ] {
            assert_eq!(is_visible_to_apps(&Raw::from(item.clone())), is_visible, "{item}");
        }
    }

    #[test]
    fn the_console_declares_apps_beside_its_forms() {
        let declared: Value = capabilities(&Session::new("a").capabilities).decode().unwrap();
        let types = &declared["extensions"]["io.modelcontextprotocol/ui"]["mimeTypes"];
        assert_eq!(types, &json!(["text/html;profile=mcp-app"]));
        assert!(declared["elicitation"].is_object(), "{declared}");
    }
}
