//! Arguments of `connect` and `serve`: the view of clients, and the listening address.
//!
//! Used by `commands::connect`, `commands::serve` and `served_workspace`. Access control flags are in `args::guarding`.

use std::net::SocketAddr;

use clap::{Args as ClapArgs, ValueEnum};
use switchboard_config::Mode;
use switchboard_core::catalog::NameStyle;
use switchboard_gateway::bridge::ToolSearch;
use switchboard_hub::{FacesOptions, ViewOptions};

use super::guarding::Guarding;

/// How a client sees the servers.
#[derive(Debug, Clone, ClapArgs)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Names {
    /// `<server>__<tool>`
    Server,
    /// `mcp__<server>__<tool>`
    Full,
    /// `<tool>`; only with one server
    Bare,
}

/// What happens to calls that no rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
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
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) view: View,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7420")]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) guarding: Guarding,
}

// === impl View ===

impl View {
    /// The same for the hub.
    pub(crate) fn to_options(&self) -> ViewOptions {
        ViewOptions {
            names: match self.names {
                Names::Server => NameStyle::Gateway,
                Names::Full => NameStyle::Full,
                Names::Bare => NameStyle::Bare,
            },
            servers: self.servers.clone(),
            agent: self.agent.clone(),
            mode: self.mode.map(ModeArg::to_mode),
            tool_search: match self.tool_search {
                Search::Off => ToolSearch::Off,
                Search::Auto => ToolSearch::Auto,
                Search::On => ToolSearch::On,
            },
            result_limit: self.result_limit,
        }
    }
}

// === impl ModeArg ===

impl ModeArg {
    fn to_mode(self) -> Mode {
        match self {
            Self::Client => Mode::Client,
            Self::Default => Mode::Default,
            Self::Plan => Mode::Plan,
            Self::Auto => Mode::Auto,
            Self::BypassPermissions => Mode::BypassPermissions,
            Self::DontAsk => Mode::DontAsk,
        }
    }
}

// === impl Serve ===

impl Serve {
    /// The same for the hub.
    pub(crate) fn to_options(&self) -> FacesOptions {
        FacesOptions {
            view: self.view.to_options(),
            listen: self.listen,
            access: self.guarding.to_options(),
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
