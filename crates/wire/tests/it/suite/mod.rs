//! One suite over all five transports, in every protocol version that each transport carries.
//!
//! A feature is a function of a [`Bench`]: a client that is connected to the testkit's fixture. `over_all_five!`
//! makes one test of it for each transport; each test runs all versions at once.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod calls;
mod changes;
mod closing;
mod connecting;
mod deadlines;
mod expiry;
mod lists;
mod questions;

use std::{future::Future, sync::Arc, time::Duration};

use switchboard_process::{ProcessCommand, ProcessGuard, StderrOptions};
use switchboard_testkit::{
    face::{SseFace, StreamableFace, web_socket},
    fixture::Fixture,
    programs::program,
    ws::ScriptedWs,
};
use switchboard_wire::{
    Era, Error, Version,
    client::{
        CallRequest, Client, ClientOptions, HttpTarget, RootFolder, ServerInbox, ServerTarget,
        StdioTarget, VersionNegotiation,
    },
    http::EndpointOptions,
    json::Raw,
    link::pair::link_pair,
    ws::WsOptions,
};

/// Longer than any feature takes in all versions together, unless it hangs.
const BOUND: Duration = Duration::from_mins(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    InProcess,
    Stdio,
    WebSocket,
    Sse,
    Http,
}

/// A client and its server.
pub(crate) struct Bench {
    pub(crate) client: Client,
    pub(crate) inbox: ServerInbox,
    pub(crate) transport: Transport,
    pub(crate) greeting: VersionNegotiation,
    pub(crate) served: Served,
}

/// Keeps a server running.
pub(crate) enum Served {
    InProcess,
    Process,
    WebSocket(#[expect(dead_code, reason = "held")] ScriptedWs),
    Sse(#[expect(dead_code, reason = "held")] SseFace),
    Http(StreamableFace),
}

/// Makes a test of each feature over each transport.
macro_rules! over_all_five {
    ($($feature:ident),* $(,)?) => {
        $crate::suite::over!(in_process InProcess: $($feature)*);
        $crate::suite::over!(stdio Stdio: $($feature)*);
        $crate::suite::over!(web_socket WebSocket: $($feature)*);
        $crate::suite::over!(sse Sse: $($feature)*);
        $crate::suite::over!(http Http: $($feature)*);
    };
}

macro_rules! over {
    ($module:ident $transport:ident: $($feature:ident)*) => {
        mod $module {
            $(
                #[tokio::test]
                async fn $feature() {
                    $crate::suite::each($crate::suite::Transport::$transport, super::$feature).await;
                }
            )*
        }
    };
}

/// Like `over_all_five!`, with the tasks of a connection on four threads.
macro_rules! over_all_five_on_four_threads {
    ($($feature:ident),* $(,)?) => {
        $crate::suite::over_on_four_threads!(in_process InProcess: $($feature)*);
        $crate::suite::over_on_four_threads!(stdio Stdio: $($feature)*);
        $crate::suite::over_on_four_threads!(web_socket WebSocket: $($feature)*);
        $crate::suite::over_on_four_threads!(sse Sse: $($feature)*);
        $crate::suite::over_on_four_threads!(http Http: $($feature)*);
    };
}

macro_rules! over_on_four_threads {
    ($module:ident $transport:ident: $($feature:ident)*) => {
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $feature() {
                    $crate::suite::each($crate::suite::Transport::$transport, super::$feature).await;
                }
            )*
        }
    };
}

pub(crate) use {over, over_all_five, over_all_five_on_four_threads, over_on_four_threads};

// === impl Transport ===

impl Transport {
    /// The greetings that this transport supports.
    pub(crate) fn greetings(self) -> Vec<VersionNegotiation> {
        let sensible = |version: &Version| match self {
            Self::InProcess | Self::Stdio | Self::WebSocket => true,
            Self::Sse => version.era() == Era::Legacy,
            Self::Http => *version != Version::V2024_11_05,
        };
        let versions = Version::ALL.into_iter().filter(sensible);
        versions.map(VersionNegotiation::Only).chain([VersionNegotiation::Probe]).collect()
    }
}

/// Runs `feature` in every version at once, each in its own task. Names the versions that fail.
pub(crate) async fn each<F, R>(transport: Transport, feature: F)
where
    F: Fn(Bench) -> R,
    R: Future<Output = ()> + Send + 'static,
{
    let mut running = Vec::new();
    for greeting in transport.greetings() {
        let bench = connect(transport, options(greeting)).await.unwrap();
        running.push((greeting, tokio::spawn(feature(bench))));
    }
    let mut failed = Vec::new();
    for (greeting, cell) in running {
        match tokio::time::timeout(BOUND, cell).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => failed.push(format!("{greeting:?}: {error}")),
            Err(_) => failed.push(format!("{greeting:?}: it hangs")),
        }
    }
    assert!(failed.is_empty(), "{transport:?}: {failed:#?}");
}

pub(crate) fn options(greeting: VersionNegotiation) -> ClientOptions {
    let mut options = ClientOptions::new("suite", "1");
    options.capabilities = raw(r#"{"elicitation":{},"sampling":{}}"#);
    options.roots = Some(vec![RootFolder { uri: "file:///work".into(), name: None }]);
    options.greeting = greeting;
    options.reopen_after = Duration::from_millis(10);
    options
}

pub(crate) async fn connect(transport: Transport, options: ClientOptions) -> Result<Bench, Error> {
    let greeting = options.greeting;
    let (target, served) = serve(transport).await;
    let (client, inbox) = Client::connect(target, options).await?;
    Ok(Bench { client, inbox, transport, greeting, served })
}

/// A new fixture over `transport`, and the target that reaches it.
pub(crate) async fn serve(transport: Transport) -> (ServerTarget, Served) {
    let fixture = Arc::new(Fixture::default());
    match transport {
        Transport::InProcess => {
            let (near, far) = link_pair();
            tokio::spawn(async move { fixture.serve(far).await });
            (ServerTarget::InProcess(near), Served::InProcess)
        }
        Transport::Stdio => (
            ServerTarget::Stdio(stdio(ProcessCommand::new(program("fixture-server")))),
            Served::Process,
        ),
        Transport::WebSocket => {
            let face = web_socket(fixture).await;
            let target = ServerTarget::WebSocket {
                url: face.url("/ws").parse().unwrap(),
                pool: crate::http::pool(),
                options: Box::new(WsOptions::default()),
            };
            (target, Served::WebSocket(face))
        }
        Transport::Sse => {
            let face = SseFace::start(fixture).await;
            (ServerTarget::Sse(http_target(&face.url())), Served::Sse(face))
        }
        Transport::Http => {
            let face = StreamableFace::start(fixture).await;
            (ServerTarget::Http(http_target(&face.url())), Served::Http(face))
        }
    }
}

pub(crate) fn stdio(command: ProcessCommand) -> StdioTarget {
    StdioTarget {
        command,
        guard: ProcessGuard::at(program("guard")).unwrap(),
        stderr: StderrOptions::default(),
    }
}

pub(crate) fn http_target(url: &str) -> HttpTarget {
    HttpTarget {
        url: url.parse().unwrap(),
        pool: crate::http::pool(),
        options: EndpointOptions::default(),
    }
}

pub(crate) fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned()).unwrap()
}

pub(crate) fn member(value: &Raw, key: &str) -> String {
    value.get(key).unwrap().map_or_else(|| "(missing)".to_owned(), |value| value.to_string())
}

// === impl Bench ===

impl Bench {
    pub(crate) fn era(&self) -> Era {
        self.client.server_facts().era()
    }

    /// Calls a tool and returns its result.
    pub(crate) async fn tool(&self, name: &str, arguments: &str) -> Raw {
        let call = CallRequest::call_tool(name, &raw(arguments));
        self.client.call(call).result().await.unwrap()
    }

    /// Waits until the server has received a message that contains `needle`.
    pub(crate) async fn await_seen(&self, needle: &str) {
        let needle = Raw::string(needle);
        self.tool("await_seen", &format!(r#"{{"needle":{needle}}}"#)).await;
    }

    /// Makes the server send `text` unchanged.
    pub(crate) async fn inject(&self, text: &str) {
        let text = Raw::string(text);
        self.tool("inject", &format!(r#"{{"text":{text}}}"#)).await;
    }
}
