//! The engine behind one command: the running hub's, shared with its clients, or one of the command's own.
//!
//! Where a hub runs for this user, a command goes through it, and no server is started twice. Else everything that is
//! configured is connected to at once, and a command waits only for what it needs, so that a dead server delays nobody.
//! However the command ends, nothing is left of the servers it started itself.

mod aside;
mod credentials;
mod hints;
mod options;
mod own;
mod running;
mod why;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard_config::{Desired, Server};
use switchboard_core::engine::ServerView;
use switchboard_core::logs::Logs;
use switchboard_core::{Request, Running, Snapshot};
use switchboard_hub::admin::client::Attached;
use tokio::sync::watch;

pub(crate) use aside::{Aside, Asides};
pub(crate) use credentials::{Sources, network, signs_in};
pub(crate) use hints::Hints;
pub(crate) use options::{engine as engine_options, not_numbers};
pub(crate) use running::{refused, running, settle, whose};
pub(crate) use switchboard_hub::admin::Room;
pub(crate) use why::{call_failed, failed, missing, unconnected};

use crate::notice::Notice;
use crate::printer::Printer;
use crate::report::Failure;
use crate::show;
use crate::surroundings::Caller;
use own::Own;

/// How long a server that is connected may take for its lists, beyond the time to connect.
const LISTS: Duration = Duration::from_secs(30);
/// How long a person waits without being told what for.
const UNNOTICED: Duration = Duration::from_secs(1);

/// The engine of one command.
pub(crate) struct Hub {
    pub(crate) desired: Desired,
    /// What is wrong with files of editors, or with the hub that runs.
    pub(crate) notices: Vec<Notice>,
    behind: Behind,
    logs: Option<Logs>,
    connect: Duration,
}

/// Whose engine it is.
enum Behind {
    /// The command's own.
    Own(Own),
    /// The running hub's.
    Hub(Attached),
}

/// What a command waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted<'a> {
    /// Every server.
    All,
    /// One, by its name.
    Server(&'a str),
}

/// What stands in for servers where none is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Otherwise {
    /// The built-in one, to have something to try.
    Builtin,
    /// Nothing.
    Nothing,
}

/// Opens the hub, does `work` with it, and leaves nothing behind; also when the person does not want it any more.
pub(crate) async fn with<T>(
    caller: &Caller,
    room: Room,
    otherwise: Otherwise,
    work: impl AsyncFnOnce(&Hub) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let hub = Hub::open(caller, room, otherwise).await?;
    let done = tokio::select! {
        done = work(&hub) => done,
        _ = tokio::signal::ctrl_c() => Err(Failure::interrupted()),
    };
    hub.close().await;
    done
}

// === impl Hub ===

impl Hub {
    async fn open(caller: &Caller, room: Room, otherwise: Otherwise) -> Result<Self, Failure> {
        let (desired, editor_problems) = caller.desired();
        let connect = options::connect(&desired, caller);
        let (attached, mut notices) = running::attach(caller, room).await;
        notices.extend(editor_problems);
        if let Some(attached) = attached {
            let logs = Logs::open(caller.surroundings.state_dir.join("logs")).ok();
            return Ok(Self { desired, notices, behind: Behind::Hub(attached), logs, connect });
        }
        let own = Own::open(caller, &desired, room, otherwise).await?;
        let logs = own.engine.logs().cloned();
        Ok(Self { desired, notices, behind: Behind::Own(own), logs, connect })
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        match &self.behind {
            Behind::Own(own) => own.snapshot(),
            Behind::Hub(attached) => attached.snapshot(),
        }
    }

    /// Changes whenever the snapshot does.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        match &self.behind {
            Behind::Own(own) => own.engine.changes(),
            Behind::Hub(attached) => attached.changes(),
        }
    }

    pub(crate) fn call(&self, request: Request) -> Running {
        match &self.behind {
            Behind::Own(own) => own.engine.call(&own.attached, request),
            Behind::Hub(attached) => attached.call(&request),
        }
    }

    /// What servers ask and log beside calls.
    pub(crate) fn asides(&self) -> Asides {
        match &self.behind {
            Behind::Own(own) => Asides::own(own),
            Behind::Hub(attached) => Asides::hub(attached),
        }
    }

    /// Connects to a server anew. An engine of the command's own knows nothing of any server yet.
    pub(crate) async fn reconnect(&self, server: &str) -> Result<(), Failure> {
        let Behind::Hub(attached) = &self.behind else { return Ok(()) };
        if self.snapshot().server(server).is_none_or(|view| view.stats.is_none()) {
            return Ok(());
        }
        let failed = |error| refused(format!("cannot connect to `{server}` anew"), error);
        attached.reconnect(server).await.map_err(failed)
    }

    /// Has servers that are down tried again and connected ones asked whether they still answer. An engine of the
    /// command's own has only just begun with both.
    pub(crate) async fn check_servers(&self) -> Result<(), Failure> {
        let Behind::Hub(attached) = &self.behind else { return Ok(()) };
        let failed = |error| refused("cannot check the servers", error);
        attached.check_servers().await.map_err(failed)
    }

    /// Where a server's output is kept, if anything is there.
    pub(crate) fn log(&self, server: &Server) -> Option<PathBuf> {
        let place = server.working_dir.to_string_lossy();
        let path = self.logs.as_ref()?.path(&server.name, &place);
        path.exists().then_some(path)
    }

    /// Waits until nothing more is expected of the servers that are wanted.
    pub(crate) async fn settled(&self, wanted: Wanted<'_>, printer: &Printer) -> Arc<Snapshot> {
        let is_wanted = |view: &ServerView| match wanted {
            Wanted::All => true,
            Wanted::Server(name) => view.name == name,
        };
        self.until(printer, |snapshot| !snapshot.coming().any(is_wanted)).await
    }

    /// Waits until the snapshot is as `so` wants it, or nothing more is expected. Says whom for.
    pub(crate) async fn until(
        &self,
        printer: &Printer,
        so: impl Fn(&Snapshot) -> bool,
    ) -> Arc<Snapshot> {
        let mut changes = self.changes();
        let deadline = Instant::now() + self.connect + LISTS;
        let began = Instant::now();
        let mut waiting = None;
        loop {
            changes.borrow_and_update();
            let snapshot = self.snapshot();
            if so(&snapshot) || snapshot.coming().next().is_none() || Instant::now() > deadline {
                return snapshot;
            }
            if began.elapsed() >= UNNOTICED {
                drop(waiting.take());
                waiting = printer.waiting(&waiting_for(&snapshot, began.elapsed()));
            }
            // Looked at every second, for whoever watches and for the deadline.
            let waited = tokio::time::timeout(UNNOTICED, changes.changed()).await;
            if matches!(waited, Ok(Err(_))) {
                // The hub is gone, and nothing more will come.
                return snapshot;
            }
        }
    }

    /// Stops everything that is the command's own, within a few seconds whatever the servers do.
    async fn close(self) {
        if let Behind::Own(own) = self.behind {
            own.close().await;
        }
    }
}

/// What became of a configured server, as a snapshot shows it.
pub(crate) fn view_of<'s>(snapshot: &'s Snapshot, server: &Server) -> Option<&'s ServerView> {
    let is_it =
        |view: &&ServerView| view.name == server.name && view.at.as_ref() == Some(&server.at);
    snapshot.servers.iter().find(is_it)
}

fn waiting_for(snapshot: &Snapshot, waited: Duration) -> String {
    let names: Vec<_> = snapshot.coming().map(|view| show::word(&view.name)).collect();
    let names = show::shortened(&names.join(", "), 60);
    format!("waiting for {names} … {} s", waited.as_secs())
}
