//! Tests of connections to real processes under a guard, on the real clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_util::future::BoxFuture;
use http::HeaderMap;
use switchboard_config::{Entry, StdioTransport, Transport};
use switchboard_core::connection::{
    Connection, ConnectionContext, ConnectionError, ConnectionNotReady, ConnectionSpec,
    ConnectionState, ConnectionTarget, ConnectionTiming, LiveSession,
};
use switchboard_process::{ProcessGuard, SpawnError};
use switchboard_testkit::{
    guard_path,
    processes::{Identity, wait_until, working_in},
    programs::program,
    scripted::Scripted,
};
use switchboard_wire::{
    Error as WireError,
    client::{CallRequest, Implementation},
    http::{
        ChallengeAction, CredentialChallenge, CredentialError, CredentialProvider, RequestLine,
    },
    json::Raw,
};

use super::bench::{Heard, timing};

/// Retries that a test can wait for.
fn shared() -> ConnectionContext {
    let client = Implementation { name: "test".into(), version: "1".into() };
    let quick = ConnectionTiming { first_pause: Duration::from_millis(20), ..timing() };
    ConnectionContext::new(client, ProcessGuard::at(guard_path()).unwrap(), quick)
}

fn spec(folder: &Path, command: &Path, args: &[&str]) -> ConnectionSpec {
    let mut spec = super::bench::spec("server", &Scripted::new([]));
    let stdio = StdioTransport {
        command: command.to_str().unwrap().to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        ..StdioTransport::default()
    };
    spec.reach = ConnectionTarget::Entry(Box::new(Entry::new(Transport::Stdio(stdio))));
    spec.working_dir = folder.into();
    spec.environment = [("PATH".into(), "/usr/bin:/bin".into())].into();
    spec
}

fn start(spec: ConnectionSpec, shared: ConnectionContext) -> Arc<Connection> {
    Connection::start(spec, Arc::new(shared), Arc::new(Heard::new()))
}

fn identity(live: &LiveSession) -> Identity {
    Identity::of(live.client.process().unwrap().pid()).unwrap()
}

async fn until(
    connection: &Connection,
    so: impl FnMut(&ConnectionState) -> bool,
) -> ConnectionState {
    bounded(connection.watch().wait_for(so)).await.unwrap().clone()
}

/// Nothing here takes half a minute.
const BOUND: Duration = Duration::from_secs(30);

async fn bounded<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, future).await.expect("the test hangs")
}

/// Waits without holding up the runtime.
async fn eventually(so: impl Fn() -> bool + Send + 'static) {
    let waiting = tokio::task::spawn_blocking(move || wait_until(BOUND, so));
    waiting.await.unwrap().expect("it never happens");
}

#[tokio::test]
async fn a_server_that_is_killed_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let connection = start(spec(folder.path(), &program("fixture-server"), &[]), shared());
    let first = bounded(connection.ready()).await.unwrap();
    let process = identity(&first);
    assert_eq!(connection.stats().pid, Some(process.pid));

    let pid = nix::unistd::Pid::from_raw(i32::try_from(process.pid).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    let second =
        until(&connection, |state| state.live().is_some_and(|live| live.number() > first.number()));
    let second = second.await.live().unwrap().clone();
    assert_ne!(identity(&second), process);
    assert!(!process.is_alive());
    let error = connection.stats().last_error;
    assert!(matches!(error, Some(ConnectionError::Wire(WireError::Exited { .. }))), "{error:?}");
    let echo = CallRequest::call_tool("echo", &Raw::empty_object());
    second.client.call(echo).result().await.unwrap();

    connection.stop().await;
    assert_eq!(working_in(folder.path()), []);
}

/// A process that neither answers nor ends is gone when `stop` returns, with all that it started.
#[tokio::test]
async fn stopping_leaves_no_process() {
    let stubborn = program("stubborn");
    for (command, args, size) in
        [(program("fixture-server"), &[][..], 1), (stubborn, &["tree"][..], 4)]
    {
        let folder = tempfile::tempdir().unwrap();
        let connection = start(spec(folder.path(), &command, args), shared());
        let there = folder.path().to_owned();
        eventually(move || working_in(&there).len() >= size).await;
        bounded(connection.stop()).await;
        assert_eq!(working_in(folder.path()), [], "{}", command.display());
    }
}

/// Credentials that do not answer who has signed in once the server's process is there.
struct SilentSignIn {
    folder: PathBuf,
    waiting: AtomicBool,
}

impl CredentialProvider for SilentSignIn {
    fn headers<'a>(
        &'a self,
        _: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, CredentialError>> {
        Box::pin(std::future::ready(Ok(HeaderMap::new())))
    }

    fn on_challenge<'a>(&'a self, _: &'a CredentialChallenge) -> BoxFuture<'a, ChallengeAction> {
        Box::pin(std::future::ready(ChallengeAction::GiveUp))
    }

    fn sign_in_id(&self) -> BoxFuture<'_, Option<String>> {
        if working_in(&self.folder).is_empty() {
            return Box::pin(std::future::ready(None));
        }
        self.waiting.store(true, Ordering::SeqCst);
        Box::pin(std::future::pending())
    }
}

/// Nor is one left that had just connected. Its shell outlives the server, so that it does not end by itself.
#[tokio::test]
async fn stopping_at_the_end_of_an_attempt_leaves_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let server = program("fixture-server");
    let script = ["-c", r#""$0"; sleep 9"#, server.to_str().unwrap()];
    let mut spec = spec(folder.path(), Path::new("/bin/sh"), &script);
    let credentials = Arc::new(SilentSignIn {
        folder: folder.path().to_owned(),
        waiting: AtomicBool::new(false),
    });
    spec.credentials = Arc::clone(&credentials) as Arc<dyn CredentialProvider>;
    let connection = start(spec, shared());
    eventually(move || credentials.waiting.load(Ordering::SeqCst)).await;
    bounded(connection.stop()).await;
    assert_eq!(working_in(folder.path()), []);
}

/// Nor is one left whose connection took too long.
#[tokio::test]
async fn a_server_that_hangs_is_ended_before_the_next_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let mut shared = shared();
    shared.timing.connect = Duration::from_millis(300);
    shared.timing.retries = 1;
    let connection = start(spec(folder.path(), &program("stubborn"), &["tree"]), shared);
    let failed_twice = |state: &ConnectionState| matches!(state, ConnectionState::Failed(failed) if failed.number == 2);
    let ConnectionState::Failed(failed) = until(&connection, failed_twice).await else { panic!() };
    // It prints a line that is no message before it hangs.
    let ConnectionError::Wire(WireError::StrayText { source, .. }) = &failed.error else {
        panic!("{failed:?}")
    };
    assert!(matches!(**source, WireError::Timeout { .. }), "{failed:?}");
    assert_eq!(working_in(folder.path()), []);
}

#[tokio::test]
async fn a_command_that_is_not_there_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let connection = start(spec(folder.path(), Path::new("no-such-server"), &[]), shared());
    let Err(ConnectionNotReady::Failed(failed)) = bounded(connection.ready()).await else {
        panic!()
    };
    let ConnectionError::Wire(WireError::Spawn(error)) = &failed.error else {
        panic!("{failed:?}")
    };
    assert!(matches!(**error, SpawnError::NotFound { .. }));
    assert!(failed.retry_at.is_none());
}

/// An entry that starts us as a server would have us among our own servers.
#[tokio::test]
async fn a_loop_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ours = program("fixture-server");
    let check = async |args: &[&str], program: &Path, is_loop: bool| {
        let mut shared = shared();
        shared.program = Some(program.to_owned());
        let connection = start(spec(folder.path(), &ours, args), shared);
        let refused = match bounded(connection.ready()).await {
            Err(ConnectionNotReady::Failed(failed)) => {
                matches!(failed.error, ConnectionError::Loop)
            }
            _ => false,
        };
        assert_eq!(refused, is_loop, "{args:?} {}", program.display());
        connection.stop().await;
    };
    check(&["connect"], &ours, true).await;
    check(&["--project", "x", "serve"], &ours, true).await;
    check(&["builtin"], &ours, false).await;
    check(&["connect"], &program("guard"), false).await;
}

#[tokio::test]
async fn a_process_gets_the_usual_variables_what_its_entry_names_and_the_marker() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("env");
    let script = format!("env > {}.new; mv {0}.new {0}; cat", output.display());
    let mut spec = spec(folder.path(), Path::new("sh"), &["-c", &script]);
    spec.environment = [
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("API_KEY".into(), "secret".into()),
        ("AWS_REGION".into(), "r".into()),
    ]
    .into();
    std::fs::write(folder.path().join(".env"), "A=file\nB=file\n").unwrap();
    if let ConnectionTarget::Entry(entry) = &mut spec.reach
        && let Transport::Stdio(stdio) = &mut entry.transport
    {
        stdio.env = [("A".to_owned(), "own".to_owned())].into();
        stdio.env_file = Some(".env".into());
        stdio.inherit_env = switchboard_config::InheritEnv::Names(vec!["AWS_*".into()]);
    }
    let connection = start(spec, shared());
    let written = output.clone();
    eventually(move || written.exists()).await;
    connection.stop().await;
    let text = std::fs::read_to_string(output).unwrap();
    // What the shell adds by itself is not ours.
    let shell = ["PWD=", "SHLVL=", "_=", "OLDPWD="];
    let mut variables: Vec<_> =
        text.lines().filter(|line| !shell.iter().any(|own| line.starts_with(own))).collect();
    variables.sort_unstable();
    assert_eq!(
        variables,
        ["A=own", "AWS_REGION=r", "B=file", "PATH=/usr/bin:/bin", "SWITCHBOARD_PARENT=1"]
    );
}
