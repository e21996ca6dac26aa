//! Who is compared, and how each is started.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::client::{Ask, Client, Era, Place};
use crate::process::Process;
use crate::published::{self, Published};
use crate::stand_in::{Behind, Upstream, WORD};

/// One of those compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Contender {
    /// The upstream itself.
    Direct,
    Floor,
    /// A plain forwarding gateway made of rmcp.
    Plain,
    Ours(Results),
    /// Ours with so many threads that carry out calls.
    Threads(Results, usize),
    Published(Published),
}

/// What ours does with large results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Results {
    /// As it comes.
    Limited,
    /// `--result-limit 0`.
    Whole,
}

/// What is asked of a start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) behind: Behind,
    /// Its tools, besides the two that are used, and its era.
    pub(crate) upstream: Upstream,
}

/// A contender that runs.
pub(crate) struct Running {
    pub(crate) process: Process,
    pub(crate) place: Place,
    _home: Option<TempDir>,
}

// === impl Setup ===

impl Setup {
    /// Two tools on standard streams, of the era that most servers are of.
    pub(crate) const USUAL: Self =
        Self { behind: Behind::Stdio, upstream: Upstream { tools: 0, speaks: Era::Legacy } };
}

/// How long anybody may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

// === impl Contender ===

impl Contender {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Direct => "direct".to_owned(),
            Self::Floor => "floor".to_owned(),
            Self::Plain => "plain rmcp gateway".to_owned(),
            Self::Ours(_) => "**switchboard**".to_owned(),
            Self::Threads(_, 1) => "1 thread".to_owned(),
            Self::Threads(_, threads) => format!("{threads} threads"),
            Self::Published(published) => published.name.to_owned(),
        }
    }

    /// Those that others publish and that work here.
    pub(crate) async fn published() -> Vec<Self> {
        let mut working = Vec::new();
        for contender in published::installed().into_iter().map(Self::Published) {
            let running = contender.start(Setup::USUAL);
            match running.answers(Era::Legacy).await {
                Ok(_) => working.push(contender),
                Err(error) => println!("{} does not work here: {error}", contender.name()),
            }
        }
        working
    }

    /// Whether it can stand before such an upstream.
    pub(crate) fn takes(&self, behind: Behind) -> bool {
        !matches!((self, behind), (Self::Published(_), Behind::Http(_)))
    }

    pub(crate) fn start(&self, setup: Setup) -> Running {
        let Setup { behind, upstream } = setup;
        let words = upstream.words();
        let [tools, era] = words.each_ref().map(String::as_str);
        let at_word = match behind {
            Behind::Stdio => "stdio".to_owned(),
            Behind::Http(address) => address.to_string(),
        };
        match self {
            Self::Direct => stand_in(&["upstream-http", tools, era]),
            Self::Floor => stand_in(&["floor", &at_word, tools, era]),
            Self::Plain => stand_in(&["plain", &at_word, tools, era]),
            Self::Ours(results) => ours(*results, None, setup),
            Self::Threads(results, threads) => ours(*results, Some(*threads), setup),
            Self::Published(published) => {
                let (process, place) = published.start(&upstream_command(upstream));
                Running { process, place, _home: None }
            }
        }
    }
}

/// The upstream's program and arguments.
pub(crate) fn upstream_command(upstream: Upstream) -> Vec<String> {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let words = [program, WORD.to_owned(), "upstream-stdio".to_owned()];
    words.into_iter().chain(upstream.words()).collect()
}

fn stand_in(words: &[&str]) -> Running {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let (process, line) = Process::start(command.arg(WORD).args(words));
    let address = line.trim().parse().unwrap();
    let place = Place { address, path: "/mcp".to_owned(), prefix: "" };
    Running { process, place, _home: None }
}

/// Ours, as it is: the schema checked, a rule that allows the call, limits of results unless they are switched off.
fn ours(results: Results, threads: Option<usize>, setup: Setup) -> Running {
    let home = home(setup);
    let mut command = program(&home);
    command.args(["serve", "--json", "--listen", "127.0.0.1:0"]);
    if results == Results::Whole {
        command.args(["--result-limit", "0"]);
    }
    if let Some(threads) = threads {
        command.args(["--threads", &threads.to_string()]);
    }
    let (process, line) = Process::start(&mut command);
    let said: serde_json::Value = serde_json::from_str(&line).unwrap();
    let address: SocketAddr = said["address"].as_str().unwrap().parse().unwrap();
    let place = Place { address, path: "/mcp".to_owned(), prefix: "up__" };
    Running { process, place, _home: Some(home) }
}

/// A home in which the upstream is configured, and allowed.
pub(crate) fn home(Setup { behind, upstream }: Setup) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let entry = match behind {
        Behind::Http(address) => {
            serde_json::json!({ "type": "http", "url": format!("http://{address}/mcp") })
        }
        Behind::Stdio => {
            let command = upstream_command(upstream);
            serde_json::json!({ "command": command[0], "args": command[1..] })
        }
    };
    let settings = serde_json::json!({
        "permissions": { "allow": ["mcp__up__echo", "mcp__up__large"] },
        "mcpServers": { "up": entry },
    });
    let folder = home.path().join(".config/switchboard");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
    home
}

/// Our program, or the one that is to be looked at in its place, at home there.
pub(crate) fn program(home: &TempDir) -> Command {
    let other = std::env::var_os("SWITCHBOARD_BENCH_PROGRAM");
    let mut command =
        Command::new(other.as_deref().unwrap_or(env!("CARGO_BIN_EXE_switchboard").as_ref()));
    command.env_clear().env("HOME", home.path()).env("PATH", "/usr/bin:/bin");
    command.current_dir(home.path()).stderr(Stdio::null());
    command
}

// === impl Running ===

impl Running {
    /// A client of it, as soon as it answers a call.
    pub(crate) async fn ready(&self, era: Era) -> Client {
        self.answers(era).await.unwrap_or_else(|error| panic!("no answer: {error}"))
    }

    /// The same, if it ever does.
    pub(crate) async fn answers(&self, era: Era) -> std::io::Result<Client> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let opened = async {
                let mut client = Client::open(&self.place, era).await?;
                client.ask(Ask::Echo).await.map(|_| client)
            };
            match opened.await {
                Err(error) if Instant::now() < deadline => drop(error),
                done => return done,
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// So many clients.
    pub(crate) async fn clients(&self, era: Era, number: usize) -> Vec<Client> {
        let mut clients = vec![self.ready(era).await];
        while clients.len() < number {
            clients.push(Client::open(&self.place, era).await.unwrap());
        }
        clients
    }
}
