//! The conformance servers on the official SDKs (`tests/conformance/servers`): their versions, extensions and
//! commands.
//!
//! Used by `sweep`. Our own fixture cannot replace them: each asks and notifies in the way of its SDK.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::listener::isolated;
use crate::command::{cargo, run as run_command};
use crate::failure::Result;
use crate::paths;
use crate::peers::{self, Peers};

/// An SDK that has a conformance server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sdk {
    TypeScript1,
    TypeScript2,
    Python,
    Rust,
}

/// The route from the suite to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// Without the gateway: the reference for the other routes.
    Direct,
    /// Through the gateway, which speaks Streamable HTTP to the server.
    Http,
    /// Through the gateway, which starts the server and speaks to it over its standard streams.
    Stdio,
}

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

// === impl Sdk ===

impl Sdk {
    pub(super) const ALL: [Self; 4] =
        [Self::TypeScript1, Self::TypeScript2, Self::Python, Self::Rust];

    /// The latest version of each era that the SDK knows.
    pub(super) const fn versions(self) -> &'static [&'static str] {
        match self {
            Self::TypeScript1 => &[LEGACY],
            Self::TypeScript2 | Self::Python | Self::Rust => &[LEGACY, MODERN],
        }
    }

    /// Whether the SDK has the scenario's extension.
    pub(super) fn has_extension(self, scenario: &str) -> bool {
        match self {
            Self::TypeScript1 | Self::Python => false,
            Self::TypeScript2 => scenario.starts_with("sep-2640-skills-"),
            Self::Rust => scenario.starts_with("tasks-"),
        }
    }

    /// The program, and its source file if the program is an interpreter.
    fn program(self, peers: &Peers) -> (PathBuf, Option<PathBuf>) {
        let source = |file: &str| Some(paths::root().join("tests/conformance/servers").join(file));
        match self {
            Self::TypeScript1 => (peers.node(), source("ts1.mjs")),
            Self::TypeScript2 => (peers.node(), source("ts2.mjs")),
            Self::Python => (peers.root().join("python/bin/python"), source("py.py")),
            Self::Rust => (rust_target().join("debug/conformance-server-rmcp"), None),
        }
    }

    /// The command that starts the server alone, over HTTP.
    pub(super) fn listening(self, peers: &Peers, home: &Path) -> Command {
        let (program, source) = self.program(peers);
        let mut command = isolated(&program, home);
        command.args(source).arg("http").env(peers::VARIABLE, peers.root());
        command
    }

    /// The configuration entry with which the gateway starts the server.
    pub(super) fn stdio_entry(self, peers: &Peers) -> Value {
        let (program, source) = self.program(peers);
        let args: Vec<_> = source.into_iter().chain([PathBuf::from("stdio")]).collect();
        json!({ "command": program, "args": args, "env": { peers::VARIABLE: peers.root() } })
    }
}

/// Builds the server on the Rust SDK, which is a separate workspace.
pub(super) fn build_rust_server() -> Result<()> {
    let manifest = "tests/conformance/servers/rust/Cargo.toml";
    let mut build = cargo(&["build", "--locked", "--manifest-path", manifest, "--target-dir"]);
    run_command(build.arg(rust_target()))
}

fn rust_target() -> PathBuf {
    paths::target().join("conformance-rust")
}

// === impl Route ===

impl Route {
    pub(super) const ALL: [Self; 3] = [Self::Direct, Self::Http, Self::Stdio];

    /// The name of an SDK's server on this route, in `sdk.json` and in reports.
    pub(super) const fn name(self, sdk: Sdk) -> &'static str {
        match (sdk, self) {
            (Sdk::TypeScript1, Self::Direct) => "ts1 direct",
            (Sdk::TypeScript1, Self::Http) => "ts1 http",
            (Sdk::TypeScript1, Self::Stdio) => "ts1 stdio",
            (Sdk::TypeScript2, Self::Direct) => "ts2 direct",
            (Sdk::TypeScript2, Self::Http) => "ts2 http",
            (Sdk::TypeScript2, Self::Stdio) => "ts2 stdio",
            (Sdk::Python, Self::Direct) => "py direct",
            (Sdk::Python, Self::Http) => "py http",
            (Sdk::Python, Self::Stdio) => "py stdio",
            (Sdk::Rust, Self::Direct) => "rust direct",
            (Sdk::Rust, Self::Http) => "rust http",
            (Sdk::Rust, Self::Stdio) => "rust stdio",
        }
    }
}
