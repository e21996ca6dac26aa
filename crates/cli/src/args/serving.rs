//! Arguments of `connect`, `serve` and `hub`: the view of clients, and the listening address.
//!
//! Used by `commands::connect`, `commands::serve` and `served_workspace`. Access control flags are in `args::guarding`.

use std::net::{Ipv4Addr, SocketAddr};

use clap::{Args as ClapArgs, ValueEnum};
use switchboard_config::PermissionMode;
use switchboard_config::import::ClientApp;
use switchboard_config::install::ClientTraits;
use switchboard_core::catalog::NameStyle;
use switchboard_gateway::bridge::ToolSearch;
use switchboard_hub::{AppsOptions, AppsOrigin, FacesOptions, ViewOptions};

use super::clustering::ClusterArgs;
use super::guarding::{Guarding, IssuerClientArgs};

/// How a client sees the servers.
#[derive(Debug, Clone, ClapArgs)]
#[command(next_help_heading = "What clients see")]
pub(crate) struct View {
    /// How tools are named
    #[arg(long, value_name = "STYLE", default_value = "server")]
    pub(crate) names: Names,
    /// Show only these servers, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) servers: Vec<String>,
    /// Show only what this agent may use
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// What to do with calls that no rule decides [default: `permissions.defaultMode`, else `client`]
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<ModeArg>,
    /// Whether clients get a list of all tools, or a tool that searches them
    #[arg(long, value_name = "WHEN", default_value = "off")]
    pub(crate) tool_search: Search,
    /// The maximum size of a result, in tokens; 0 means no limit
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
    /// `<tool>`, if there is only one server
    Bare,
}

/// What happens to calls that no rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// Leave the decision to the client's own prompt
    Client,
    /// Ask a person
    Default,
    /// Allow only tools that read
    Plan,
    /// Decide by the tool's annotations, or by a classifier
    Auto,
    /// Allow every call
    #[value(name = "bypassPermissions")]
    BypassPermissions,
    /// Deny every call
    #[value(name = "dontAsk")]
    DontAsk,
}

/// Whether tools are listed or looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Search {
    /// List all tools
    Off,
    /// Search if the list would cost more than 10,000 tokens
    Auto,
    /// Search
    On,
}

/// Serve one client on standard input and output.
#[derive(Debug, ClapArgs)]
pub(crate) struct Connect {
    #[command(flatten)]
    pub(crate) view: View,
    /// The client that runs this command; servers that it reads from the project itself are left out
    #[arg(long, value_name = "CLIENT", value_parser = super::servers::clients())]
    pub(crate) client: Option<ClientApp>,
    /// Show the servers of `.mcp.json` even to a client that reads that file itself
    #[arg(long)]
    pub(crate) include_project_servers: bool,
}

/// Serve clients over the network.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) view: View,
    /// The address and port to listen on, or only a port of this machine; port 0 takes a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7420", value_parser = listen_address)]
    pub(crate) listen: SocketAddr,
    /// Threads that carry out calls, 1 to 64 [default: `limits.threads`, else half the processors, 8 at most]. A hub that
    /// is already running keeps its own number
    #[arg(long, value_name = "NUMBER", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    #[command(flatten)]
    pub(crate) guarding: Guarding,
    #[command(flatten)]
    pub(crate) issuer_client: IssuerClientArgs,
    #[command(flatten)]
    pub(crate) clustering: ClusterArgs,
    /// The origin under which browsers reach the frames of MCP Apps, such as `https://apps.example.com`; needed if the
    /// console is used from another machine. Nothing else may be served there
    #[arg(long, value_name = "URL", help_heading = "What the console shows")]
    pub(crate) apps_origin: Option<AppsOrigin>,
    /// The local address to listen on for the frames of MCP Apps [default: a free port]
    #[arg(long, value_name = "ADDRESS", value_parser = loopback_address, help_heading = "What the console shows")]
    pub(crate) apps_listen: Option<SocketAddr>,
}

/// Run the hub of all clients of this user.
#[derive(Debug, ClapArgs)]
pub(crate) struct Hub {
    /// Threads that carry out calls, 1 to 64 [default: `limits.threads`, else half the processors, 8 at most]
    #[arg(long, value_name = "NUMBER", value_parser = threads())]
    pub(crate) threads: Option<u16>,
}

fn threads() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(1..=i64::from(crate::runtime::MAX_THREADS))
}

/// Parses an address with a port. A port alone, with `:` before it or with `localhost:`, is one of 127.0.0.1.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost").unwrap_or(text);
    let port = port.strip_prefix(':').or_else(|| (port == text).then_some(text));
    if let Some(port) = port.and_then(|port| port.parse().ok()) {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    text.parse().map_err(|_| {
        "write a port, such as `7420`, or an address with a port, such as `0.0.0.0:7420` or `[::1]:7420`".to_owned()
    })
}

/// Parses an address of this machine.
fn loopback_address(text: &str) -> Result<SocketAddr, String> {
    let address = listen_address(text)?;
    if address.ip().is_loopback() {
        return Ok(address);
    }
    Err("only an address of this machine, such as `127.0.0.1:7421`; for others, put a proxy before it and name it with \
         `--apps-origin`"
        .to_owned())
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
            without_project_servers: false,
        }
    }
}

// === impl Connect ===

impl Connect {
    /// The view for the hub.
    pub(crate) fn to_options(&self) -> ViewOptions {
        let reads_mcp_json =
            self.client.is_some_and(|client| ClientTraits::of(client).reads_mcp_json);
        ViewOptions {
            without_project_servers: reads_mcp_json && !self.include_project_servers,
            ..self.view.to_options()
        }
    }
}

// === impl ModeArg ===

impl ModeArg {
    pub(crate) fn to_mode(self) -> PermissionMode {
        match self {
            Self::Client => PermissionMode::Client,
            Self::Default => PermissionMode::Default,
            Self::Plan => PermissionMode::Plan,
            Self::Auto => PermissionMode::Auto,
            Self::BypassPermissions => PermissionMode::BypassPermissions,
            Self::DontAsk => PermissionMode::DontAsk,
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
            access: self.issuer_client.add_to_options(self.guarding.to_options()),
            apps: AppsOptions { origin: self.apps_origin.clone(), listen: self.apps_listen },
        }
    }
}

pub(super) const SERVE_EXAMPLES: &str = "\
Examples:
  switchboard serve                        serve your own clients
  switchboard serve --listen 0             serve on a free port, and print it
  switchboard serve --project ~/work/app   serve the servers of another project
  switchboard serve --listen 0.0.0.0:7420 --tls-cert hub.pem --tls-key hub.key
                                           serve other machines, with tokens";

pub(super) const CONNECT_EXAMPLES: &str = "\
Examples:
  switchboard connect                      for an AI client: a stdio server
  switchboard connect --servers git,time   show two servers only
  switchboard connect --tool-search on     show a search tool, not all tools";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_an_address_of_this_machine() {
        for (text, address) in [
            ("7420", Some("127.0.0.1:7420")),
            (":7420", Some("127.0.0.1:7420")),
            ("localhost:7420", Some("127.0.0.1:7420")),
            ("0", Some("127.0.0.1:0")),
            ("0.0.0.0:7420", Some("0.0.0.0:7420")),
            ("[::1]:7420", Some("[::1]:7420")),
            ("localhost", None),
            ("localhost7420", None),
            ("127.0.0.1", None),
            ("70000", None),
            ("::1", None),
            ("example.com:80", None),
            ("", None),
        ] {
            let parsed = listen_address(text).ok().map(|address| address.to_string());
            assert_eq!(parsed.as_deref(), address, "{text}");
        }
    }
}
