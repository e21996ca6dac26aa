//! The engine behind one command: that of the running hub, or an own one in this process.
//!
//! If a hub runs for this user, the command goes through the hub, and no server is started twice. Otherwise servers
//! without a kept catalog are connected at once, others when they are called; a command that checks servers connects
//! all of these connections. The command waits only for those it needs, so that a dead server delays nothing. When the command
//! ends, the servers that it started have ended too.
//!
//! Used by all commands that need servers (`list`, `tools`, `call`, `read`, `prompt`, `doctor` and others) and by `ui`.
//! It does not serve clients (`served_workspace` does).

mod failures;
mod hints;
mod local_engine;
mod number_notices;
mod running;
mod side_events;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard_config::{Desired, DesiredServer, StartPolicy};
use switchboard_core::engine::ServerSnapshot;
use switchboard_core::logs::ServerLogs;
use switchboard_core::skills::{self, ServerSkills};
use switchboard_core::{Request, RunningCall, WorkspaceSnapshot};
use switchboard_hub::admin::client::HubWorkspace;
use tokio::sync::watch;

pub(crate) use failures::{call_failed, connect_failure, missing_failure, unconnected_notices};
pub(crate) use hints::Hints;
pub(crate) use number_notices::not_numbers;
pub(crate) use running::{find_running, hub_failure, settle, workspace_request};
pub(crate) use side_events::{SideEvent, SideEvents};
pub(crate) use switchboard_hub::admin::ResultLimit;

use crate::notice::Notice;
use crate::printer::Printer;
use crate::report::Failure;
use crate::show;
use crate::surroundings::Caller;
use local_engine::LocalEngine;

/// How long a server that is connected may take for its lists, beyond the time to connect.
const LISTS_TIMEOUT: Duration = Duration::from_secs(10);
/// The wait after which the command names the servers that it waits for.
const SILENT_WAIT: Duration = Duration::from_secs(1);

/// The engine of one command.
pub(crate) struct CommandEngine {
    pub(crate) desired: Desired,
    /// Problems of editors' files, or of the running hub.
    pub(crate) notices: Vec<Notice>,
    behind: EngineKind,
    logs: Option<ServerLogs>,
    connect: Duration,
}

/// The owner of the engine: the command or the hub.
enum EngineKind {
    /// The command's own.
    Local(LocalEngine),
    /// The running hub's.
    Hub(HubWorkspace),
}

/// The servers that a command waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WaitTarget<'a> {
    /// Every server.
    All,
    /// One server, by its name.
    Server(&'a str),
}

/// The server that a command gets where none is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FallbackServer {
    /// The built-in server, to have something to try.
    Builtin,
    /// No server.
    Nothing,
}

/// Opens the engine, does `work` with it, and closes it, also when the person interrupts the command. `start` says
/// whether an own engine starts servers with a kept catalog too.
pub(crate) async fn with_engine<T>(
    caller: &Caller,
    (room, start): (ResultLimit, StartPolicy),
    otherwise: FallbackServer,
    work: impl AsyncFnOnce(&CommandEngine) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let hub = CommandEngine::open(caller, (room, start), otherwise).await?;
    let done = tokio::select! {
        done = work(&hub) => done,
        _ = tokio::signal::ctrl_c() => Err(Failure::interrupted()),
    };
    hub.close().await;
    done
}

/// Does `work` with an engine that has servers: where none is configured, the built-in server stands in.
pub(crate) async fn with_servers<T>(
    caller: &Caller,
    printer: &Printer,
    work: impl AsyncFnOnce(&CommandEngine) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_engine(caller, (printer.result_limit(), StartPolicy::Lazy), FallbackServer::Builtin, work)
        .await
}

// === impl CommandEngine ===

impl CommandEngine {
    async fn open(
        caller: &Caller,
        (room, start): (ResultLimit, StartPolicy),
        otherwise: FallbackServer,
    ) -> Result<Self, Failure> {
        let (desired, editor_problems) = caller.desired_at_start();
        let connect = switchboard_hub::connect_timeout(&desired, &caller.surroundings.env);
        let (attached, mut notices) = running::attach(caller, room).await;
        notices.extend(editor_problems);
        if let Some(attached) = attached {
            let logs = ServerLogs::open(caller.surroundings.state_dir.join("logs")).ok();
            return Ok(Self { desired, notices, behind: EngineKind::Hub(attached), logs, connect });
        }
        let own = LocalEngine::open(caller, &desired, (room, start), otherwise).await?;
        let logs = own.engine.logs().cloned();
        Ok(Self { desired, notices, behind: EngineKind::Local(own), logs, connect })
    }

    pub(crate) fn snapshot(&self) -> Arc<WorkspaceSnapshot> {
        match &self.behind {
            EngineKind::Local(own) => own.snapshot(),
            EngineKind::Hub(attached) => attached.snapshot(),
        }
    }

    /// Changes whenever the snapshot does.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        match &self.behind {
            EngineKind::Local(own) => own.engine.changes(),
            EngineKind::Hub(attached) => attached.changes(),
        }
    }

    pub(crate) fn call(&self, request: Request) -> RunningCall {
        match &self.behind {
            EngineKind::Local(own) => own.engine.call(&own.attached, request),
            EngineKind::Hub(attached) => attached.call(&request),
        }
    }

    /// The skills of all servers, or of one, by asking them.
    pub(crate) async fn skills(&self, server: Option<&str>) -> Result<Vec<ServerSkills>, Failure> {
        let failed = |error| hub_failure("cannot list the skills", error);
        match &self.behind {
            EngineKind::Local(own) => {
                let call = |request| own.engine.call(&own.attached, request);
                Ok(skills::list_all_skills(&own.snapshot(), server, call).await)
            }
            EngineKind::Hub(attached) => attached.skills(server).await.map_err(failed),
        }
    }

    /// Questions and log messages of servers beside calls.
    pub(crate) fn asides(&self) -> SideEvents {
        match &self.behind {
            EngineKind::Local(own) => SideEvents::local(own),
            EngineKind::Hub(attached) => SideEvents::hub(attached),
        }
    }

    /// Reconnects a server in the hub. An engine of the command's own has not connected to any server yet.
    pub(crate) async fn reconnect(&self, server: &str) -> Result<(), Failure> {
        let EngineKind::Hub(attached) = &self.behind else { return Ok(()) };
        if self.snapshot().server(server).is_none_or(|view| view.stats.is_none()) {
            return Ok(());
        }
        let failed = |error| hub_failure(format!("cannot reconnect to `{server}`"), error);
        attached.reconnect(server).await.map_err(failed)
    }

    /// Has the hub retry servers that are down and ping connected ones; `Eager` starts idle ones first. An engine of
    /// the command's own has only just connected.
    pub(crate) async fn check_servers(&self, start: StartPolicy) -> Result<(), Failure> {
        let EngineKind::Hub(attached) = &self.behind else { return Ok(()) };
        let failed = |error| hub_failure("cannot check the servers", error);
        if start == StartPolicy::Eager {
            attached.start_idle_servers().await.map_err(failed)?;
        }
        attached.check_servers().await.map_err(failed)
    }

    /// Pings a connected server on the connections that it has. The snapshot then shows the latency.
    pub(crate) async fn check_answers(&self, server: &str) -> Result<(), Failure> {
        let failed = |error| hub_failure(format!("cannot check `{server}`"), error);
        match &self.behind {
            EngineKind::Local(own) => {
                own.check_answers(server).await;
                Ok(())
            }
            EngineKind::Hub(attached) => attached.check_answers(server).await.map_err(failed),
        }
    }

    /// Where a server's output is kept, if anything is there.
    pub(crate) fn log(&self, server: &DesiredServer) -> Option<PathBuf> {
        let place = server.working_dir.to_string_lossy();
        let path = self.logs.as_ref()?.path(&server.name, &place);
        path.exists().then_some(path)
    }

    /// Waits until nothing more is expected of the servers that are wanted.
    pub(crate) async fn wait_until_settled(
        &self,
        wanted: WaitTarget<'_>,
        printer: &Printer,
    ) -> Arc<WorkspaceSnapshot> {
        let is_wanted = |view: &ServerSnapshot| match wanted {
            WaitTarget::All => true,
            WaitTarget::Server(name) => view.name == name,
        };
        self.wait_until(printer, |snapshot| !snapshot.servers_coming().any(is_wanted)).await
    }

    /// Waits until nothing more is expected of one server, or of all. An error if the server does not exist.
    pub(crate) async fn settled_snapshot(
        &self,
        server: Option<&str>,
        printer: &Printer,
    ) -> Result<Arc<WorkspaceSnapshot>, Failure> {
        let wanted = server.map_or(WaitTarget::All, WaitTarget::Server);
        let snapshot = self.wait_until_settled(wanted, printer).await;
        match server.and_then(|server| missing_failure(self, &snapshot, server)) {
            Some(failure) => Err(failure),
            None => Ok(snapshot),
        }
    }

    /// Waits until the snapshot is as `so` wants it, or nothing more is expected. Prints the servers that it waits
    /// for.
    pub(crate) async fn wait_until(
        &self,
        printer: &Printer,
        so: impl Fn(&WorkspaceSnapshot) -> bool,
    ) -> Arc<WorkspaceSnapshot> {
        let mut changes = self.changes();
        let deadline = Instant::now() + self.connect + LISTS_TIMEOUT;
        let began = Instant::now();
        let mut waiting = None;
        loop {
            changes.borrow_and_update();
            let snapshot = self.snapshot();
            if so(&snapshot)
                || snapshot.servers_coming().next().is_none()
                || Instant::now() > deadline
            {
                return snapshot;
            }
            if began.elapsed() >= SILENT_WAIT {
                drop(waiting.take());
                waiting = printer.waiting(&waiting_for(&snapshot, began.elapsed()));
            }
            // Checked every second, for the printed progress and for the deadline.
            let waited = tokio::time::timeout(SILENT_WAIT, changes.changed()).await;
            if matches!(waited, Ok(Err(_))) {
                // The hub has ended, and sends no more changes.
                return snapshot;
            }
        }
    }

    /// Stops the command's own engine, within a few seconds whatever its servers do.
    async fn close(self) {
        if let EngineKind::Local(own) = self.behind {
            own.close().await;
        }
    }
}

/// The view of a configured server in a snapshot.
pub(crate) fn view_of<'s>(
    snapshot: &'s WorkspaceSnapshot,
    server: &DesiredServer,
) -> Option<&'s ServerSnapshot> {
    let is_it =
        |view: &&ServerSnapshot| view.name == server.name && view.at.as_ref() == Some(&server.at);
    snapshot.servers.iter().find(is_it)
}

fn waiting_for(snapshot: &WorkspaceSnapshot, waited: Duration) -> String {
    let names: Vec<_> = snapshot.servers_coming().map(|view| show::word(&view.name)).collect();
    let names = show::shorten(&names.join(", "), 60);
    format!("waiting for {names} … {} s", waited.as_secs())
}
