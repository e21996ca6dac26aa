//! The gateway as a process, with one server behind it under bare tool names, or with plugins alone.
//!
//! Used by `subject`, `sweep` and `replicas`. The process itself is a `listener`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::listener::{Listener, isolated};
use super::subject::Programs;
use crate::failure::{AboutFile, Result};

/// Starts the gateway with the server of `entry` behind it. `folder` becomes its home.
pub(super) fn serve(programs: &Programs, entry: &Value, folder: &Path) -> Result<Listener> {
    listen(command(programs, entry, folder)?, folder)
}

/// The command that starts the gateway with the server of `entry` behind it.
pub(super) fn command(programs: &Programs, entry: &Value, folder: &Path) -> Result<Command> {
    let config = folder.join("mcp.json");
    let servers = json!({ "mcpServers": { "subject": entry } });
    fs::write(&config, servers.to_string()).about("write", &config)?;
    let mut command = isolated(&programs.gateway, folder);
    command
        .args(["serve", "--json", "--listen", "127.0.0.1:0", "--names", "bare"])
        // Results whole, so that the gateway adds no tool of its own to read the rest.
        .args(["--result-limit", "0", "--mcp-config"])
        .arg(&config);
    Ok(command)
}

/// Starts the gateway by its command.
pub(super) fn listen(command: Command, folder: &Path) -> Result<Listener> {
    Listener::start("gateway", command, folder, announced_url)
}

/// Starts the gateway with plugins alone.
pub(super) fn serve_plugins(programs: &Programs, folder: &Path) -> Result<Listener> {
    let mut command = isolated(&programs.gateway, folder);
    command.args(["plugin", "serve", "--json", "--httpstream", "--port", "0", "--plugins"]);
    command.arg(&programs.plugin);
    listen(command, folder)
}

/// The URL in the JSON line of `--json`.
fn announced_url(line: &str) -> Option<String> {
    let ready: Value = serde_json::from_str(line).ok()?;
    ready["url"].as_str().map(str::to_owned)
}
