//! Arguments of `connect` and `serve`: the view of clients, and the listening address.
//!
//! Used by `commands::connect`, `commands::serve` and `served_workspace`. Access control flags are in `args::guarding`.

use std::net::SocketAddr;

use clap::{Args as ClapArgs, ValueEnum};
use serde::{Deserialize, Serialize};

use super::guarding::Guarding;

/// How a client sees the servers.
#[derive(Debug, Clone, ClapArgs, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[command(next_help_heading = "What clients see")]
pub(crate) struct View {
    /// What tools are called: `<server>__<tool>`, with `mcp__` before it, or the tool's own name
    #[arg(long, value_name = "STYLE", default_value = "server")]
    pub(crate) names: Names,
    /// Only these servers, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) servers: Vec<String>,
    /// What this agent sees
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// What happens to calls that no rule decides; by default what `permissions.defaultMode` says, else `client`
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<ModeArg>,
    /// Whether tools are listed or looked for; `auto` decides by what the list costs
    #[arg(long, value_name = "WHEN", default_value = "off")]
    pub(crate) tool_search: Search,
    /// Tokens of a result that a client is given at once; 0 means all
    #[arg(long, value_name = "TOKENS")]
    pub(crate) result_limit: Option<usize>,
}

/// What tools are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Names {
    /// `<server>__<tool>`
    Server,
    /// `mcp__<server>__<tool>`
    Full,
    /// `<tool>`; only with one server
    Bare,
}

/// What happens to calls that no rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ModeArg {
    /// The client's own prompt decides
    Client,
    /// Somebody is asked
    Default,
    /// Only tools that read
    Plan,
    /// Annotations, rules and a classifier decide
    Auto,
    /// Everything happens
    #[value(name = "bypassPermissions")]
    BypassPermissions,
    /// Nothing happens
    #[value(name = "dontAsk")]
    DontAsk,
}

/// Whether tools are listed or looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Search {
    /// All are listed
    Off,
    /// Looked for where the list would cost more than 10,000 tokens
    Auto,
    /// Looked for
    On,
}

/// Serve one client on standard input and output.
#[derive(Debug, ClapArgs)]
pub(crate) struct Connect {
    #[command(flatten)]
    pub(crate) view: View,
}

/// Serve clients over the network.
#[derive(Debug, Clone, ClapArgs, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) view: View,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7420")]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    #[serde(default)]
    pub(crate) guarding: Guarding,
}

// === impl View ===

impl View {
    /// Everything, or everything of one agent.
    pub(crate) fn plain(agent: Option<String>) -> Self {
        Self {
            names: Names::Full,
            servers: Vec::new(),
            agent,
            mode: Some(ModeArg::Default),
            tool_search: Search::Off,
            result_limit: None,
        }
    }
}

pub(super) const SERVE_EXAMPLES: &str = "\
Examples:
  switchboard serve                        http://127.0.0.1:7420/mcp, for your own clients on this machine
  switchboard serve --listen 127.0.0.1:0   on a free port, which is printed
  switchboard serve --project ~/work/app   the servers of another project
  switchboard serve --listen 0.0.0.0:7420 --tls-cert hub.pem --tls-key hub.key
                                           for other machines, whose clients need a token";

pub(super) const CONNECT_EXAMPLES: &str = "\
Examples:
  switchboard connect                      what an AI client runs; add it there as a stdio server
  switchboard connect --servers git,time   two servers only
  switchboard connect --tool-search on     a tool to find tools with, in place of a long list";
