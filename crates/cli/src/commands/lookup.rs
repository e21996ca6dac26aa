//! Finds the tool or prompt that a typed name means.
//!
//! `server/tool` and full names wait only for the servers that they could belong to. A bare name is enough if one
//! server has it, which is known once all servers have answered; servers that take longer than 5 s are not waited for
//! if another one has the name.
//!
//! Used by `call`, `tools`, `prompt` and `complete`. It does not search by words (`core::catalog` does).

use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard_config::server_name::normalize_server_name;
use switchboard_config::{PermissionMode, quote_arguments};
use switchboard_core::CallError;
use switchboard_core::catalog::{
    Catalog, ConfiguredServer, ListedPrompt, ListedTool, normalize_configured_server,
};
use switchboard_core::engine::{ServerSnapshot, WorkspaceSnapshot};
use switchboard_core::permission::{DecisionReason, RulePrincipal, WorkspacePermissions};
use switchboard_core::principal::LOCAL_PRINCIPAL;

use crate::command_engine::{self, CommandEngine, WaitTarget};
use crate::hint;
use crate::printer::Printer;
use crate::report::{Failure, FailureKind};

/// How long other servers are waited for that might have an item with that bare name too.
const OTHER_SERVERS_TIMEOUT: Duration = Duration::from_secs(5);

/// The shortest length at which the gateway cuts names.
const MIN_CUT_NAME: usize = 46;

/// An item that servers list under a name: a tool or a prompt.
pub(super) trait LookupItem: Clone {
    /// The noun for the item.
    const NOUN: &'static str;

    fn all(catalog: &Catalog) -> &[Self];
    fn by_full_name<'c>(catalog: &'c Catalog, name: &str) -> Option<&'c Self>;
    fn server(&self) -> &str;
    /// The name that the server gave the item.
    fn own_name(&self) -> &str;
    /// Whether the item belongs to the gateway itself.
    fn is_builtin(&self) -> bool {
        false
    }
    /// An item of the gateway itself, by name.
    fn builtin(_: &Catalog, _: &str) -> Option<Self> {
        None
    }
    /// Names of items similar to `name`.
    fn similar(catalog: &Catalog, name: &str) -> Vec<String>;
}

/// The possible meanings of a typed name.
enum TypedName<'a> {
    /// An item of this server.
    Of { server: String, own: &'a str },
    /// An item of a server that is not configured.
    Unconfigured { server: &'a str },
    /// `mcp__<server>__<name>`.
    Full(&'a str),
    /// An item of any server.
    Bare(&'a str),
}

/// Why no item was found.
pub(super) struct LookupError {
    failure: Failure,
    /// The full name of an existing tool that a rule hides.
    pub(super) hidden: Option<String>,
}

/// Finds the item that `typed` means.
pub(super) async fn find<T: LookupItem>(
    hub: &CommandEngine,
    typed: &str,
    printer: &Printer,
) -> Result<T, LookupError> {
    match TypedName::of(typed, &hub.snapshot()) {
        TypedName::Unconfigured { server } => Err(no_server(server, typed).into()),
        TypedName::Of { server, own } => of_server(hub, &server, own, printer).await,
        TypedName::Full(name) => find_full(hub, name, printer).await,
        TypedName::Bare(name) => Ok(find_bare(hub, name, printer).await?),
    }
}

/// The failure for a server that is not configured; no server is waited for.
fn no_server(server: &str, typed: &str) -> Failure {
    let failure = Failure::plain(FailureKind::Failed, format!("there is no server `{server}`"));
    failure.with_context(format!("cannot use `{typed}`")).with_hint(hint::no_server())
}

fn is_listed(name: &str, snapshot: &WorkspaceSnapshot) -> bool {
    let catalog = &snapshot.catalog;
    catalog.tools().iter().any(|listed| listed.tool.name == name)
        || catalog.prompts().iter().any(|listed| listed.prompt.name == name)
}

async fn of_server<T: LookupItem>(
    hub: &CommandEngine,
    server: &str,
    own: &str,
    printer: &Printer,
) -> Result<T, LookupError> {
    let snapshot = hub.wait_until_settled(WaitTarget::Server(server), printer).await;
    if let Some(failure) = command_engine::missing_failure(hub, &snapshot, server) {
        return Err(failure.with_context(format!("cannot use `{own}`")).into());
    }
    let mut items = T::all(&snapshot.catalog).iter();
    let found = items.find(|item| item.server() == server && item.own_name() == own);
    found.cloned().ok_or_else(|| {
        let name = format!("{server}/{own}");
        denied(hub, &snapshot, server, &normalize_server_name(own))
            .unwrap_or_else(|| not_found::<T>(&name, &snapshot).into())
    })
}

async fn find_full<T: LookupItem>(
    hub: &CommandEngine,
    name: &str,
    printer: &Printer,
) -> Result<T, LookupError> {
    let found = |snapshot: &WorkspaceSnapshot| T::by_full_name(&snapshot.catalog, name).cloned();
    let snapshot = hub
        .wait_until(printer, |snapshot| {
            let mut fitting = fitting(name, snapshot).peekable();
            let over = match fitting.peek() {
                Some(_) => !fitting.any(|(view, _)| view.is_coming()),
                // A name that was cut may belong to any server.
                None if name.len() >= MIN_CUT_NAME => snapshot.servers_coming().next().is_none(),
                None => true,
            };
            found(snapshot).is_some() || over
        })
        .await;
    if let Some(item) = found(&snapshot) {
        return Ok(item);
    }
    for (view, own) in fitting(name, &snapshot) {
        if let Some(failure) = command_engine::missing_failure(hub, &snapshot, &view.name) {
            return Err(failure.with_context(format!("cannot use `{name}`")).into());
        }
        if let Some(hidden) = denied(hub, &snapshot, &view.name, own) {
            return Err(hidden);
        }
    }
    Err(not_found::<T>(name, &snapshot).into())
}

async fn find_bare<T: LookupItem>(
    hub: &CommandEngine,
    name: &str,
    printer: &Printer,
) -> Result<T, Failure> {
    let began = Instant::now();
    let is_there = |snapshot: &WorkspaceSnapshot| {
        T::all(&snapshot.catalog).iter().any(|item| item.own_name() == name)
    };
    let snapshot = hub
        .wait_until(printer, |snapshot| {
            is_there(snapshot) && began.elapsed() >= OTHER_SERVERS_TIMEOUT
        })
        .await;
    let items = T::all(&snapshot.catalog).iter();
    let found: Vec<_> = items.filter(|item| item.own_name() == name).collect();
    match &found[..] {
        [] => T::builtin(&snapshot.catalog, name).ok_or_else(|| not_found::<T>(name, &snapshot)),
        [only] => Ok((*only).clone()),
        many => {
            let names: Vec<_> = many.iter().map(|item| short_name(*item)).collect();
            let message = format!("{} servers have a {} `{name}`", many.len(), T::NOUN);
            Err(Failure::usage(message, format!("say which: `{}`", names.join("` or `"))))
        }
    }
}

/// The servers that a full name could belong to, each with the rest of the name.
fn fitting<'s>(
    name: &'s str,
    snapshot: &'s WorkspaceSnapshot,
) -> impl Iterator<Item = (&'s ServerSnapshot, &'s str)> {
    let rest = name.strip_prefix("mcp__").unwrap_or(name);
    snapshot.servers.iter().filter_map(move |view| {
        let after = rest.strip_prefix(normal(view).as_str())?;
        Some((view, after.strip_prefix("__")?))
    })
}

fn normal(view: &ServerSnapshot) -> String {
    normalize_configured_server(ConfiguredServer { name: &view.name, scope: view.scope })
}

/// The error for a tool that a rule hides: naming the rule helps its author.
fn denied(
    hub: &CommandEngine,
    snapshot: &WorkspaceSnapshot,
    server: &str,
    tool: &str,
) -> Option<LookupError> {
    let names: Vec<_> = snapshot.servers.iter().map(normal).collect();
    let (permissions, _) =
        WorkspacePermissions::new(&hub.desired.rules, PermissionMode::Default, &names);
    let server = normal(snapshot.server(server)?);
    let principal = RulePrincipal::new(LOCAL_PRINCIPAL);
    let rule = permissions.hiding_rule(&server, tool, &principal)?.clone();
    let name = format!("mcp__{server}__{tool}");
    let error = CallError::Denied {
        at: rule.at.clone(),
        because: Box::new(DecisionReason::Rule(rule)),
        allow: None,
        name: name.clone(),
    };
    let failure = command_engine::call_failed(&format!("`{name}` may not be called"), &error, hub);
    Some(LookupError { failure, hidden: Some(name) })
}

// === impl LookupError ===

impl From<Failure> for LookupError {
    fn from(failure: Failure) -> Self {
        Self { failure, hidden: None }
    }
}

impl From<LookupError> for Failure {
    fn from(unfound: LookupError) -> Self {
        unfound.failure
    }
}

fn not_found<T: LookupItem>(name: &str, snapshot: &WorkspaceSnapshot) -> Failure {
    let noun = T::NOUN;
    let failure = Failure::plain(FailureKind::Failed, format!("there is no {noun} `{name}`"));
    let own = name.rsplit_once('/').map_or(name, |(_, own)| own);
    let left_out = snapshot.problems.iter().find(|problem| problem.item.as_deref() == Some(own));
    if let Some(problem) = left_out {
        return failure.with_causes([problem.message.clone()]);
    }
    let similar = T::similar(&snapshot.catalog, name);
    match &similar[..] {
        [] => failure.with_hint(format!("`switchboard {noun}s` shows every {noun}")),
        [one] => failure.with_hint(format!("did you mean `{one}`?")),
        many => failure.with_hint(format!("did you mean one of `{}`?", many.join("`, `"))),
    }
}

/// The name to type, quoted for a shell.
pub(super) fn short_name<T: LookupItem>(item: &T) -> String {
    quote_arguments([path(item)])
}

/// The name to type, not quoted.
pub(super) fn path<T: LookupItem>(item: &T) -> String {
    if item.is_builtin() {
        return item.own_name().to_owned();
    }
    format!("{}/{}", item.server(), item.own_name())
}

// === impl TypedName ===

impl<'a> TypedName<'a> {
    fn of(typed: &'a str, snapshot: &WorkspaceSnapshot) -> Self {
        let servers = snapshot.servers.iter().filter_map(|view| {
            let own = typed.strip_prefix(view.name.as_str())?.strip_prefix('/')?;
            Some((view.name.clone(), own))
        });
        // If two server names fit, the longer one is meant.
        match servers.max_by_key(|(server, _)| server.len()) {
            Some((server, own)) => Self::Of { server, own },
            None if typed.starts_with("mcp__") => Self::Full(typed),
            None => match typed.split_once('/') {
                // Some servers have a slash in the names of their tools.
                Some((server, _)) if !is_listed(typed, snapshot) => Self::Unconfigured { server },
                _ => Self::Bare(typed),
            },
        }
    }
}

// === impl LookupItem ===

impl LookupItem for Arc<ListedTool> {
    const NOUN: &'static str = "tool";

    fn all(catalog: &Catalog) -> &[Self] {
        catalog.tools()
    }

    fn by_full_name<'c>(catalog: &'c Catalog, name: &str) -> Option<&'c Self> {
        catalog.tool(name)
    }

    fn server(&self) -> &str {
        ListedTool::server(self)
    }

    fn own_name(&self) -> &str {
        &self.tool.name
    }

    fn is_builtin(&self) -> bool {
        // The full name of a server's tool contains the server, so equal names mean a tool of the gateway.
        self.name == self.tool.name
    }

    fn builtin(catalog: &Catalog, name: &str) -> Option<Self> {
        catalog.builtin_tools().iter().find(|listed| listed.name == name).cloned()
    }

    fn similar(catalog: &Catalog, name: &str) -> Vec<String> {
        let own = name.rsplit_once('/').map_or(name, |(_, own)| own);
        let names = catalog.suggest(own);
        names.iter().filter_map(|name| catalog.tool(name)).map(short_name).collect()
    }
}

impl LookupItem for ListedPrompt {
    const NOUN: &'static str = "prompt";

    fn all(catalog: &Catalog) -> &[Self] {
        catalog.prompts()
    }

    fn by_full_name<'c>(catalog: &'c Catalog, name: &str) -> Option<&'c Self> {
        catalog.prompt(name)
    }

    fn server(&self) -> &str {
        self.server()
    }

    fn own_name(&self) -> &str {
        &self.prompt.name
    }

    fn similar(_: &Catalog, _: &str) -> Vec<String> {
        Vec::new()
    }
}
