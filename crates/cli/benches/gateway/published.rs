//! Gateways that others publish, where they are installed: `cargo xtask bench gateway --peers` installs them, for
//! this and nothing else. One that is not there is left out, and said to be.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::client::Place;
use crate::process::Process;

/// The variable that says where they are installed.
pub(crate) const FOLDER: &str = "SWITCHBOARD_BENCH_PEERS";

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) name: &'static str,
    /// Its program, in the folder.
    program: &'static str,
    how: How,
}

/// How it is told what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// `--port N --server stream -- COMMAND`
    NpmProxy,
    /// `--port N --stdio COMMAND`
    Supergateway,
    /// `--port N -- COMMAND`
    PythonProxy,
    /// `run FILE --port N`
    FastMcp,
}

const ALL: [Published; 4] = [
    Published {
        name: "npm mcp-proxy",
        program: "npm/node_modules/.bin/mcp-proxy",
        how: How::NpmProxy,
    },
    Published {
        name: "supergateway",
        program: "npm/node_modules/.bin/supergateway",
        how: How::Supergateway,
    },
    Published { name: "PyPI mcp-proxy", program: "mcp-proxy/bin/mcp-proxy", how: How::PythonProxy },
    Published { name: "fastmcp proxy", program: "fastmcp/bin/fastmcp", how: How::FastMcp },
];

/// Those that are installed.
pub(crate) fn installed() -> Vec<Published> {
    let (there, missing): (Vec<_>, Vec<_>) =
        ALL.into_iter().partition(|published| published.path().is_some_and(|path| path.exists()));
    if !missing.is_empty() {
        let names: Vec<_> = missing.iter().map(|published| published.name).collect();
        println!("not installed, so left out: {} (`--peers` installs them)", names.join(", "));
    }
    there
}

// === impl Published ===

impl Published {
    fn path(&self) -> Option<PathBuf> {
        Some(PathBuf::from(std::env::var_os(FOLDER)?).join(self.program))
    }

    /// Starts it on a port that was free just now.
    pub(crate) fn start(&self, upstream: &[String]) -> (Process, Place) {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let port = address.port().to_string();
        let mut command = Command::new(self.path().unwrap());
        let line = upstream.join(" ");
        match self.how {
            How::NpmProxy => {
                command.args(["--port", &port, "--server", "stream", "--"]).args(upstream)
            }
            How::Supergateway => command.args([
                "--port",
                &port,
                "--stdio",
                &line,
                "--outputTransport",
                "streamableHttp",
                "--stateful",
                "--logLevel",
                "none",
            ]),
            How::PythonProxy => command.args(["--port", &port, "--"]).args(upstream),
            How::FastMcp => command.args([
                "run",
                &configuration(upstream),
                "--transport",
                "http",
                "--port",
                &port,
            ]),
        };
        let process = Process::start_silent(command.stdout(Stdio::null()).stderr(Stdio::null()));
        (process, Place { address, path: "/mcp".to_owned(), prefix: "" })
    }
}

/// A file that names the upstream; it stays where temporary files are cleared away.
fn configuration(upstream: &[String]) -> String {
    let path = std::env::temp_dir().join(format!("switchboard-bench-{}.json", std::process::id()));
    let entry = serde_json::json!({ "command": upstream[0], "args": upstream[1..] });
    let text = serde_json::json!({ "mcpServers": { "up": entry } }).to_string();
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}
