//! A hub that serves the fixture on the socket of a folder.
//!
//! `hub-for-tests FOLDER [version=V] [idle=MS] [handover=MS] [stay] [fail]`: records its process in `FOLDER/hubs`
//! first, leaves the session of its parent, and serves until it is told to end or has no clients. Used by the attach
//! tests of `hub`.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a program for tests")]

use std::{io::Write as _, path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use switchboard_gateway::view_provider::{OpenView, ViewError, ViewProvider, ViewRequest};
use switchboard_hub::socket::{
    ClientHello, HelloRefusal, HubBackend, HubFolders, HubLifetime, HubListener, HubPaths,
    ListenOptions, detach,
};
use switchboard_testkit::fixture::Fixture;
use tokio_util::sync::CancellationToken;

/// One fixture for all clients.
struct One(Arc<Fixture>);

/// Gives every client the fixture, whatever it selects.
struct ForAll(Arc<One>);

// === impl One ===

impl ViewProvider for One {
    type View = Fixture;

    async fn open(&self, _: ViewRequest) -> Result<OpenView<Fixture>, ViewError> {
        Ok(OpenView { view: self.0.clone(), changes: self.0.changes().clone() })
    }
}

// === impl ForAll ===

impl HubBackend for ForAll {
    type Views = One;

    fn view_provider<'a>(
        &'a self,
        _: &'a ClientHello,
    ) -> BoxFuture<'a, Result<Arc<One>, HelloRefusal>> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}

fn main() -> ExitCode {
    switchboard_process::guard::run_if_guard();
    let mut args = std::env::args().skip(1);
    let folder = PathBuf::from(args.next().unwrap());
    note(&folder);
    detach().unwrap();
    let mut options = ListenOptions::new("0.1.0", HubLifetime::while_used());
    for arg in args {
        match arg.split_once('=') {
            Some(("version", version)) => version.clone_into(&mut options.version),
            Some((name, value)) => set(&mut options.lifetime, name, value),
            None if arg == "stay" => options.lifetime = HubLifetime::UntilStopped,
            None => {
                eprintln!("told to {arg}");
                return ExitCode::FAILURE;
            }
        }
    }
    serve(&folder, options)
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn serve(folder: &std::path::Path, options: ListenOptions) -> ExitCode {
    // A hub that a failed test has left behind ends on its own.
    let forgotten = CancellationToken::new();
    let forget = forgotten.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_mins(2)).await;
        forget.cancel();
    });
    let place = HubPaths::find(&HubFolders {
        config: folder.join("config"),
        state: folder.join("state"),
        runtime: None,
        short: "/tmp".into(),
    });
    match HubListener::bind(&place.unwrap(), Duration::from_secs(10)).await {
        Ok(listener) => {
            let hub = Arc::new(ForAll(Arc::new(One(Arc::default()))));
            let ended = listener.serve(hub, options, forgotten).await;
            eprintln!("ended: {:?}", ended.why);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Adds a line for this hub.
fn note(folder: &std::path::Path) {
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.create(true).append(true).open(folder.join("hubs")).unwrap();
    writeln!(file, "{}", std::process::id()).unwrap();
}

fn set(lifetime: &mut HubLifetime, name: &str, value: &str) {
    let value = Duration::from_millis(value.parse().unwrap());
    if let HubLifetime::WhileUsed { idle, handover } = lifetime {
        match name {
            "idle" => *idle = value,
            "handover" => *handover = value,
            _ => {}
        }
    }
}
