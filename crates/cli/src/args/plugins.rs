//! Arguments of `plugin new`, `check`, `list` and `serve`.
//!
//! Used by `commands::plugin`. It does not look for plugins.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand, ValueEnum};

use super::guarding::Guarding;

pub(super) const EXAMPLES: &str = "\
Examples:
  switchboard plugin new notes && cd notes && cargo build
  switchboard plugin check target/debug/libnotes.so
  switchboard plugin serve -p target/debug       on standard input and output
  switchboard plugin serve -p plugins -t         http://127.0.0.1:8080/mcp";

/// What to do with native plugins.
#[derive(Debug, Subcommand)]
pub(crate) enum Plugin {
    /// Create a plugin project that builds and passes its own test
    New(New),
    /// Show all plugins and their problems
    List(Folders),
    /// Serve plugins alone, as one MCP server
    ///
    /// Without `-s` and `-t`, it serves on standard input and output. A changed file is reloaded while clients stay
    /// connected; a broken file leaves the loaded plugin in place. Calls need no permission here.
    Serve(Box<ServePlugins>),
    /// Load a plugin, check everything that it offers, and show what a client will see
    ///
    /// Exits 1 if anything is wrong with the plugin.
    Check {
        /// The shared object
        file: PathBuf,
    },
}

/// Where plugins are.
#[derive(Debug, Args)]
pub(crate) struct Folders {
    /// A folder of plugins, searched with its subfolders; may be given several times. By default your `native` folder and
    /// what `nativePlugins` names; if there are neither, the plugins of this program
    #[arg(short, long, value_name = "DIR")]
    pub(crate) plugins: Vec<PathBuf>,
}

/// How to serve them.
#[derive(Debug, Args)]
pub(crate) struct ServePlugins {
    #[command(flatten)]
    pub(crate) folders: Folders,
    /// The name of the server
    #[arg(short, long, default_value = "plugins")]
    pub(crate) name: String,
    /// The folder for what plugins write to standard error
    #[arg(short, long, value_name = "DIR")]
    pub(crate) logs: Option<PathBuf>,
    /// Serve HTTP with server-sent events, at `/sse`
    #[arg(short, long)]
    pub(crate) sse: bool,
    /// Serve Streamable HTTP, at `/mcp`
    #[arg(short = 't', long)]
    pub(crate) httpstream: bool,
    /// The address to listen on
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) host: IpAddr,
    /// The port to listen on; 0 takes a free port
    #[arg(long, default_value = "8080")]
    pub(crate) port: u16,
    /// Workers for each plugin that answers one call at a time [default: `plugins.pool` in your settings, else 1]
    #[arg(long, value_name = "WORKERS", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) pool: Option<u8>,
    /// Let plugins read only what programs need to run, write nothing and start nothing; they can still use the network
    #[arg(long)]
    pub(crate) sandbox: bool,
    /// Print more details, such as which plugins were loaded. A level may follow; 0 turns this off
    // This flag has the id of the global `--verbose` and replaces it here: other plugin servers are started with
    // `-v 1`.
    #[arg(short, long, value_name = "LEVEL", num_args = 0..=1, action = ArgAction::Set)]
    #[arg(value_parser = is_verbose_level, default_value = "0", default_missing_value = "1", hide_default_value = true)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) guarding: Guarding,
}

/// Whether a level asks for more. `-vv` is `-v` with the value `v`.
fn is_verbose_level(level: &str) -> Result<bool, String> {
    if !level.is_empty() && level.chars().all(|c| c == 'v') {
        return Ok(true);
    }
    level
        .parse::<u8>()
        .map(|level| level > 0)
        .map_err(|_| "a level is a number, such as 1".to_owned())
}

/// What to make.
#[derive(Debug, Args)]
pub(crate) struct New {
    /// The name of the plugin and of its folder
    pub(crate) name: String,
    /// The programming language
    #[arg(long, default_value = "rust")]
    pub(crate) lang: Language,
    /// A checkout of Switchboard's sources. A Rust plugin then builds with the SDK in there, instead of a copy that this
    /// command writes into the project
    #[arg(long, value_name = "DIR")]
    pub(crate) sdk: Option<PathBuf>,
}

/// A language for plugins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// Rust, with functions and attributes
    Rust,
    /// C, with the C header
    C,
    /// C++, with the C header
    Cpp,
}
