//! Builds snapshots of a workspace, for each principal and session, and waits for servers until a snapshot is
//! settled.
//!
//! Used by the gateway, agent loops and commands through `Engine::snapshot` and its variants. States are read anew
//! for each snapshot; the catalog is composed again only if a list changed. It does not read lists from servers
//! (`connection::session` does).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use switchboard_config::{HookEvent, Scope};

use crate::catalog::{
    Catalog, CatalogMember, CatalogView, ConfiguredServer, ItemLabel, Tool, authenticate,
};
use crate::connection::{ALL_LISTS, Connection, ConnectionState, RawLists};
use crate::engine::session::bindings::{SessionLists, SessionView};
use crate::engine::session::first_session::start_without_session;
use crate::engine::snapshot::{
    self, ExtensionReport, ListsArrival, ServerSnapshot, WorkspaceSnapshot,
};
use crate::engine::supervisor::applied::{AppliedServer, AppliedState};
use crate::engine::supervisor::pool::ParsedLists;
use crate::engine::workspace::principal::{PrincipalLease, PrincipalView};
use crate::engine::{Caller, Engine, InProcessServer, Inner, WorkspaceId, WorkspaceState};
use crate::permission::{AnswerTarget, ToolInteraction, ToolUseSubject, hides_by_mode};
use crate::problem::{EngineProblem, EngineProblemKind};

/// A bit above all generations of lists, since no connection reads its lists that often.
const SIGN_IN_GENERATION_BIT: u64 = 1 << 63;

// === impl Engine ===

impl Engine {
    /// Returns a snapshot for the local principal. `None` if no state was applied to the workspace, or it has
    /// ended.
    pub fn snapshot(&self, workspace: &WorkspaceId) -> Option<Arc<WorkspaceSnapshot>> {
        let standing = self.0.workspace_state(workspace)?;
        Some(self.0.fresh_snapshot(&standing, standing.local()))
    }

    /// Returns a snapshot for one principal. `None` if the workspace has ended.
    pub fn snapshot_for(&self, principal: &PrincipalLease) -> Option<Arc<WorkspaceSnapshot>> {
        let standing = self.0.workspace_state(&principal.workspace().id)?;
        Some(self.0.fresh_snapshot(&standing, principal.view()))
    }

    /// Returns the prompt of a workspace's agent, if it has one.
    pub fn agent_prompt(&self, workspace: &WorkspaceId) -> Option<String> {
        let standing = self.0.workspace_state(workspace)?;
        standing.applied().desired.agent_prompt().map(str::to_owned)
    }

    /// Returns the catalog of one principal, without the rest of a snapshot.
    pub fn catalog_for(&self, principal: &PrincipalLease) -> Option<Arc<Catalog>> {
        let standing = self.0.workspace_state(&principal.workspace().id)?;
        Some(Arc::clone(&self.0.snapshot(&standing, principal.view()).catalog))
    }

    /// Returns a snapshot for one session, with the lists of the connections that its calls use. `None` if the
    /// workspace has ended.
    pub fn snapshot_of(&self, caller: &Caller) -> Option<Arc<WorkspaceSnapshot>> {
        let standing = self.0.workspace_state(&caller.workspace().id)?;
        let last = self.0.session_snapshot(caller);
        let applied = self.0.session_view(caller).map(|view| Arc::clone(&view.applied));
        let applied = applied.unwrap_or_else(|| caller.applied());
        Some(Arc::new(self.0.build_snapshot(&applied, &standing, Some(&last))))
    }

    /// Returns the catalog of one session, without the rest of a snapshot.
    pub fn catalog_of(&self, caller: &Caller) -> Option<Arc<Catalog>> {
        self.0.workspace_state(&caller.workspace().id)?;
        Some(Arc::clone(&self.0.session_snapshot(caller).catalog))
    }

    /// Binds a session to the connections of its kind, so that it sees what their servers show to clients of that
    /// kind, and waits for their lists at most `patience`.
    pub async fn bind_session(&self, caller: &Caller, patience: Duration) {
        self.bind_session_where(caller, |_| true, patience).await;
    }

    /// Like [`Self::bind_session`], of servers whose names `is_meant` accepts.
    pub async fn bind_session_where(
        &self,
        caller: &Caller,
        is_meant: impl Fn(&str) -> bool + Send + Sync,
        patience: Duration,
    ) {
        let new = self.0.bind_session(caller, is_meant).await;
        if new.is_empty() {
            return;
        }
        let mut changes = self.changes();
        let is_coming = |connection: &Arc<Connection>| {
            let is_open = matches!(
                connection.state(),
                ConnectionState::Pending(_)
                    | ConnectionState::Connected(_)
                    | ConnectionState::Idle(_)
            );
            is_open && !connection.is_overdue() && !self.0.knows_lists_of(connection)
        };
        let known = async { while new.iter().any(is_coming) && changes.changed().await.is_ok() {} };
        // Servers that are late are shown with the lists of the default connections.
        if tokio::time::timeout(patience, known).await.is_err() {
            self.0.mark_overdue(new.iter().filter(|connection| is_coming(connection)));
        }
    }

    /// Returns the number of a session's view: sessions of one principal with equal numbers see equal catalogs. 0
    /// is the principal's own view.
    pub fn view_number(&self, caller: &Caller) -> u64 {
        self.0.session_view(caller).map_or(0, |view| view.id)
    }

    /// Whether the calls of a session use the connection with this number:
    /// [`ConnectionKey::number`](crate::connection::ConnectionKey::number).
    pub fn uses_connection(&self, caller: &Caller, number: u64) -> bool {
        let applied = caller.applied();
        let usual = applied.placed.iter().find(|placed| placed.connection.key().number() == number);
        let seated =
            caller.bindings().uses_connection(number, usual.map(|placed| placed.name.as_str()));
        seated.unwrap_or(usual.is_some())
    }

    /// Whether no rule hides a server from a session. Reads the rules only: it is asked for each event and session.
    pub fn sees_server(&self, caller: &Caller, server: &str) -> bool {
        let applied = caller.applied();
        applied.server(server).is_some_and(|placed| {
            !applied.permissions.hides_server(&placed.normal, caller.rule_principal())
        })
    }

    /// Waits until no server of a workspace is expected any more, or `patience` has passed. Returns the snapshot
    /// for the local principal.
    pub async fn settled_snapshot(
        &self,
        workspace: &WorkspaceId,
        patience: Duration,
    ) -> Option<Arc<WorkspaceSnapshot>> {
        if let Some(standing) = self.0.workspace_state(workspace) {
            start_without_session(standing.local());
        }
        self.wait_until_settled(|| self.snapshot(workspace), patience).await
    }

    /// Like [`Engine::settled_snapshot`], for one principal.
    pub async fn settled_snapshot_for(
        &self,
        principal: &PrincipalLease,
        patience: Duration,
    ) -> Option<Arc<WorkspaceSnapshot>> {
        start_without_session(principal.view());
        self.wait_until_settled(|| self.snapshot_for(principal), patience).await
    }

    /// Like [`Engine::settled_snapshot_for`], for a client's first list. A server that it waits for in vain is not
    /// waited for again until it has answered, or is connected again: otherwise it would delay every new client.
    pub async fn await_first_lists(&self, principal: &PrincipalLease, patience: Duration) {
        let settled = self.settled_snapshot_for(principal, patience).await;
        let late: Vec<_> = settled.iter().flat_map(|snapshot| snapshot.servers_awaited()).collect();
        let applied = principal.view().applied();
        let late = late.iter().filter_map(|server| applied.server(&server.name));
        self.0.mark_overdue(late.map(|placed| &placed.connection));
    }

    async fn wait_until_settled(
        &self,
        snapshot: impl Fn() -> Option<Arc<WorkspaceSnapshot>>,
        patience: Duration,
    ) -> Option<Arc<WorkspaceSnapshot>> {
        let mut changes = self.changes();
        let settling = async {
            while snapshot()?.servers_awaited().next().is_some() {
                changes.changed().await.ok()?;
            }
            Some(())
        };
        // Servers that are late are shown as coming.
        let _ = tokio::time::timeout(patience, settling).await;
        snapshot()
    }
}

// === impl Inner ===

impl Inner {
    /// Marks connections that a first list has waited for in vain.
    pub(crate) fn mark_overdue<'c>(&self, late: impl Iterator<Item = &'c Arc<Connection>>) {
        let late: Vec<_> = late.collect();
        for connection in &late {
            connection.mark_overdue();
        }
        if !late.is_empty() {
            self.mark_changed();
        }
    }

    /// Returns a snapshot with current counts and times, and the cached catalog.
    fn fresh_snapshot(
        &self,
        standing: &WorkspaceState,
        view: &PrincipalView,
    ) -> Arc<WorkspaceSnapshot> {
        let last = self.snapshot(standing, view);
        let applied = view.applied();
        let mut snapshot = self.build_snapshot(&applied, standing, Some(&last));
        self.add_other_connections(&mut snapshot, &standing.id, view, &applied);
        Arc::new(snapshot)
    }

    /// Returns the current snapshot, which is made anew only if a state or list changed since the last.
    pub(crate) fn snapshot(
        &self,
        standing: &WorkspaceState,
        view: &PrincipalView,
    ) -> Arc<WorkspaceSnapshot> {
        self.cached_snapshot(standing, &view.applied(), &view.shown)
    }

    /// Returns the current snapshot for one session.
    pub(crate) fn session_snapshot(&self, caller: &Caller) -> Arc<WorkspaceSnapshot> {
        match self.session_view(caller) {
            None => self.snapshot(caller.workspace(), caller.view()),
            Some(view) => self.cached_snapshot(caller.workspace(), &view.applied, &view.shown),
        }
    }

    /// Returns a session's view; `None` where it equals its principal's.
    fn session_view(&self, caller: &Caller) -> Option<Arc<SessionView>> {
        let (applied, views) = (caller.applied(), &caller.view().seated);
        let (principal, mode) = (caller.rule_principal(), applied.mode(caller.session()));
        let knows = |connection: &Connection| self.knows_lists_of(connection);
        caller.bindings().view(&applied, views, SessionLists { principal, mode }, knows)
    }

    fn cached_snapshot(
        &self,
        standing: &WorkspaceState,
        applied: &AppliedState,
        shown: &Mutex<Option<(u64, Arc<WorkspaceSnapshot>)>>,
    ) -> Arc<WorkspaceSnapshot> {
        let revision = *self.revision.borrow();
        let last = {
            let shown = shown.lock();
            shown.clone()
        };
        if let Some((known, snapshot)) = &last
            && *known == revision
        {
            return snapshot.clone();
        }
        let last = last.map(|(_, snapshot)| snapshot);
        let snapshot = Arc::new(self.build_snapshot(applied, standing, last.as_deref()));
        let mut shown = shown.lock();
        // Another thread may have built a newer one meanwhile.
        if shown.as_ref().is_none_or(|(known, _)| *known <= revision) {
            *shown = Some((revision, snapshot.clone()));
        }
        snapshot
    }

    pub(in crate::engine) fn build_snapshot(
        &self,
        applied: &AppliedState,
        standing: &WorkspaceState,
        last: Option<&WorkspaceSnapshot>,
    ) -> WorkspaceSnapshot {
        let parsed = self.parsed_lists(applied);
        let generations = parsed.iter().map(|parsed| parsed.generation);
        let made_of: Vec<u64> = std::iter::once(applied.number).chain(generations).collect();
        let catalog = match last.filter(|last| last.made_of == made_of) {
            Some(last) => last.catalog.clone(),
            None => Arc::new(self.compose_catalog(applied, &parsed, CatalogFilter::HiddenItems)),
        };
        let lists_of = |name: &str| {
            let at = applied.placed.position(name)?;
            parsed[at].raw.as_deref()
        };
        let arrival = |placed: &AppliedServer| {
            let lists = lists_of(&placed.name);
            if lists.is_some_and(RawLists::is_known) {
                ListsArrival::There
            } else {
                ListsArrival::Coming
            }
        };
        let mut servers = snapshot::server_snapshots(applied, arrival);
        let costs: HashMap<&str, usize> = catalog.cost().into_iter().collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for listed in catalog.tools() {
            *counts.entry(listed.server()).or_default() += 1;
        }
        for view in servers.iter_mut().filter(|view| view.stats.is_some()) {
            view.cost = costs.get(view.name.as_str()).copied().unwrap_or_default();
            view.tools = counts.get(view.name.as_str()).copied().unwrap_or_default();
        }
        let mut problems = applied.problems.clone();
        problems.extend(catalog.problems().iter().cloned());
        problems.extend(stale_list_problems(applied, &parsed));
        problems.extend(applied.in_process.iter().flat_map(InProcessServer::problems));
        problems.extend(self.claims.problems(&standing.id));
        problems.extend(self.problems.iter().cloned());
        problems.extend(self.catalogs.problems());
        problems.extend(self.audit.as_ref().and_then(|audit| audit.problem()));
        let is_shown = |view: &&ServerSnapshot| catalog.servers().any(|name| name == view.name);
        let shown: Vec<&ServerSnapshot> = servers.iter().filter(is_shown).collect();
        let extensions = ExtensionReport {
            clients: standing.client_extensions(&shown),
            servers: standing.server_extensions(&servers, lists_of),
        };
        let sessions = standing.sessions();
        WorkspaceSnapshot { servers, catalog, problems, sessions, extensions, made_of }
    }

    /// Composes the catalog with nothing hidden, to tell hidden items from missing ones.
    pub(crate) fn unfiltered_catalog(&self, applied: &AppliedState) -> Catalog {
        self.compose_catalog(applied, &self.parsed_lists(applied), CatalogFilter::Nothing)
    }

    /// Composes the catalog of a session with the tools that its mode hides. `None` where its mode hides none.
    pub(crate) fn catalog_of_any_mode(&self, caller: &Caller) -> Option<Catalog> {
        let applied = self.session_view(caller).map(|view| Arc::clone(&view.applied));
        let applied = applied.unwrap_or_else(|| caller.applied());
        if !hides_by_mode(applied.mode(caller.session()), &applied.principal) {
            return None;
        }
        let parsed = self.parsed_lists(&applied);
        Some(self.compose_catalog(&applied, &parsed, CatalogFilter::AnyMode))
    }

    fn compose_catalog(
        &self,
        applied: &AppliedState,
        parsed: &[ParsedLists],
        filter: CatalogFilter,
    ) -> Catalog {
        let configured: Vec<ConfiguredServer<'_>> = applied
            .configured
            .iter()
            .map(|(name, scope): &(String, Scope)| ConfiguredServer { name, scope: *scope })
            .collect();
        let members: Vec<CatalogMember<'_>> = applied
            .placed
            .iter()
            .zip(parsed)
            .map(|(placed, parsed)| CatalogMember {
                server: &placed.name,
                scope: placed.scope,
                lists: parsed.lists.clone(),
                filter: &placed.filter,
                always_load: placed.always_load,
            })
            .collect();
        if filter == CatalogFilter::Nothing {
            return Catalog::compose(&configured, &members, &CatalogView::everything());
        }
        let (rules, principal) = (&applied.permissions, &applied.principal);
        let agent = applied.desired.agent.as_ref().map(|agent| &agent.tools);
        let is_denied = |label: &ItemLabel| {
            rules.hiding_rule(label.server().normal(), label.normal(), principal).is_some()
        };
        let is_mode_used =
            filter == CatalogFilter::HiddenItems && hides_by_mode(rules.mode(), principal);
        let view = CatalogView {
            agent: agent.filter(|tools| !tools.is_empty()),
            hides_tool: &|tool, label| {
                is_denied(label) || is_mode_used && !self.is_usable_in_mode(applied, tool, label)
            },
            hides_server: &|server| rules.hides_server(server, principal),
        };
        Catalog::compose(&configured, &members, &view)
    }

    /// Whether the mode leaves the principal a way to use a tool.
    fn is_usable_in_mode(&self, applied: &AppliedState, tool: &Tool, label: &ItemLabel) -> bool {
        let server = label.server().normal();
        let placed = applied.placed.iter().find(|placed| placed.normal == server);
        // The tool for signing in is ours, and no rule or mode is asked about it.
        let Some(placed) = placed.filter(|_| !authenticate::is_authenticate_tool(tool)) else {
            return true;
        };
        let subject = ToolUseSubject {
            permissions: &applied.permissions,
            server,
            tool: label.normal(),
            principal: &applied.principal,
            annotations: tool.annotations,
            interaction: ToolInteraction::of_tool(tool),
            has_hook: applied.hooks.has(HookEvent::PreToolUse, &label.full_name()),
        };
        subject.is_usable_in_mode(|| {
            let target = AnswerTarget {
                principal: &applied.principal.id,
                project: &applied.desired.root,
                server: &placed.name,
                signature: &placed.signature,
                tool: &tool.name,
            };
            // Answers that last as long as a session are given where somebody is asked, so not in these modes.
            self.memory.recall("", &target)
        })
    }

    fn parsed_lists(&self, applied: &AppliedState) -> Vec<ParsedLists> {
        let parsed = |placed: &Arc<AppliedServer>| {
            let parsed = self.pool.parsed_lists(&placed.connection.key());
            if placed.connection.awaits_sign_in() { with_sign_in_tool(parsed) } else { parsed }
        };
        applied.placed.iter().map(parsed).collect()
    }
}

/// Replaces the lists of a server that needs a sign-in by the `authenticate` tool.
fn with_sign_in_tool(parsed: ParsedLists) -> ParsedLists {
    let lists = Arc::new(authenticate::sign_in_lists(&parsed.lists));
    // A generation of its own, so that the catalog is composed again before and after the sign-in.
    ParsedLists { lists, generation: parsed.generation | SIGN_IN_GENERATION_BIT, raw: parsed.raw }
}

/// Which items a catalog leaves out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CatalogFilter {
    /// What rules, the agent and the mode leave out.
    HiddenItems,
    /// What rules and the agent leave out.
    AnyMode,
    /// Nothing.
    Nothing,
}

/// Problems for lists that could not be read again; the former lists are still shown.
fn stale_list_problems(applied: &AppliedState, parsed: &[ParsedLists]) -> Vec<EngineProblem> {
    let of = |(placed, parsed): (&Arc<AppliedServer>, &ParsedLists)| {
        let lists: Option<&RawLists> = parsed.raw.as_deref();
        let lists =
            lists.into_iter().flat_map(|lists| ALL_LISTS.map(|list| (list, lists.get(list))));
        let wrong = lists.filter_map(|(list, read)| Some((list, read.problem.as_ref()?)));
        let problem = |(list, error): (
            switchboard_wire::client::ListKind,
            &crate::connection::ConnectionError,
        )| {
            let what = list.member();
            let message = format!("its {what} could not be read: {error}");
            let message = switchboard_wire::sanitize::sanitize_line(&message).into_owned();
            EngineProblem::new(EngineProblemKind::StaleList, message)
                .of_server(&placed.name)
                .of_item(what)
        };
        wrong.map(problem).collect::<Vec<_>>()
    };
    applied.placed.iter().zip(parsed).flat_map(of).collect()
}
