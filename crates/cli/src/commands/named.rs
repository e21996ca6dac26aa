//! From what was typed to a tool or a prompt of a server.
//!
//! `server/tool` and full names wait for the servers they could belong to and for no other. A tool's own name is
//! enough where one server has it, which is known only once all have answered; one that takes longer than a few
//! seconds is not waited for where another has it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard_config::name::normalize;
use switchboard_config::{Mode, positional};
use switchboard_core::CallError;
use switchboard_core::catalog::{Catalog, Configured, Listed, ListedPrompt, normal_server};
use switchboard_core::engine::{ServerView, Snapshot};
use switchboard_core::permission::{Because, Permissions};

use crate::hub::{self, Hub, Wanted};
use crate::printer::Printer;
use crate::report::{Failure, Kind};

/// How long servers are waited for that might have something of the same name.
const OTHERS: Duration = Duration::from_secs(5);

/// Something a server offers under a name.
pub(super) trait Item: Clone {
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
enum Typed<'a> {
    /// Of this server.
    Of { server: String, own: &'a str },
    /// `mcp__<server>__<name>`.
    Full(&'a str),
    /// Of whichever server has it.
    Bare(&'a str),
}

/// Why nothing is meant.
pub(super) struct Unfound {
    failure: Failure,
    /// The full name of a tool that is there, and that a rule hides.
    pub(super) hidden: Option<String>,
}

/// What `typed` means.
pub(super) async fn find<T: Item>(hub: &Hub, typed: &str, printer: &Printer) -> Result<T, Unfound> {
    match Typed::of(typed, &hub.snapshot()) {
        Typed::Of { server, own } => of_server(hub, &server, own, printer).await,
        Typed::Full(name) => full(hub, name, printer).await,
        Typed::Bare(name) => Ok(bare(hub, name, printer).await?),
    }
}

async fn of_server<T: Item>(
    hub: &Hub,
    server: &str,
    own: &str,
    printer: &Printer,
) -> Result<T, Unfound> {
    let snapshot = hub.settled(Wanted::Server(server), printer).await;
    if let Some(failure) = hub::missing(hub, &snapshot, server) {
        return Err(failure.under(format!("cannot use `{own}`")).into());
    }
    let mut items = T::all(&snapshot.catalog).iter();
    let found = items.find(|item| item.server() == server && item.own_name() == own);
    found.cloned().ok_or_else(|| {
        let name = format!("{server}/{own}");
        denied(hub, &snapshot, server, &normalize(own))
            .unwrap_or_else(|| not_found::<T>(&name, &snapshot).into())
    })
}

async fn full<T: Item>(hub: &Hub, name: &str, printer: &Printer) -> Result<T, Unfound> {
    let found = |snapshot: &Snapshot| T::by_full_name(&snapshot.catalog, name).cloned();
    let snapshot = hub
        .until(printer, |snapshot| {
            let mut fitting = fitting(name, snapshot).peekable();
            let over = match fitting.peek() {
                Some(_) => !fitting.any(|(view, _)| view.is_coming()),
                // A name that was cut may be of any server.
                None => snapshot.coming().next().is_none(),
            };
            found(snapshot).is_some() || over
        })
        .await;
    if let Some(item) = found(&snapshot) {
        return Ok(item);
    }
    for (view, own) in fitting(name, &snapshot) {
        if let Some(failure) = hub::missing(hub, &snapshot, &view.name) {
            return Err(failure.under(format!("cannot use `{name}`")).into());
        }
        if let Some(hidden) = denied(hub, &snapshot, &view.name, own) {
            return Err(hidden);
        }
    }
    Err(not_found::<T>(name, &snapshot).into())
}

async fn bare<T: Item>(hub: &Hub, name: &str, printer: &Printer) -> Result<T, Failure> {
    let began = Instant::now();
    let is_there =
        |snapshot: &Snapshot| T::all(&snapshot.catalog).iter().any(|item| item.own_name() == name);
    let snapshot =
        hub.until(printer, |snapshot| is_there(snapshot) && began.elapsed() >= OTHERS).await;
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
    snapshot: &'s Snapshot,
) -> impl Iterator<Item = (&'s ServerView, &'s str)> {
    let rest = name.strip_prefix("mcp__").unwrap_or(name);
    snapshot.servers.iter().filter_map(move |view| {
        let after = rest.strip_prefix(normal(view).as_str())?;
        Some((view, after.strip_prefix("__")?))
    })
}

fn normal(view: &ServerView) -> String {
    normal_server(Configured { name: &view.name, scope: view.scope })
}

/// A tool that a rule hides is not unknown; saying so helps whoever wrote the rule.
fn denied(hub: &Hub, snapshot: &Snapshot, server: &str, tool: &str) -> Option<Unfound> {
    let names: Vec<_> = snapshot.servers.iter().map(normal).collect();
    let (permissions, _) = Permissions::new(&hub.desired.rules, Mode::Default, &names);
    let server = normal(snapshot.server(server)?);
    let rule = permissions.ruling(&server, tool).deny?.clone();
    let name = format!("mcp__{server}__{tool}");
    let error = CallError::Denied {
        at: Some(rule.at.clone()),
        because: Box::new(Because::Rule(rule)),
        allow: None,
        name: name.clone(),
    };
    let failure = hub::call_failed(&format!("`{name}` may not be called"), &error, hub);
    Some(Unfound { failure, hidden: Some(name) })
}

// === impl Unfound ===

impl From<Failure> for Unfound {
    fn from(failure: Failure) -> Self {
        Self { failure, hidden: None }
    }
}

impl From<Unfound> for Failure {
    fn from(unfound: Unfound) -> Self {
        unfound.failure
    }
}

fn not_found<T: Item>(name: &str, snapshot: &Snapshot) -> Failure {
    let noun = T::NOUN;
    let failure = Failure::plain(Kind::Failed, format!("there is no {noun} `{name}`"));
    let own = name.rsplit_once('/').map_or(name, |(_, own)| own);
    let left_out = snapshot.problems.iter().find(|problem| problem.item.as_deref() == Some(own));
    if let Some(problem) = left_out {
        return failure.because([problem.message.clone()]);
    }
    let similar = T::similar(&snapshot.catalog, name);
    match &similar[..] {
        [] => failure.hinted(format!("`switchboard {noun}s` shows every {noun}")),
        [one] => failure.hinted(format!("did you mean `{one}`?")),
        many => failure.hinted(format!("did you mean one of `{}`?", many.join("`, `"))),
    }
}

/// A name as one would type it.
pub(super) fn short_name<T: Item>(item: &T) -> String {
    positional([path(item)])
}

/// The same, before it is made safe for a shell.
pub(super) fn path<T: Item>(item: &T) -> String {
    if item.is_builtin() {
        return item.own_name().to_owned();
    }
    format!("{}/{}", item.server(), item.own_name())
}

// === impl Typed ===

impl<'a> Typed<'a> {
    fn of(typed: &'a str, snapshot: &Snapshot) -> Self {
        let servers = snapshot.servers.iter().filter_map(|view| {
            let own = typed.strip_prefix(view.name.as_str())?.strip_prefix('/')?;
            Some((view.name.clone(), own))
        });
        // Of two servers whose names both fit, the longer one is meant.
        match servers.max_by_key(|(server, _)| server.len()) {
            Some((server, own)) => Self::Of { server, own },
            None if typed.starts_with("mcp__") => Self::Full(typed),
            None => Self::Bare(typed),
        }
    }
}

// === impl Item ===

impl Item for Arc<Listed> {
    const NOUN: &'static str = "tool";

    fn all(catalog: &Catalog) -> &[Self] {
        catalog.tools()
    }

    fn by_full_name<'c>(catalog: &'c Catalog, name: &str) -> Option<&'c Self> {
        catalog.tool(name)
    }

    fn server(&self) -> &str {
        Listed::server(self)
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

impl Item for ListedPrompt {
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
