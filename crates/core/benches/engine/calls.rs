//! One call after the other: bare over the wire session, and through the engine with schema, rule and limits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use switchboard_core::engine::InProcessServer;
use switchboard_core::{Caller, Request};
use switchboard_process::{ProcessCommand, ProcessGuard, StderrOptions};
use switchboard_testkit::{guard_path, programs::program};
use switchboard_wire::client::{
    CallRequest, Client, ClientOptions, ServerInbox, ServerTarget, StdioTarget,
};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::link::pair;
use switchboard_wire::server::{
    ChangeBroadcaster, HandlerReply, HandlerRequest, RequestContext, ServeOptions,
    ServerDescription, ServerHandler, serve,
};

use crate::Effort;
use crate::bench::Bench;

/// What was seen of one kind of call.
pub(crate) struct Row {
    pub(crate) server: &'static str,
    pub(crate) bytes: usize,
    pub(crate) bare: Duration,
    pub(crate) engine: Duration,
}

/// Where the server is.
#[derive(Clone, Copy)]
enum Place {
    Process,
    Here,
}

/// The same server, reached in both ways.
struct Both {
    client: Client,
    _inbox: ServerInbox,
    bench: Bench,
    caller: Caller,
}

pub(crate) async fn rows(effort: Effort) -> Vec<Row> {
    let mut rows = Vec::new();
    for (place, server) in [(Place::Here, "in this process"), (Place::Process, "stdio")] {
        let both = Both::start(place).await;
        for bytes in [64, 9 << 10] {
            let (bare, engine) = both.measure(bytes, effort.calls).await;
            rows.push(Row { server, bytes, bare, engine });
        }
        both.end().await;
    }
    rows
}

/// Calls through the engine alone.
pub(crate) async fn repeat(effort: Effort) {
    let both = Both::start(Place::Here).await;
    let arguments = arguments(64);
    for _ in 0..effort.calls * 10 {
        both.engine(&arguments).await;
    }
    both.end().await;
}

// === impl Both ===

impl Both {
    async fn start(place: Place) -> Self {
        let mut bench = Bench::start().await;
        let configuration = match place {
            Place::Process => {
                let program = program("echo-server");
                format!(r#"{{"mcpServers":{{"echo":{{"command":"{}"}}}}}}"#, program.display())
            }
            Place::Here => {
                let server =
                    InProcessServer::new("echo", Arc::new(Echo), ChangeBroadcaster::default());
                bench.workspace.in_process.push(server);
                "{}".to_owned()
            }
        };
        bench.apply(&configuration);
        bench.until(1).await;
        let target = match place {
            Place::Process => ServerTarget::Stdio(StdioTarget {
                command: ProcessCommand::new(program("echo-server")),
                guard: ProcessGuard::at(guard_path()).unwrap(),
                stderr: StderrOptions::default(),
            }),
            Place::Here => {
                let (ours, theirs) = pair::link_pair();
                let serving = async {
                    serve(
                        theirs,
                        Arc::new(Echo),
                        &ChangeBroadcaster::default(),
                        ServeOptions::default(),
                    )
                    .await
                };
                tokio::spawn(serving);
                ServerTarget::InProcess(ours)
            }
        };
        let (client, inbox) =
            Client::connect(target, ClientOptions::new("bench", "1")).await.unwrap();
        let caller = bench.caller();
        Self { client, _inbox: inbox, bench, caller }
    }

    /// The median of each. They take turns, call by call, so that a busy moment is one for both.
    async fn measure(&self, bytes: usize, calls: usize) -> (Duration, Duration) {
        let arguments = arguments(bytes);
        assert_eq!(self.bare(&arguments).await, self.engine(&arguments).await, "they disagree");
        let (mut bare, mut engine) = (Vec::with_capacity(calls), Vec::with_capacity(calls));
        for _ in 0..calls {
            let began = Instant::now();
            self.bare(&arguments).await;
            bare.push(began.elapsed());
            let began = Instant::now();
            self.engine(&arguments).await;
            engine.push(began.elapsed());
        }
        (median(bare), median(engine))
    }

    async fn bare(&self, arguments: &Raw) -> String {
        let call = CallRequest::call_tool("echo", arguments);
        self.client.call(call).result().await.unwrap().to_string()
    }

    async fn engine(&self, arguments: &Raw) -> String {
        let request = Request::tool("mcp__echo__echo", arguments);
        let running = self.bench.engine.call(&self.caller, request);
        running.outcome().await.unwrap().result.to_string()
    }

    async fn end(self) {
        self.client.close().await;
        self.bench.end().await;
    }
}

fn arguments(bytes: usize) -> Raw {
    Raw::parse(format!(r#"{{"text":"{}"}}"#, "x".repeat(bytes))).unwrap()
}

fn median(mut seen: Vec<Duration>) -> Duration {
    seen.sort_unstable();
    seen[seen.len() / 2]
}

/// The echo of the testkit, in this process.
struct Echo;

impl ServerHandler for Echo {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: raw(r#"{"name":"echo","version":"1"}"#),
            capabilities: raw(r#"{"tools":{}}"#),
            instructions: None,
        }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        _: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(async move {
            match &*asked.method {
                "tools/list" => Ok(HandlerReply::Complete(raw(TOOLS))),
                "tools/call" => {
                    let said = asked.params.get_path(&["arguments", "text"]).unwrap().unwrap();
                    let content = format!(r#"{{"content":[{{"type":"text","text":{said}}}]}}"#);
                    Ok(HandlerReply::Complete(Raw::parse(content).unwrap()))
                }
                other => Err(RpcError::new(code::METHOD_NOT_FOUND, other)),
            }
        })
    }
}

const TOOLS: &str = r#"{"tools":[{"name":"echo","description":"Says what it was told.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}"#;

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned()).unwrap()
}
