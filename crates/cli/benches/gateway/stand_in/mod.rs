//! The parts that this program plays itself, each in a process of its own: the upstream, the floor, the plain gateway.
//!
//! A part that listens says its address in one line on standard error, as ours does, and ends with its standard input.

mod floor;
mod plain;
mod upstream;

use std::net::SocketAddr;

use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use tokio::net::TcpListener;

use crate::client::Era;

/// The word that asks for a part.
pub(crate) const WORD: &str = "--stand-in";

/// What is behind a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind {
    /// The upstream on standard streams.
    Stdio,
    /// The upstream at this address.
    Http(SocketAddr),
}

/// The upstream on standard streams, or one like it: its tools, and the era it speaks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Upstream {
    pub(crate) tools: usize,
    pub(crate) speaks: Era,
}

// === impl Upstream ===

impl Upstream {
    /// As words of a command line.
    pub(crate) fn words(self) -> [String; 2] {
        let speaks = if self.speaks == Era::Modern { "modern" } else { "legacy" };
        [self.tools.to_string(), speaks.to_owned()]
    }

    fn read(words: &[String]) -> Self {
        let [tools, speaks] = words else { panic!("how many tools, and which era?") };
        let speaks = if speaks == "modern" { Era::Modern } else { Era::Legacy };
        Self { tools: tools.parse().expect("a number of tools"), speaks }
    }
}

/// Plays a part to its end: `upstream-stdio TOOLS ERA`, `upstream-http TOOLS ERA`, or a gateway, `floor` or `plain`, with
/// `stdio` or an address behind it, `TOOLS` and `ERA`.
pub(crate) fn play(words: &[String]) {
    let (part, words) = words.split_first().expect("a part");
    match part.as_str() {
        "upstream-stdio" => as_documented(upstream::stdio(Upstream::read(words))),
        "upstream-http" => as_documented(upstream::http(Upstream::read(words))),
        "floor" => on_one_thread(floor::serve(behind(&words[0]), Upstream::read(&words[1..]))),
        "plain" => as_documented(plain::serve(behind(&words[0]), Upstream::read(&words[1..]))),
        other => panic!("there is no part `{other}`"),
    }
}

fn behind(word: &str) -> Behind {
    match word {
        "stdio" => Behind::Stdio,
        address => Behind::Http(address.parse().expect("an address")),
    }
}

/// As the SDK's documentation starts one.
fn as_documented(part: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().unwrap().block_on(part);
}

fn on_one_thread(part: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(part);
}

/// Serves what `handler` makes over HTTP.
async fn serve<H: ServerHandler>(
    config: StreamableHttpServerConfig,
    handler: impl Fn() -> H + Send + Sync + 'static,
) {
    let service: StreamableHttpService<H, LocalSessionManager> = StreamableHttpService::new(
        move || Ok(handler()),
        LocalSessionManager::default().into(),
        config,
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = axum::serve::ListenerExt::tap_io(listen().await, |stream| {
        stream.set_nodelay(true).unwrap();
    });
    axum::serve(listener, router).await.unwrap();
}

/// Listens on a free port, and says where.
async fn listen() -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    listener
}

/// The upstream on standard streams, as a child of this process.
fn started(upstream: Upstream) -> tokio::process::Child {
    let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
    command.args([WORD, "upstream-stdio"]).args(upstream.words());
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    command.kill_on_drop(true).spawn().unwrap()
}
