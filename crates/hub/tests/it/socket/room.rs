//! Test helper: a folder with a hub, and bare clients. Used by the tests of `socket`.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use switchboard_gateway::view_provider::{OpenView, ViewError, ViewProvider, ViewRequest};
use switchboard_hub::socket::{
    ClientHello, EndedHub, HelloRefusal, HelloRefusalKind, HubBackend, HubFolders, HubLifetime,
    HubListener, HubPaths, ListenOptions,
};
use switchboard_testkit::fixture::Fixture;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use switchboard_testkit::deadline::soon;

/// One person's folders.
pub(crate) struct Room {
    folder: TempDir,
}

/// A fixture for everybody, except for whoever wants the view of nobody.
pub(crate) struct Behind {
    fixture: Arc<Fixture>,
    pub(crate) busy: AtomicBool,
}

pub(crate) struct One(Arc<Fixture>);

/// A hub that runs in this process.
pub(crate) struct Running {
    pub(crate) stop: CancellationToken,
    pub(crate) behind: Arc<Behind>,
    serving: JoinHandle<EndedHub>,
}

/// A caller that speaks lines.
pub(crate) struct Line {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

// === impl Room ===

impl Room {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn folders(&self) -> HubFolders {
        HubFolders {
            config: self.file("config"),
            state: self.file("state"),
            runtime: None,
            short: self.path().to_owned(),
        }
    }

    pub(crate) fn place(&self) -> HubPaths {
        HubPaths::find(&self.folders()).unwrap()
    }

    /// Starts a hub here.
    pub(crate) async fn listen(&self, options: ListenOptions) -> Running {
        listen(&self.place(), options).await
    }

    /// Calls, without a word.
    pub(crate) async fn call(&self) -> Line {
        Line::to(&self.place()).await
    }

    /// Calls, and begins to speak MCP as a legacy client does.
    pub(crate) async fn greet(&self) -> Line {
        let mut line = self.call().await;
        line.say(HELLO).await;
        assert!(line.hear().await.contains(r#""ok":true"#));
        line.say(INITIALIZE).await;
        assert!(line.hear().await.contains("protocolVersion"));
        line.say(INITIALIZED).await;
        line
    }
}

pub(crate) const HELLO: &str = r#"{"switchboard":1,"version":"0.1.0"}"#;
pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"hi","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}"#;
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A call of one of the fixture's tools.
pub(crate) fn tool(id: u64, name: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
    )
}

pub(crate) async fn listen(place: &HubPaths, options: ListenOptions) -> Running {
    let listener = HubListener::bind(place, Duration::from_secs(10)).await.unwrap();
    let behind = Arc::new(Behind { fixture: Arc::default(), busy: AtomicBool::new(false) });
    let stop = CancellationToken::new();
    let serving = tokio::spawn(listener.serve(behind.clone(), options, stop.clone()));
    Running { stop, behind, serving }
}

/// What most tests want: a hub that stays.
pub(crate) fn options() -> ListenOptions {
    ListenOptions::new("0.1.0", HubLifetime::UntilStopped)
}

// === impl Running ===

impl Running {
    /// Waits for its end.
    pub(crate) async fn ended(self) -> EndedHub {
        soon(self.serving).await.unwrap()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.serving.is_finished()
    }
}

// === impl Behind ===

impl HubBackend for Behind {
    type Views = One;

    fn view_provider<'a>(
        &'a self,
        hello: &'a ClientHello,
    ) -> BoxFuture<'a, Result<Arc<One>, HelloRefusal>> {
        let nobody = hello.view.get("agent").ok().flatten().is_some();
        Box::pin(async move {
            if nobody {
                return Err(HelloRefusal::new(HelloRefusalKind::View, "no agent is called that"));
            }
            Ok(Arc::new(One(self.fixture.clone())))
        })
    }

    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }
}

impl ViewProvider for One {
    type View = Fixture;

    async fn open(&self, _: ViewRequest) -> Result<OpenView<Fixture>, ViewError> {
        Ok(OpenView { view: self.0.clone(), changes: self.0.changes().clone() })
    }
}

// === impl Line ===

impl Line {
    pub(crate) async fn to(place: &HubPaths) -> Self {
        let stream = UnixStream::connect(place.socket_path()).await.unwrap();
        let (reader, writer) = stream.into_split();
        Self { reader: BufReader::new(reader), writer }
    }

    pub(crate) async fn say(&mut self, line: &str) {
        soon(self.writer.write_all(format!("{line}\n").as_bytes())).await.unwrap();
    }

    /// Bytes that may not be taken.
    pub(crate) async fn try_say(&mut self, bytes: &[u8]) {
        let _ = soon(self.writer.write_all(bytes)).await;
    }

    /// The next line; empty at the end.
    pub(crate) async fn hear(&mut self) -> String {
        let mut line = String::new();
        soon(self.reader.read_line(&mut line)).await.unwrap();
        line.trim_end().to_owned()
    }

    /// Says, and hears the next line.
    pub(crate) async fn ask(&mut self, line: &str) -> String {
        self.say(line).await;
        self.hear().await
    }
}
