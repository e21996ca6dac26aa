//! From what was typed to a tool or a prompt of a server.
//!
//! `server/tool` and full names wait for the servers they could belong to and for no other. A tool's own name is
//! enough where one server has it, which is known only once all have answered; one that takes longer than a few
//! seconds is not waited for where another has it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard_config::server_name::normalize_server_name;
use switchboard_config::{Mode, quote_arguments};
use switchboard_core::CallError;
use switchboard_core::catalog::{
    Catalog, ConfiguredServer, ListedPrompt, ListedTool, normalize_configured_server,
};
use switchboard_core::engine::{ServerSnapshot, WorkspaceSnapshot};
use switchboard_core::permission::{DecisionReason, WorkspacePermissions};

use crate::command_engine::{self, CommandEngine, WaitTarget};
use crate::hint;
use crate::printer::Printer;
use crate::report::{Failure, FailureKind};

/// How long servers are waited for that might have something of the same name.
const OTHER_SERVERS_TIMEOUT: Duration = Duration::from_secs(5);

/// The shortest names that are cut are the gateway's.
const MIN_CUT_NAME: usize = 46;

/// Something a server offers under a name.
pub(super) trait LookupItem: Clone {
    /// What it is called.
    const NOUN: &'static str;

    fn all(catalog: &Catalog) -> &[Self];
    fn by_full_name<'c>(catalog: &'c Catalog, name: &str) -> Option<&'c Self>;
    fn server(&self) -> &str;
    /// The name its server gave it.
    fn own_name(&self) -> &str;
    /// Whether it is one of the program's own.
    fn is_builtin(&self) -> bool {
        false
    }
    /// One of the program's own, by its name.
    fn builtin(_: &Catalog, _: &str) -> Option<Self> {
        None
    }
    /// What whoever typed `name` may have meant.
    fn similar(catalog: &Catalog, name: &str) -> Vec<String>;
}

/// What a name could mean.
enum TypedName<'a> {
    /// Of this server.
    Of { server: String, own: &'a str },
    /// Of a server that is not configured.
    Unconfigured { server: &'a str },
    /// `mcp__<server>__<name>`.
    Full(&'a str),
    /// Of whichever server has it.
    Bare(&'a str),
}

/// Why nothing is meant.
pub(super) struct LookupError {
    failure: Failure,
    /// The full name of a tool that is there, and that a rule hides.
    pub(super) hidden: Option<String>,
}

/// What `typed` means.
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

/// No server is waited for where the name says that it is of none of them.
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
                // A name that was cut may be of any server.
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

/// The servers that a full name could belong to, each with what the name would then mean there.
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

/// A tool that a rule hides is not unknown; saying so helps whoever wrote the rule.
fn denied(
    hub: &CommandEngine,
    snapshot: &WorkspaceSnapshot,
    server: &str,
    tool: &str,
) -> Option<LookupError> {
    let names: Vec<_> = snapshot.servers.iter().map(normal).collect();
    let (permissions, _) = WorkspacePermissions::new(&hub.desired.rules, Mode::Default, &names);
    let server = normal(snapshot.server(server)?);
    let rule = permissions.ruling(&server, tool).deny?.clone();
    let name = format!("mcp__{server}__{tool}");
    let error = CallError::Denied {
        at: Some(rule.at.clone()),
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

/// A name as one would type it.
pub(super) fn short_name<T: LookupItem>(item: &T) -> String {
    quote_arguments([path(item)])
}

/// The same, before it is made safe for a shell.
pub(super) fn path<T: LookupItem>(item: &T) -> String {
    if item.is_builtin() {
        return item.own_name().to_owned();
    }
    format!("{}/{}", item.server(), item.own_name())
}

// === impl Typed ===

impl<'a> TypedName<'a> {
    fn of(typed: &'a str, snapshot: &WorkspaceSnapshot) -> Self {
        let servers = snapshot.servers.iter().filter_map(|view| {
            let own = typed.strip_prefix(view.name.as_str())?.strip_prefix('/')?;
            Some((view.name.clone(), own))
        });
        // Of two servers whose names both fit, the longer one is meant.
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

// === impl Item ===

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
        // The full name of a server's tool has the server in it.
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
