//! Applies a desired state: starts, keeps and stops connections so that they match it.
//!
//! Used by `Engine::apply`. The pool (`supervisor::pool`) decides which connections are shared.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use switchboard_config::{
    Desired, DesiredServer, DiscoveredServer, Entry, NotReadyReason, PermissionMode, ProtocolEra,
    Scope, ServerReadiness, SourceOrigin,
};
use switchboard_wire::{Era, http::NoCredentials};

use crate::connection::{
    self, CapabilityClass, Connection, ConnectionSharing, ConnectionSpec, ConnectionTarget,
};
use crate::engine::session::choose_connection::class_with_answerer;
use crate::engine::session::first_session::start_for_present_sessions;
use crate::engine::supervisor::applied::{
    self, AppliedServers, AppliedState, ConnectionKind, ServerPlan,
};
use crate::engine::supervisor::pool::{ConnectionHolder, HoldRequest, HoldScope};
use crate::engine::workspace::call_limits::{CallLimits, variable_problems};
use crate::engine::workspace::guest_access::{Guest, GuestAccess};
use crate::engine::workspace::state::{Departure, Workspace, WorkspaceId, WorkspaceState};
use crate::engine::{Inner, workspace::in_process::InProcessServer};
use crate::environment;
use crate::hooks::{HookRunner, Hooks};
use crate::permission::{RulePrincipal, WorkspacePermissions};
use crate::principal::LOCAL_PRINCIPAL;

// === impl Inner ===

impl Inner {
    pub(in crate::engine) fn apply(self: &Arc<Self>, workspace: &Workspace, desired: Arc<Desired>) {
        let _changing = self.lock_changes();
        if self.closing.is_cancelled() {
            return;
        }
        let id = &workspace.id;
        let standing = self.workspace_state(id);
        let before = standing.as_ref().map(|standing| standing.applied());
        let hold = |plan: ServerPlan| {
            let holder = ConnectionHolder {
                workspace: id.clone(),
                server: plan.name.clone(),
                of: HoldScope::Everyone,
            };
            let mut spec = plan.spec.clone();
            let entry_key = spec.entry_key();
            let known = before.as_ref().and_then(|before| before.kind_of(&plan.name, entry_key));
            if let Some(ConnectionKind { era, class }) = known.filter(|_| plan.shares_by_kind()) {
                (spec.era, spec.class) = (spec.era.or(era), class);
            } else if plan.shares_by_kind()
                && let Some(class) =
                    standing.as_ref().and_then(|it| it.first_class(LOCAL_PRINCIPAL))
            {
                spec.class = class_with_answerer(class, plan.elicitation);
            }
            let request = HoldRequest { spec, entry_key, holder };
            let connection = self.pool.hold(request, &self.listener);
            connection.set_start_policy(plan.spec.start_policy());
            Arc::new(plan.into_applied_server(connection))
        };
        let placed: AppliedServers =
            self.plans(workspace, &desired).into_iter().map(hold).collect();
        let applied = Arc::new(self.assemble(workspace, desired, placed));
        self.parse_kept_lists(&applied);
        if let Some(before) = &before {
            self.delete_former_catalogs(id, before, &applied);
        }
        let standing = self.install_applied(workspace, applied);
        start_for_present_sessions(&standing);
        let current = current_connections(&standing);
        self.release(|holder, key| {
            let of = |principal: &str| current.get(&(principal.into(), holder.server.clone()));
            let key_of = |principal: &str| of(principal).map(|connection| connection.key());
            holder.workspace == *id
                && match &holder.of {
                    HoldScope::Everyone => key_of(LOCAL_PRINCIPAL) != Some(*key),
                    HoldScope::Principal(principal) => key_of(principal) != Some(*key),
                    // A session's own connection was made from an entry that may be gone.
                    HoldScope::Session { principal, .. } => {
                        let entry = of(principal).map(|connection| connection.entry_key());
                        !self.claims.is_current(holder, entry.as_ref())
                    }
                }
        });
        self.mark_changed();
    }

    /// Plans the servers to be started, each once.
    fn plans(&self, workspace: &Workspace, desired: &Desired) -> Vec<ServerPlan> {
        let mut plans: Vec<ServerPlan> = Vec::new();
        for (server, entry) in desired.ready_servers() {
            if !plans.iter().any(|plan| plan.name == server.name) {
                let spec = match workspace.in_process(server) {
                    Some(link) => in_process(workspace, desired, server, link),
                    None => self.spec(workspace, desired, server, entry),
                };
                plans.push(ServerPlan::new(server, entry, desired, spec));
            }
        }
        plans
    }

    fn spec(
        &self,
        workspace: &Workspace,
        desired: &Desired,
        server: &DesiredServer,
        entry: &Entry,
    ) -> ConnectionSpec {
        let environment =
            environment::for_command(&workspace.environment, &server.working_dir, &desired.root);
        let (credentials, credential_id) =
            self.options.credentials.credentials(LOCAL_PRINCIPAL, server, entry, &environment);
        ConnectionSpec {
            server: server.name.clone(),
            scope: server.scope,
            reach: ConnectionTarget::Entry(Box::new(Entry {
                start: entry.start.or(desired.settings.start),
                ..entry.clone()
            })),
            working_dir: server.working_dir.clone(),
            environment,
            root: applied::offered_root(server, desired),
            class: CapabilityClass::QUEUE,
            era: entry.era.map(era),
            principal: (!shares_connection(server, entry)).then(|| LOCAL_PRINCIPAL.into()),
            variant: ConnectionSharing::Shared,
            credentials,
            credential_id,
            secrets: server.secrets.values().cloned().collect(),
        }
    }

    fn assemble(
        &self,
        workspace: &Workspace,
        desired: Arc<Desired>,
        placed: AppliedServers,
    ) -> AppliedState {
        let configured = applied::configured_servers(&desired);
        let normal: Vec<String> =
            configured.iter().map(|(name, scope)| applied::normalize_name(name, *scope)).collect();
        let mode = desired.rules.mode.as_ref().map(|mode| mode.value);
        let mode = mode.unwrap_or(PermissionMode::Default);
        let (permissions, mut problems) = WorkspacePermissions::new(&desired.rules, mode, &normal);
        let runner = HookRunner {
            guard: self.options.guard.clone(),
            environment: workspace.environment.to_vec(),
            project: desired.root.clone(),
        };
        let (hooks, wrong) = Hooks::new(&desired.hooks, runner);
        problems.extend(wrong);
        problems.extend(variable_problems(&desired, &workspace.environment));
        let is_started =
            |server: &&InProcessServer| placed.iter().any(|placed| placed.name == server.name);
        AppliedState {
            in_process: workspace.in_process.iter().filter(is_started).cloned().collect(),
            number: self.next_number(),
            numbers: CallLimits::from_settings(&desired, &workspace.environment),
            hooks: Arc::new(hooks),
            permissions,
            principal: RulePrincipal::new(LOCAL_PRINCIPAL),
            desired,
            placed,
            configured,
            problems,
        }
    }

    /// Installs the applied state for every principal. Their number does not change here, so their connections are
    /// not refused.
    fn install_applied(
        self: &Arc<Self>,
        workspace: &Workspace,
        applied: Arc<AppliedState>,
    ) -> Arc<WorkspaceState> {
        let Some(known) = self.workspace_state(&workspace.id) else {
            let engine = Arc::downgrade(self);
            let left = move |id: &WorkspaceId, departure: Departure<'_>| {
                if let Some(engine) = engine.upgrade() {
                    engine.handle_departure(id, departure);
                }
            };
            let new = Arc::new(WorkspaceState::new(applied, workspace.id.clone(), left));
            self.lock().insert(workspace.id.clone(), Arc::clone(&new));
            return new;
        };
        for view in known.views() {
            let principal = &view.principal;
            if **principal == *LOCAL_PRINCIPAL {
                view.replace(Arc::clone(&applied));
            } else {
                let hold = |request| Ok::<_, Infallible>(self.pool.hold(request, &self.listener));
                let before = view.applied();
                let before = Some(&*before);
                let guest = Guest { principal, credentials: &*self.options.credentials };
                let Ok(theirs) = applied.for_principal(&workspace.id, guest, before, hold);
                view.replace(Arc::new(theirs));
            }
        }
        known
    }
}

/// Whether all principals share one connection to a server. Where the entry does not lend them its credential too, they
/// do not: a session with a server is as good as the credential that opened it.
fn shares_connection(server: &DesiredServer, entry: &Entry) -> bool {
    entry.share_principals && GuestAccess::of_server(server, entry) == GuestAccess::Same
}

/// Returns the current connections, by principal and server.
fn current_connections(standing: &WorkspaceState) -> HashMap<(Arc<str>, String), Arc<Connection>> {
    let views = standing.views();
    let connections = views.iter().flat_map(|view| {
        let of = |(server, connection)| ((Arc::clone(&view.principal), server), connection);
        view.connections().into_iter().map(of).collect::<Vec<_>>()
    });
    connections.collect()
}

fn era(pinned: ProtocolEra) -> Era {
    match pinned {
        ProtocolEra::Legacy => Era::Legacy,
        ProtocolEra::Modern => Era::Modern,
    }
}

/// Adds the servers inside this process to the desired state, each judged like a discovered server, by the policy
/// for all servers. A desired in-process server without a link is invalid.
pub(in crate::engine) fn with_in_process(workspace: &Workspace, mut desired: Desired) -> Desired {
    for given in &workspace.in_process {
        // Native plugins are in the desired state already.
        if !desired.servers_named(&given.name).any(DesiredServer::is_in_process) {
            let at = SourceOrigin::text("this program").start();
            desired.add_discovered(DiscoveredServer::in_process(&given.name, Scope::Dynamic, at));
        }
    }
    for server in desired.servers.iter_mut().filter(|server| server.is_in_process()) {
        if server.entry().is_some() && workspace.in_process(server).is_none() {
            let why = "this program does not run it".to_owned();
            server.state = ServerReadiness::Invalid(NotReadyReason { why, by: None });
        }
    }
    desired
}

/// Returns the target of a server inside this process, which belongs to this workspace alone.
fn in_process(
    workspace: &Workspace,
    desired: &Desired,
    server: &DesiredServer,
    link: &InProcessServer,
) -> ConnectionSpec {
    let id = format!("{}/{}", workspace.id, server.name);
    ConnectionSpec {
        server: server.name.clone(),
        scope: server.scope,
        reach: ConnectionTarget::InProcess(connection::InProcessLink {
            id,
            open: link.open.clone(),
        }),
        working_dir: desired.root.clone(),
        environment: workspace.environment.clone(),
        root: None,
        class: CapabilityClass::QUEUE,
        era: None,
        principal: Some(LOCAL_PRINCIPAL.into()),
        variant: ConnectionSharing::Shared,
        credentials: Arc::new(NoCredentials),
        credential_id: String::new(),
        secrets: Arc::new([]),
    }
}
