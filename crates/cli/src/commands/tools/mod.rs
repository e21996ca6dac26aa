//! `switchboard tools`: the tools of all servers, with their cost in tokens; or one tool, or a search.
//!
//! Used by `commands::run`; `prompts`, `resources` and `doctor` use its notices. It does not call tools (`call` does).

mod one;
mod schema;

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use switchboard_core::WorkspaceSnapshot;
use switchboard_core::catalog::ListedTool;
use switchboard_core::engine::{ServerSnapshot, ServerStatus};
use switchboard_core::permission::ToolAnnotations;
use switchboard_wire::json::Raw;

use super::{lookup, problems};
use crate::args::Tools;
use crate::command_engine::{self, CommandEngine, WaitTarget};
use crate::notice::Notice;
use crate::printer::{BOLD, Printer};
use crate::report::Failure;
use crate::show;
use crate::surroundings::Caller;

/// The most hits of a search.
const MAX_SEARCH_HITS: usize = 20;

/// A tool in `--json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolOutput<'a> {
    name: &'a str,
    server: &'a str,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    input_schema: &'a Raw,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a Raw>,
    annotations: ToolAnnotations,
    cost: usize,
    deferred: bool,
}

pub(super) async fn run(tools: &Tools, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    command_engine::with_servers(caller, printer, async |hub: &CommandEngine| {
        show(tools, hub, caller, printer).await
    })
    .await
}

async fn show(
    tools: &Tools,
    hub: &CommandEngine,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let server = tools.name.as_deref();
    let server = match server.filter(|name| hub.snapshot().server(name).is_none()) {
        Some(tool) => {
            let found: Arc<ListedTool> = lookup::find(hub, tool, printer).await?;
            return one::print(&found, printer);
        }
        None => server,
    };
    let snapshot =
        hub.wait_until_settled(server.map_or(WaitTarget::All, WaitTarget::Server), printer).await;
    if let Some(failure) =
        server.and_then(|server| command_engine::missing_failure(hub, &snapshot, server))
    {
        return Err(failure);
    }
    let listed = list_tools(tools, server, &snapshot);
    let for_apps = list_app_tools(server, &snapshot);
    let notices = notices(server, hub, caller, &snapshot);
    let servers: Vec<_> = server_views(server, &snapshot).collect();
    if printer.is_json() {
        let tools: Vec<_> = listed.iter().map(|tool| ToolOutput::of(tool)).collect();
        let servers: Vec<_> = servers.iter().map(|view| summary(view)).collect();
        let cost: usize = listed.iter().map(|tool| tool.tool.cost).sum();
        printer.notices(&notices);
        return printer.json(&json!({
            "tools": tools, "servers": servers, "cost": cost, "appTools": for_apps, "problems": notices,
        }));
    }
    table(&listed, printer);
    if tools.search.is_none() {
        totals(&servers, printer);
    }
    if listed.is_empty() {
        printer.done("no tools");
    }
    if let [first, ..] = for_apps[..] {
        let count = show::count(for_apps.len(), "tool");
        printer.done(format_args!(
            "Not listed: {count} for apps only, not for models. `switchboard tools {first}` shows one."
        ));
    }
    printer.notices(&notices);
    Ok(())
}

fn list_tools<'s>(
    tools: &Tools,
    server: Option<&str>,
    snapshot: &'s WorkspaceSnapshot,
) -> Vec<&'s ListedTool> {
    let catalog = &snapshot.catalog;
    let is_meant = |tool: &&Arc<ListedTool>| server.is_none_or(|server| tool.server() == server);
    match &tools.search {
        None => {
            let listed = catalog.tools().iter().filter(|tool| tool.is_for_models());
            listed.filter(is_meant).map(Arc::as_ref).collect()
        }
        Some(query) => {
            let hits = catalog.search(query, usize::MAX);
            let found = hits.iter().filter_map(|hit| catalog.tool_or_builtin(&hit.name));
            found.filter(is_meant).map(Arc::as_ref).take(MAX_SEARCH_HITS).collect()
        }
    }
}

/// The full names of the tools that servers offer to apps only.
fn list_app_tools<'s>(server: Option<&str>, snapshot: &'s WorkspaceSnapshot) -> Vec<&'s str> {
    let tools = snapshot.catalog.tools().iter().filter(|tool| !tool.is_for_models());
    let meant = tools.filter(|tool| server.is_none_or(|server| tool.server() == server));
    meant.map(|tool| tool.name.as_str()).collect()
}

fn server_views<'s>(
    server: Option<&'s str>,
    snapshot: &'s WorkspaceSnapshot,
) -> impl Iterator<Item = &'s ServerSnapshot> {
    let is_meant = move |view: &&ServerSnapshot| server.is_none_or(|server| view.name == server);
    snapshot.servers.iter().filter(is_meant).filter(|view| view.stats.is_some())
}

/// All problems, and the servers that are not connected.
pub(super) fn notices(
    server: Option<&str>,
    hub: &CommandEngine,
    caller: &Caller,
    snapshot: &WorkspaceSnapshot,
) -> Vec<Notice> {
    let absent = command_engine::unconnected_notices(hub, snapshot).into_iter();
    let absent = absent.filter(|notice| server.is_none_or(|server| notice.concerns(server)));
    let mut wrong = problem_notices(server, hub, caller, snapshot);
    // `doctor` shows these; here they would fill a page.
    wrong.retain(|notice| !notice.is_about_imperfect_item());
    wrong.into_iter().chain(absent).collect()
}

/// Problems of the configuration, and of the lists of servers.
pub(super) fn problem_notices(
    server: Option<&str>,
    hub: &CommandEngine,
    caller: &Caller,
    snapshot: &WorkspaceSnapshot,
) -> Vec<Notice> {
    let configuration = problems(&hub.desired).into_iter().chain(caller.notices.iter().cloned());
    let found = snapshot.problems.iter().map(Notice::from).chain(hub.notices.iter().cloned());
    let numbers = command_engine::not_numbers(&hub.desired, caller);
    // The engine reports its own invalid variables too.
    let is_new = |notice: &Notice| !numbers.iter().any(|told| told.message == notice.message);
    let found: Vec<_> = found.filter(is_new).collect();
    let all = configuration.chain(numbers).chain(found);
    all.filter(|notice| server.is_none_or(|server| notice.concerns(server))).collect()
}

fn table(tools: &[&ListedTool], printer: &Printer) {
    let width = |text: &str| text.chars().count();
    let names = tools.iter().map(|tool| width(&tool.name)).max().unwrap_or(0).min(50);
    let hints: Vec<_> = tools.iter().map(|tool| hints(tool)).collect();
    let widest = hints.iter().map(|hint| width(hint)).max().unwrap_or(0);
    for (tool, hints) in tools.iter().zip(&hints) {
        let cost = show::group_thousands(tool.tool.cost);
        let about = show::fit_to_width(&about(tool), names + widest + 12);
        let line = format!(
            "{BOLD}{:names$}{BOLD:#}  {cost:>6}  {hints:widest$}  {}",
            tool.name,
            show::dim(&about)
        );
        printer.line(line.trim_end());
    }
}

/// One line about a tool: its title, else the beginning of its description.
fn about(tool: &ListedTool) -> String {
    let tool = &tool.tool;
    let first = tool.description.as_deref().and_then(|text| text.lines().next());
    let about = match (tool.title.as_deref(), first) {
        (Some(title), Some(first)) => format!("{title}: {first}"),
        (Some(only), None) | (None, Some(only)) => only.to_owned(),
        (None, None) => String::new(),
    };
    switchboard_wire::sanitize::sanitize_line(&about).into_owned()
}

/// The annotations of a tool, as the server states them.
fn hints(tool: &ListedTool) -> String {
    let said = tool.tool.annotations;
    let is_read_only = said.is_read_only();
    let words = [
        (is_read_only, "read-only"),
        (!is_read_only && said.destructive_hint == Some(true), "destructive"),
        (said.open_world_hint == Some(true), "open world"),
    ];
    let words = words.into_iter().filter_map(|(is_said, word)| is_said.then_some(word));
    words.collect::<Vec<_>>().join(", ")
}

/// The token cost of each server, and the total.
fn totals(servers: &[&ServerSnapshot], printer: &Printer) {
    let names = servers.iter().map(|view| show::word(&view.name).chars().count()).max();
    let names = names.unwrap_or(0).max("total".len());
    let row = |name: &str, state: &str, costs: &str| {
        let line = format!("{BOLD}{name:names$}{BOLD:#}  {state:20}  {costs}");
        printer.line(line.trim_end());
    };
    printer.line("");
    for view in servers {
        let costs = if view.is_usable() { costs(view.tools, view.cost) } else { String::new() };
        row(&show::word(&view.name), state(view), &costs);
    }
    if servers.len() > 1 {
        let tools = servers.iter().map(|view| view.tools).sum();
        row("total", "", &costs(tools, servers.iter().map(|view| view.cost).sum()));
    }
}

fn costs(tools: usize, cost: usize) -> String {
    format!("{}, about {} tokens", show::count(tools, "tool"), show::group_thousands(cost))
}

/// The state of a server, in words.
pub(super) fn state(view: &ServerSnapshot) -> &'static str {
    match view.status {
        ServerStatus::Pending => "not connected",
        ServerStatus::NeedsAuth { .. } => "sign-in needed",
        ServerStatus::AwaitingApproval => "awaiting approval",
        _ => view.status.word(),
    }
}

fn summary(view: &ServerSnapshot) -> serde_json::Value {
    json!({
        "name": view.name, "state": view.status.word(), "toolCount": view.tools, "cost": view.cost,
    })
}

// === impl ToolOutput ===

impl<'a> ToolOutput<'a> {
    fn of(listed: &'a ListedTool) -> Self {
        let tool = &*listed.tool;
        Self {
            name: &listed.name,
            server: listed.server(),
            tool: &tool.name,
            title: tool.title.as_deref(),
            description: tool.description.as_deref(),
            input_schema: &tool.input_schema,
            output_schema: tool.output_schema.as_ref(),
            annotations: tool.annotations,
            cost: tool.cost,
            deferred: listed.deferred,
        }
    }
}
