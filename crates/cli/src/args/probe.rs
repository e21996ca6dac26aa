//! Arguments of `probe`.
//!
//! Used by `target::typed` and `commands::probe`. It does not decide between command and URL (`target` does).

use std::time::Duration;

use clap::{Args, ValueEnum};
use switchboard_wire::Version;

pub(super) const EXAMPLES: &str = "\
Examples:
  switchboard probe
  switchboard probe --call greet --arguments '{\"name\":\"Ada\"}'
  switchboard probe npx -y @modelcontextprotocol/server-everything
  switchboard probe https://example.com/mcp -H 'Authorization: Bearer …'";

#[derive(Debug, Args)]
pub(crate) struct Probe {
    /// The transport of a URL that starts with `http` [default: the server is asked]
    #[arg(short, long, value_enum, value_name = "KIND")]
    pub(crate) transport: Option<Transport>,
    /// Speak only this version of the protocol
    #[arg(long, value_name = "VERSION", value_parser = version)]
    pub(crate) protocol: Option<Version>,
    /// Set an environment variable for the server; KEY alone passes your own variable on
    #[arg(short, long = "env", value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,
    /// Send a header with each request to the URL
    #[arg(short = 'H', long = "header", value_name = "KEY: VALUE")]
    pub(crate) header: Vec<String>,
    /// Call this tool
    #[arg(long, value_name = "TOOL")]
    pub(crate) call: Option<String>,
    /// The arguments of the tool
    #[arg(long, value_name = "JSON", default_value = "{}", requires = "call")]
    pub(crate) arguments: String,
    /// Seconds to wait for the connection, and then for the call
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(crate) timeout: Duration,
    /// A URL, or a command and its arguments
    #[arg(value_name = "SERVER", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) server: Vec<String>,
}

/// Ways to reach a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// Streamable HTTP, else HTTP with server-sent events
    Http,
    /// HTTP with server-sent events, the older transport
    Sse,
    /// WebSocket
    Ws,
}

fn version(text: &str) -> Result<Version, String> {
    text.parse().map_err(|_| {
        let known: Vec<_> = Version::ALL.iter().map(|version| version.as_str()).collect();
        format!("the versions known here are {}", known.join(", "))
    })
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 =
        text.parse().map_err(|_| "write a number of seconds, such as 30 or 0.5".to_owned())?;
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "the time must be positive and finite".to_owned())
}
