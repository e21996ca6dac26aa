//! A running peer with a connected client, and the check that no process is left afterwards.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use switchboard_process::{
    Process, ProcessCommand, ProcessGuard, SpawnedProcess, StderrOptions, StderrSink, spawn,
};
use switchboard_testkit::guard_path;
use switchboard_testkit::processes::{Identity, wait_until, working_in};
use switchboard_wire::client::{
    Client, ClientOptions, HttpTarget, RootFolder, ServerInbox, ServerTarget, StdioTarget,
    VersionNegotiation,
};
use switchboard_wire::http::{EndpointOptions, HttpPool, HttpPoolOptions, ProxySettings};
use switchboard_wire::ws::WsOptions;
use tempfile::TempDir;
use tokio::net::unix::pipe;
use tokio::sync::Notify;
use url::Url;

use super::raw;

/// The transport to a peer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Way {
    Stdio,
    Http,
    Sse,
    WebSocket,
}

/// A peer and its client. The peer works in its own folder, which marks its processes.
pub(super) struct Connected {
    pub(super) client: Client,
    pub(super) inbox: ServerInbox,
    server: Option<(Process, pipe::Sender)>,
    folder: TempDir,
}

/// The reader of the line `listening URL` on a peer's standard error.
#[derive(Default)]
struct Announcement {
    said: Mutex<String>,
    more: Notify,
}

/// The client's options; servers offer more to a client that can be asked.
pub(super) fn options(greeting: VersionNegotiation) -> ClientOptions {
    let mut options = ClientOptions::new("peers", "1");
    options.capabilities = raw(r#"{"elicitation":{"form":{},"url":{}},"sampling":{}}"#);
    options.roots =
        Some(vec![RootFolder { uri: "file:///project".into(), name: Some("project".into()) }]);
    options.greeting = greeting;
    options
}

// === impl Connected ===

impl Connected {
    /// Starts a peer and connects to it. `path` completes its URL.
    pub(super) async fn start(command: ProcessCommand, way: Way, path: &str) -> Self {
        Self::start_with(command, way, path, options(VersionNegotiation::Probe)).await
    }

    pub(super) async fn start_with(
        command: ProcessCommand,
        way: Way,
        path: &str,
        options: ClientOptions,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::start_in(folder, command, way, path, options).await
    }

    pub(super) async fn start_in(
        folder: TempDir,
        mut command: ProcessCommand,
        way: Way,
        path: &str,
        options: ClientOptions,
    ) -> Self {
        command.cwd = Some(folder.path().canonicalize().unwrap());
        command.env.push(("HOME".into(), folder.path().into()));
        let guard = ProcessGuard::at(guard_path()).unwrap();
        let (target, server) = if way == Way::Stdio {
            let stderr = StderrOptions::default();
            (ServerTarget::Stdio(StdioTarget { command, guard, stderr }), None)
        } else {
            let (url, server) = listening(command, &guard).await;
            (network(url.join(path).unwrap(), way), Some(server))
        };
        let (client, inbox) = Client::connect(target, options).await.unwrap_or_else(|error| {
            panic!("{error}: {:?}", server.as_ref().map(|it| it.0.stderr_tail()))
        });
        Self { client, inbox, server, folder }
    }

    /// Closes the connection, stops the server if the connection does not, and checks that no
    /// process of either is left.
    pub(super) async fn close(self) {
        let server = self.server.as_ref().map(|(process, _)| process);
        let root = self.client.process().or(server).unwrap().pid();
        let guard = Identity::of(root).unwrap().parent().unwrap();
        let folder = self.folder.path().canonicalize().unwrap();
        assert!(!working_in(&folder).is_empty(), "the mark is wrong");
        self.client.close().await;
        if let Some(server) = server {
            server.stop().await;
        }
        assert_eq!(working_in(&folder), [], "processes are left");
        let gone = tokio::task::spawn_blocking(move || {
            wait_until(Duration::from_secs(5), || !guard.is_alive())
        });
        assert!(gone.await.unwrap().is_some(), "the guard is left");
    }
}

/// Starts a server and waits for its URL. Some servers end with their standard input.
async fn listening(
    command: ProcessCommand,
    guard: &ProcessGuard,
) -> (Url, (Process, pipe::Sender)) {
    let announcement = Arc::new(Announcement::default());
    let stderr = StderrOptions { sink: Some(announcement.clone()), ..StderrOptions::default() };
    let SpawnedProcess { stdin, mut stdout, process } =
        spawn(command, guard, stderr).await.unwrap();
    // The output is not needed, but the server must not block on it.
    tokio::spawn(async move { tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await });
    let url = tokio::select! {
        url = announcement.url() => url,
        exit = process.wait_exit() => panic!("the server {exit}: {}", process.stderr_tail()),
    };
    (url, (process, stdin))
}

fn network(mut url: Url, way: Way) -> ServerTarget {
    let pool = HttpPool::new(&HttpPoolOptions {
        proxies: ProxySettings::Off,
        ..HttpPoolOptions::default()
    })
    .unwrap();
    if way == Way::WebSocket {
        url.set_scheme("ws").unwrap();
        let options = Box::new(WsOptions::default());
        return ServerTarget::WebSocket { url, pool, options };
    }
    let target = HttpTarget { url, pool, options: EndpointOptions::default() };
    match way {
        Way::Sse => ServerTarget::Sse(target),
        _ => ServerTarget::Http(target),
    }
}

// === impl Announcement ===

impl Announcement {
    async fn url(&self) -> Url {
        loop {
            let more = self.more.notified();
            if let Some(url) = self.find() {
                return url;
            }
            more.await;
        }
    }

    fn find(&self) -> Option<Url> {
        let said = self.said.lock().unwrap();
        let (whole, _) = said.rsplit_once('\n')?;
        let line = whole.lines().find_map(|line| line.strip_prefix("listening "))?;
        Some(line.parse().unwrap())
    }
}

impl StderrSink for Announcement {
    fn write(&self, chunk: &[u8]) {
        self.said.lock().unwrap().push_str(&String::from_utf8_lossy(chunk));
        self.more.notify_one();
    }
}
