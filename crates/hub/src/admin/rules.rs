//! Routes under `/workspaces/{id}/rules`: permission rules, listed with their places, added, removed, and tried.
//!
//! Rules are changed in the user's settings and the project's local ones, through [`config::ConfigWorkspace`], so that the
//! rest of the file stays; rules of other scopes are only shown. Trying a call makes no call.
//!
//! Used by `routes`. It does not decide calls (`core::permission` does), and approves no rule of a project (`approval`).

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json as value};
use switchboard_config::{self as config, PermissionMode, PermissionRule, RuleList, Scope};
use switchboard_core::permission::{CallToExplain, RulePrincipal, UnknownTool, explain_call};
use switchboard_core::principal::LOCAL_PRINCIPAL;
use switchboard_core::{WorkspaceId, catalog::ToolAnnotations};
use switchboard_wire::json::{JsonKind, Raw};

use super::AdminApi;
use super::files::WorkspaceFiles;
use super::problem::{AdminProblem, AdminProblemKind};
use super::routes::{JsonBody, json};

/// The body of `POST` and `DELETE`.
#[derive(Deserialize)]
pub(super) struct RuleChange {
    scope: Scope,
    list: RuleList,
    /// The rule as a file holds it: a text or an object.
    rule: Value,
}

/// The body of `POST …/rules/explain`.
#[derive(Deserialize)]
pub(super) struct ExplainRequest {
    tool: String,
    arguments: Option<Raw>,
    #[serde(rename = "as")]
    principal: Option<String>,
    #[serde(default)]
    groups: Vec<String>,
    mode: Option<PermissionMode>,
}

/// `GET /workspaces/{id}/rules`: the rules that count, the strongest list first, and the mode.
pub(super) async fn list(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
) -> Result<Response, AdminProblem> {
    let snapshot = WorkspaceFiles::of(&admin, &id)?.served.snapshot();
    let rules = &snapshot.desired.rules;
    let lists = [
        (RuleList::Deny, &rules.deny),
        (RuleList::Ask, &rules.ask),
        (RuleList::Allow, &rules.allow),
    ];
    let all = lists.iter().flat_map(|(list, rules)| rules.iter().map(|it| to_json(*list, it)));
    let mode = rules.effective_mode(None, PermissionMode::Client);
    let at = rules.mode.as_ref().map(|mode| &mode.at);
    let shown = value!({
        "rules": all.collect::<Vec<_>>(),
        "mode": mode,
        "modeAt": at,
        "unclear": rules.unclear,
    });
    Ok(json(StatusCode::OK, &shown))
}

fn to_json(list: RuleList, rule: &PermissionRule) -> Value {
    value!({
        "list": list,
        "rule": rule.written.to_value(),
        "text": rule.text,
        "scope": rule.scope,
        "at": rule.at,
        "writable": matches!(rule.scope, Scope::User | Scope::Local),
    })
}

/// `POST /workspaces/{id}/rules`.
pub(super) async fn add(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
    JsonBody(wanted): JsonBody<RuleChange>,
) -> Result<Response, AdminProblem> {
    let files = WorkspaceFiles::of(&admin, &id)?;
    let RuleChange { scope, list, rule } = wanted;
    let added = rule.clone();
    let doing = "cannot add the rule".to_owned();
    let file = files.change(doing, move |files| Ok(files.add_rule(scope, list, &added)?)).await?;
    let body = value!({ "list": list, "rule": rule, "scope": scope, "file": file });
    Ok(json(StatusCode::CREATED, &body))
}

/// `DELETE /workspaces/{id}/rules`.
pub(super) async fn remove(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
    JsonBody(unwanted): JsonBody<RuleChange>,
) -> Result<Response, AdminProblem> {
    let files = WorkspaceFiles::of(&admin, &id)?;
    let RuleChange { scope, list, rule } = unwanted;
    let removed = rule.clone();
    let doing = "cannot remove the rule".to_owned();
    let work = move |files: &config::ConfigWorkspace| Ok(files.remove_rule(scope, list, &removed)?);
    let file = files.change(doing, work).await?;
    let body = value!({ "list": list, "rule": rule, "scope": scope, "file": file });
    Ok(json(StatusCode::OK, &body))
}

/// `POST /workspaces/{id}/rules/explain`.
pub(super) async fn explain(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
    JsonBody(asked): JsonBody<ExplainRequest>,
) -> Result<Response, AdminProblem> {
    let snapshot = WorkspaceFiles::of(&admin, &id)?.served.snapshot();
    let arguments = asked.arguments.unwrap_or_else(Raw::empty_object);
    if arguments.kind() != JsonKind::Object {
        return Err(AdminProblem::malformed("`arguments` is not an object"));
    }
    let principal = RulePrincipal::new(asked.principal.as_deref().unwrap_or(LOCAL_PRINCIPAL));
    let call = CallToExplain {
        tool: &asked.tool,
        arguments: &arguments,
        principal: &principal.in_groups(asked.groups),
        mode: asked.mode,
        annotations: annotations(&admin, &id, &asked.tool),
    };
    let explained = explain_call(&snapshot.desired, Some(admin.0.engine.memory()), &call);
    let explained = explained.map_err(|error| unknown_tool(&error))?;
    Ok(json(StatusCode::OK, &explained))
}

/// The annotations of a listed tool.
fn annotations(admin: &AdminApi, workspace: &str, tool: &str) -> Option<ToolAnnotations> {
    let snapshot = admin.0.engine.snapshot(&WorkspaceId::from(workspace))?;
    let is_meant = |server: &str, own: &str| {
        tool.strip_prefix(server).and_then(|rest| rest.strip_prefix('/')) == Some(own)
    };
    let mut tools = snapshot.catalog.tools().iter();
    let listed = tools.find(|it| it.name == tool || is_meant(it.server(), &it.tool.name))?;
    Some(listed.tool.annotations)
}

fn unknown_tool(error: &UnknownTool) -> AdminProblem {
    AdminProblem::new(AdminProblemKind::Malformed, error.to_string())
        .with_hint("name it as `server/tool` or `mcp__server__tool`")
}
