//! The engine behind one command: every server of the configuration, for as long as the command runs.
//!
//! Everything that is configured is connected to at once, and a command waits only for what it needs, so that a dead
//! server delays nobody. However the command ends, nothing is left of the servers.

mod options;
mod why;

use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard_config::Desired;
use switchboard_core::engine::{Environment, InProcess, ServerView};
use switchboard_core::permission::Consent;
use switchboard_core::results::{BlobPolicy, ImagePolicy, Policy};
use switchboard_core::{
    Caller as Attached, Engine, Request, Running, Session, Snapshot, Workspace, WorkspaceId, ide,
};
use switchboard_wire::server::Changes;

pub(crate) use options::{engine as engine_options, not_numbers};
pub(crate) use why::{call_failed, failed, missing, unconnected};

use crate::builtin::Builtin;
use crate::notice::Notice;
use crate::printer::Printer;
use crate::report::Failure;
use crate::show;
use crate::surroundings::Caller;

/// The name of the server that is there when nothing is configured.
pub(crate) const BUILTIN: &str = "builtin";

/// How long a server that is connected may take for its lists, beyond the time to connect.
const LISTS: Duration = Duration::from_secs(30);
/// How long a person waits without being told what for.
const UNNOTICED: Duration = Duration::from_secs(1);

/// The engine of one command.
pub(crate) struct Hub {
    pub(crate) engine: Engine,
    pub(crate) attached: Attached,
    pub(crate) desired: Desired,
    /// What is wrong with files of editors.
    pub(crate) notices: Vec<Notice>,
    workspace: WorkspaceId,
    connect: Duration,
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

/// How large a result may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// Somebody reads it from a screen.
    Screen,
    /// It goes on to another program, whole.
    Pipe,
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
        let mut desired = caller.workspace.desired();
        let notices = add_editor(caller, &mut desired);
        let environment = environment(&desired, caller);
        let options = options::engine(&desired, caller)?;
        let connect = options.timing.connect;
        let is_empty = desired.servers.is_empty() && !desired.exclusive;
        let in_process = match otherwise {
            Otherwise::Builtin if is_empty => {
                vec![InProcess::new(BUILTIN, Arc::new(Builtin), Changes::default())]
            }
            _ => Vec::new(),
        };
        let id = WorkspaceId::of(&desired, &environment, "");
        let workspace = Workspace { id: id.clone(), environment, in_process };
        let engine = Engine::start(options).await;
        engine.apply(&workspace, desired.clone());
        let attached = engine.attach(&id, session(room));
        let attached = attached
            .ok_or_else(|| Failure::plain(crate::report::Kind::Failed, "the engine has ended"))?;
        Ok(Self { engine, attached, desired, notices, workspace: id, connect })
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        // It is there as long as this session is attached to it.
        self.engine.snapshot(&self.workspace).unwrap_or_else(|| Arc::new(Snapshot::default()))
    }

    pub(crate) fn call(&self, request: Request) -> Running {
        self.engine.call(&self.attached, request)
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
        let mut changes = self.engine.changes();
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
            let _ = tokio::time::timeout(UNNOTICED, changes.changed()).await;
        }
    }

    /// Stops everything, within a few seconds whatever the servers do.
    async fn close(self) {
        let Self { engine, attached, .. } = self;
        drop(attached);
        engine.shutdown().await;
    }
}

fn waiting_for(snapshot: &Snapshot, waited: Duration) -> String {
    let names: Vec<_> = snapshot.coming().map(|view| show::word(&view.name)).collect();
    let names = show::shortened(&names.join(", "), 60);
    format!("waiting for {names} … {} s", waited.as_secs())
}

fn session(room: Room) -> Session {
    let mut session = Session::new(format!("cli-{}", std::process::id()));
    "switchboard".clone_into(&mut session.client);
    session.transport = "cli";
    session.consent = Consent::Typed;
    // Images and blobs are for the person, who gets them as they are.
    let whole = Policy { images: ImagePolicy::Leave, blobs: BlobPolicy::Leave, ..Policy::local() };
    session.results = match room {
        Room::Screen => whole,
        Room::Pipe => Policy { max_chars: usize::MAX, max_tokens: usize::MAX, ..whole },
    };
    session
}

/// The caller's environment with what settings put on top of it.
fn environment(desired: &Desired, caller: &Caller) -> Environment {
    let set = &desired.settings.env;
    let is_set =
        |name: &std::ffi::OsString| name.to_str().is_some_and(|name| set.contains_key(name));
    let kept = caller.variables.iter().filter(|(name, _)| !is_set(name)).cloned();
    let set = set.iter().map(|(name, value)| (name.into(), value.value.clone().into()));
    kept.chain(set).collect()
}

/// The editor in which the project is open becomes a server, unless one of its name is configured.
fn add_editor(caller: &Caller, desired: &mut Desired) -> Vec<Notice> {
    if desired.exclusive || caller.is_strict() || desired.named(ide::NAME).next().is_some() {
        return Vec::new();
    }
    let (editors, problems) = ide::editors(&caller.editors(), &desired.root);
    if let Some(editor) = editors.first() {
        desired.servers.push(editor.server(&desired.root));
    }
    problems.iter().map(Notice::from).collect()
}
