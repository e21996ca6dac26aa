//! What may be typed.

use std::time::Duration;

use clap::{Args as ClapArgs, ColorChoice, Parser, Subcommand, ValueEnum};
use switchboard_wire::Version;

/// One program between every AI client and every MCP server.
#[derive(Debug, Parser)]
#[command(name = "switchboard", version, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that stand before the command or after it.
#[derive(Debug, ClapArgs)]
pub(crate) struct Global {
    /// Print JSON for machines instead of text for people
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Connect to one MCP server, show what it is and offers, and call it
    ///
    /// Without a server it is the one built into this program.
    #[command(after_help = PROBE_EXAMPLES)]
    Probe(Box<Probe>),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Serve the built-in server on standard input and output
    #[command(hide = true)]
    Builtin,
}

const PROBE_EXAMPLES: &str = "\
Examples:
  switchboard probe
  switchboard probe --call greet --arguments '{\"name\":\"Ada\"}'
  switchboard probe npx -y @modelcontextprotocol/server-everything
  switchboard probe -H 'Authorization: Bearer …' https://example.com/mcp";

#[derive(Debug, ClapArgs)]
pub(crate) struct Probe {
    /// How to reach a URL that does not say so itself
    #[arg(short, long, value_enum, value_name = "KIND")]
    pub(crate) transport: Option<Transport>,
    /// Speak only this version instead of finding out
    #[arg(long, value_name = "VERSION", value_parser = version)]
    pub(crate) protocol: Option<Version>,
    /// Set a variable for the server; KEY alone passes ours on
    #[arg(short, long = "env", value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,
    /// Send a header to a URL
    #[arg(short = 'H', long = "header", value_name = "KEY: VALUE")]
    pub(crate) header: Vec<String>,
    /// Call this tool
    #[arg(long, value_name = "TOOL")]
    pub(crate) call: Option<String>,
    /// What to call it with
    #[arg(long, value_name = "JSON", default_value = "{}", requires = "call")]
    pub(crate) arguments: String,
    /// Seconds to wait for the connection, and again for the call
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(crate) timeout: Duration,
    /// A URL, or a command and its arguments
    #[arg(
        value_name = "SERVER",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) server: Vec<String>,
}

/// Ways to reach a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// Streamable HTTP, with the fallback to HTTP+SSE
    Http,
    /// HTTP+SSE of 2024-11-05
    Sse,
    /// WebSocket
    Ws,
}

fn version(text: &str) -> Result<Version, String> {
    text.parse().map_err(|_| {
        let known: Vec<_> = Version::ALL
            .iter()
            .map(|version| version.as_str())
            .collect();
        format!("the versions known here are {}", known.join(", "))
    })
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "a number of seconds is wanted".to_owned())?;
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "it must be more than nothing and less than for ever".to_owned())
}
