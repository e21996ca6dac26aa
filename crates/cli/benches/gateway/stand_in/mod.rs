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

/// Plays a part to its end: `upstream-stdio TOOLS`, `upstream-http TOOLS`, or a gateway, `floor` or `plain`, with
/// `stdio` or an address behind it.
pub(crate) fn play(words: &[String]) {
    let part = words.first().map_or("", String::as_str);
    let word = words.get(1).map_or("", String::as_str);
    let tools = || word.parse().expect("a number of tools");
    match part {
        "upstream-stdio" => as_documented(upstream::stdio(tools())),
        "upstream-http" => as_documented(upstream::http(tools())),
        "floor" => on_one_thread(floor::serve(behind(word), more(words))),
        "plain" => as_documented(plain::serve(behind(word), more(words))),
        other => panic!("there is no part `{other}`"),
    }
}

/// How many tools the upstream has that a gateway starts itself.
fn more(words: &[String]) -> usize {
    words.get(2).and_then(|tools| tools.parse().ok()).unwrap_or(0)
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
fn upstream(tools: usize) -> tokio::process::Child {
    let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
    command.args([WORD, "upstream-stdio", &tools.to_string()]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    command.kill_on_drop(true).spawn().unwrap()
}
