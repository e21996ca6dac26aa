//! Private NATS servers with `JetStream`: one node, or three that are one cluster.
//!
//! Used by the tests of `cluster` and `cli`. `cargo xtask peers` installs the program. Each server keeps its data in a
//! temporary folder, listens on ports of loopback that the system chose, and ends on drop or with the test's thread.

#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test without its peer cannot go on"
)]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::openid::peers;

/// How long a server may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// How often its ports are looked for.
const START_POLL: Duration = Duration::from_millis(5);
/// How often a start is tried: another process may take a port between its choice and its use.
const START_ATTEMPTS: usize = 5;

/// Who may enter the server, and how it speaks.
#[derive(Clone, Debug, Default)]
pub struct NatsOptions {
    /// A user and a password, or nothing for a server that lets everybody in.
    pub user: Option<(String, String)>,
    /// The PEM files of a certificate and its key, or nothing for plain TCP.
    pub tls: Option<(String, String)>,
}

/// A running server, which ends on drop.
pub struct NatsServer {
    child: Option<Child>,
    folder: TempDir,
    port: u16,
}

/// Three servers that are one cluster.
pub struct NatsTrio {
    nodes: Vec<NatsServer>,
}

// === impl NatsServer ===

impl NatsServer {
    /// Starts a server that lets everybody in.
    pub fn start() -> Self {
        Self::with(&NatsOptions::default())
    }

    /// Starts a server with options.
    pub fn with(options: &NatsOptions) -> Self {
        let mut text = String::new();
        if let Some((user, password)) = &options.user {
            let _ =
                writeln!(text, "authorization {{ user: \"{user}\", password: \"{password}\" }}");
        }
        if let Some((certificate, key)) = &options.tls {
            let _ = writeln!(text, "tls {{ cert_file: \"{certificate}\", key_file: \"{key}\" }}");
        }
        Self::with_config("one", "", &text).expect("nats-server starts")
    }

    /// Starts a server that may keep so much, such as `1GB`.
    pub fn with_storage(bytes: &str) -> Self {
        let limit = format!(", max_file_store: {bytes}");
        Self::with_config("one", &limit, "").expect("nats-server starts")
    }

    fn with_config(name: &str, jetstream: &str, rest: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let config = format!(
            "server_name: {name}\nports_file_dir: \"{}\"\njetstream {{ store_dir: \"{}\", sync_interval: always{jetstream} }}\n{rest}",
            folder.path().display(),
            folder.path().join("data").display()
        );
        fs::write(folder.path().join("config"), config).expect("it can be written");
        let mut server = Self { child: None, folder, port: 0 };
        server.resume().then_some(server)
    }

    /// The URL without a user, `nats://127.0.0.1:…`.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// The port of clients.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends the server at once, as a crash does. Its data stay.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts the server again after `kill`, with its data and at its port.
    pub fn restart(&mut self) {
        assert!((0..START_ATTEMPTS).any(|_| self.resume()), "{}", self.log());
    }

    /// What the server logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Starts the program; whether it serves in the end.
    fn resume(&mut self) -> bool {
        let folder = self.folder.path();
        let log = File::create(folder.join("log")).expect("it can be made");
        let port = if self.port == 0 { "-1".to_owned() } else { self.port.to_string() };
        // The parent's death ends the server, too: a test that is killed cannot.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(peers().join("python-nats/bin/nats-server"))
            .args(["--addr", "127.0.0.1", "--port", &port, "--config"])
            .arg(folder.join("config"))
            .stderr(log)
            .spawn()
            .expect("setpriv is part of Debian");
        let ports = folder.join(format!("nats-server_{}.ports", child.id()));
        let child = self.child.insert(child);
        let started = Instant::now();
        while started.elapsed() < START_TIMEOUT {
            if let Some(port) = client_port(&ports) {
                self.port = port;
                return true;
            }
            if !matches!(child.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(START_POLL);
        }
        self.kill();
        false
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The port of clients in the file of ports, once the server has written it.
fn client_port(file: &Path) -> Option<u16> {
    let ports: Value = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
    ports["nats"][0].as_str()?.rsplit(':').next()?.parse().ok()
}

// === impl NatsTrio ===

impl NatsTrio {
    /// Starts three servers. They need a moment to choose a leader.
    pub fn start() -> Self {
        let trio = (0..START_ATTEMPTS).find_map(|_| Self::try_start());
        trio.expect("three nats-servers start")
    }

    fn try_start() -> Option<Self> {
        // Held together, so that they differ, and released just before they are used.
        let held: Vec<_> =
            (0..3).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port is free")).collect();
        let ports: Vec<_> = held
            .iter()
            .map(|listener| listener.local_addr().expect("it is bound").port())
            .collect();
        drop(held);
        let routes: Vec<_> =
            ports.iter().map(|port| format!("\"nats://127.0.0.1:{port}\"")).collect();
        let routes = routes.join(", ");
        let nodes = ports.iter().enumerate().map(|(number, port)| {
            let text = format!(
                "cluster {{ name: trio, listen: \"127.0.0.1:{port}\", routes: [{routes}], no_advertise: true }}\n"
            );
            NatsServer::with_config(&format!("node{number}"), "", &text)
        });
        Some(Self { nodes: nodes.collect::<Option<_>>()? })
    }

    /// The URLs of all three, separated by commas.
    pub fn url(&self) -> String {
        self.nodes.iter().map(NatsServer::url).collect::<Vec<_>>().join(",")
    }

    /// Whether the nodes have chosen who keeps the data.
    pub fn has_leader(&self) -> bool {
        self.nodes.iter().any(|node| node.log().contains("metadata leader"))
    }

    /// One of the three.
    pub fn node(&mut self, number: usize) -> &mut NatsServer {
        &mut self.nodes[number]
    }
}
