//! From what is desired to connections that match it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use switchboard_config::{
    Desired, Entry, FoundServer, Mode, Origin, ProtocolEra, Reason, Scope, Server, State,
};
use switchboard_wire::{Era, http::NoCredentials};

use super::applied::{self, Applied, ConnectionKind, Placing, Plan};
use super::numbers::{Numbers, number_problems};
use super::pool::{HoldRequest, Holder, Of};
use super::principal::LOCAL_PRINCIPAL;
use super::workspace::{Departure, Standing, Workspace, WorkspaceId};
use super::{Inner, in_process::InProcess};
use crate::connection::{self, CapabilityClass, Connection, Reach, Spec, Variant};
use crate::environment;
use crate::hooks::{Hooks, Runner};
use crate::permission::Permissions;

// === impl Inner ===

impl Inner {
    pub(super) fn apply(self: &Arc<Self>, workspace: &Workspace, desired: Arc<Desired>) {
        let _changing = self.changing();
        if self.closing.is_cancelled() {
            return;
        }
        let id = &workspace.id;
        let before = self.standing(id).map(|standing| standing.applied());
        let hold = |plan: Plan| {
            let holder =
                Holder { workspace: id.clone(), server: plan.name.clone(), of: Of::Everyone };
            let mut spec = plan.spec.clone();
            let entry_key = spec.entry_key();
            let known = before.as_ref().and_then(|before| before.kind_of(&plan.name, entry_key));
            if let Some(ConnectionKind { era, class }) = known.filter(|_| plan.shares_by_kind()) {
                (spec.era, spec.class) = (spec.era.or(era), class);
            }
            let request = HoldRequest { spec, entry_key, holder };
            let connection = self.pool.hold(request, &self.listener);
            Arc::new(plan.placed(connection))
        };
        let placed: Placing = self.plans(workspace, &desired).into_iter().map(hold).collect();
        let applied = Arc::new(self.assemble(workspace, desired, placed));
        let standing = self.stand(workspace, applied);
        let current = current_connections(&standing);
        self.release(|holder, key| {
            let of = |principal: &str| current.get(&(principal.into(), holder.server.clone()));
            let key_of = |principal: &str| of(principal).map(|connection| connection.key());
            holder.workspace == *id
                && match &holder.of {
                    Of::Everyone => key_of(LOCAL_PRINCIPAL) != Some(*key),
                    Of::Principal(principal) => key_of(principal) != Some(*key),
                    // A session's own connection was made from an entry that may be gone.
                    Of::Session { principal, .. } => {
                        let entry = of(principal).map(|connection| connection.entry_key());
                        !self.claims.is_current(holder, entry.as_ref())
                    }
                }
        });
        self.changed();
    }

    /// The servers to be started, once each.
    fn plans(&self, workspace: &Workspace, desired: &Desired) -> Vec<Plan> {
        let mut plans: Vec<Plan> = Vec::new();
        for (server, entry) in desired.ready() {
            if !plans.iter().any(|plan| plan.name == server.name) {
                let spec = match workspace.in_process(server) {
                    Some(link) => in_process(workspace, desired, server, link),
                    None => self.spec(workspace, desired, server, entry),
                };
                plans.push(Plan::new(server, entry, desired, spec));
            }
        }
        plans
    }

    fn spec(
        &self,
        workspace: &Workspace,
        desired: &Desired,
        server: &Server,
        entry: &Entry,
    ) -> Spec {
        let environment =
            environment::for_command(&workspace.environment, &server.working_dir, &desired.root);
        let (credentials, credential_id) =
            self.options.credentials.credentials(server, entry, &environment);
        Spec {
            server: server.name.clone(),
            scope: server.scope,
            reach: Reach::Entry(Box::new(entry.clone())),
            working_dir: server.working_dir.clone(),
            environment,
            root: applied::root(server, desired),
            class: CapabilityClass::QUEUE,
            era: entry.era.map(era),
            principal: (!entry.share_principals).then(|| LOCAL_PRINCIPAL.into()),
            variant: Variant::Shared,
            credentials,
            credential_id,
        }
    }

    fn assemble(&self, workspace: &Workspace, desired: Arc<Desired>, placed: Placing) -> Applied {
        let configured = applied::configured(&desired);
        let normal: Vec<String> =
            configured.iter().map(|(name, scope)| applied::normal(name, *scope)).collect();
        let mode = desired.rules.mode.as_ref().map(|mode| mode.value);
        let mode = mode.unwrap_or(Mode::Default);
        let (permissions, mut problems) = Permissions::new(&desired.rules, mode, &normal);
        let runner = Runner {
            guard: self.options.guard.clone(),
            environment: workspace.environment.to_vec(),
            project: desired.root.clone(),
        };
        let (hooks, wrong) = Hooks::new(&desired.hooks, runner);
        problems.extend(wrong);
        problems.extend(number_problems(&desired, &workspace.environment));
        Applied {
            number: self.number(),
            numbers: Numbers::of(&desired, &workspace.environment),
            hooks: Arc::new(hooks),
            permissions,
            desired,
            placed,
            configured,
            problems,
        }
    }

    /// Puts what was applied in place, for every principal that is there. Their number does not change here, so their
    /// connections are not refused.
    fn stand(self: &Arc<Self>, workspace: &Workspace, applied: Arc<Applied>) -> Arc<Standing> {
        let Some(known) = self.standing(&workspace.id) else {
            let engine = Arc::downgrade(self);
            let left = move |id: &WorkspaceId, departure: Departure<'_>| {
                if let Some(engine) = engine.upgrade() {
                    engine.left(id, departure);
                }
            };
            let new = Arc::new(Standing::new(applied, workspace.id.clone(), left));
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
                let Ok(theirs) = applied.for_principal(&workspace.id, principal, before, hold);
                view.replace(Arc::new(theirs));
            }
        }
        known
    }
}

/// The connections that stand now, by principal and server.
fn current_connections(standing: &Standing) -> HashMap<(Arc<str>, String), Arc<Connection>> {
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

/// What is desired, with the servers inside this process among it: each judged as a server that was found, by the same
/// gate as every other. One that is desired and that nobody gave a link to cannot be used.
pub(super) fn with_in_process(workspace: &Workspace, mut desired: Desired) -> Desired {
    for given in &workspace.in_process {
        // Native plugins are desired already.
        if !desired.named(&given.name).any(Server::is_in_process) {
            let at = Origin::text("this program").start();
            desired.add_found(FoundServer::in_process(&given.name, Scope::Dynamic, at));
        }
    }
    for server in desired.servers.iter_mut().filter(|server| server.is_in_process()) {
        if server.entry().is_some() && workspace.in_process(server).is_none() {
            let why = "this program does not run it".to_owned();
            server.state = State::Invalid(Reason { why, by: None });
        }
    }
    desired
}

/// A server inside this process: nobody else's workspace reaches it.
fn in_process(workspace: &Workspace, desired: &Desired, server: &Server, link: &InProcess) -> Spec {
    let id = format!("{}/{}", workspace.id, server.name);
    Spec {
        server: server.name.clone(),
        scope: server.scope,
        reach: Reach::InProcess(connection::InProcess { id, open: link.open.clone() }),
        working_dir: desired.root.clone(),
        environment: workspace.environment.clone(),
        root: None,
        class: CapabilityClass::QUEUE,
        era: None,
        principal: Some(LOCAL_PRINCIPAL.into()),
        variant: Variant::Shared,
        credentials: Arc::new(NoCredentials),
        credential_id: String::new(),
    }
}
