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
    /// Make a project for a plugin that builds and passes its own test
    New(New),
    /// Show the plugins there are, and what is wrong with any of them
    List(Folders),
    /// Serve plugins alone, as one MCP server
    ///
    /// Without `-s` or `-t` on standard input and output. A file that changes is loaded anew while clients go on; one
    /// that is broken changes nothing. Nobody is asked before a tool is called.
    Serve(Box<ServePlugins>),
    /// Load a plugin, look at everything it offers, and say what a client will see
    ///
    /// Exits 1 if anything is wrong with it.
    Check {
        /// The shared object
        file: PathBuf,
    },
}

/// Where plugins are.
#[derive(Debug, Args)]
pub(crate) struct Folders {
    /// A folder of plugins, with all that is below it; may be given several times. By default your own `native` folder
    /// and what `nativePlugins` names, and where there is neither, the plugins of this program
    #[arg(short, long, value_name = "DIR")]
    pub(crate) plugins: Vec<PathBuf>,
}

/// How to serve them.
#[derive(Debug, Args)]
pub(crate) struct ServePlugins {
    #[command(flatten)]
    pub(crate) folders: Folders,
    /// What the server is called
    #[arg(short, long, default_value = "plugins")]
    pub(crate) name: String,
    /// Keep what plugins write to standard error in this folder
    #[arg(short, long, value_name = "DIR")]
    pub(crate) logs: Option<PathBuf>,
    /// Serve HTTP with server-sent events, at `/sse`
    #[arg(short, long)]
    pub(crate) sse: bool,
    /// Serve Streamable HTTP, at `/mcp`
    #[arg(short = 't', long)]
    pub(crate) httpstream: bool,
    /// The address to listen at
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) host: IpAddr,
    /// The port to listen at; 0 takes a free one
    #[arg(long, default_value = "8080")]
    pub(crate) port: u16,
    /// Workers for each plugin that answers one call at a time. By default what `plugins` in your settings says, or one
    #[arg(long, value_name = "WORKERS", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) pool: Option<u8>,
    /// Let plugins read what programs need to run, write nothing, and start nothing; the network stays open
    #[arg(long)]
    pub(crate) sandbox: bool,
    /// Print more, such as which plugins were loaded. A level may follow: 0 is the same as without it
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
    /// The name of the plugin, and of its folder
    pub(crate) name: String,
    /// The language to write it in
    #[arg(long, default_value = "rust")]
    pub(crate) lang: Language,
    /// A checkout of this program's sources. A Rust plugin then builds with the SDK in it, instead of the copy that
    /// this command writes into the project
    #[arg(long, value_name = "DIR")]
    pub(crate) sdk: Option<PathBuf>,
}

/// A language for plugins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// Functions with attributes
    Rust,
    /// The C header
    C,
    /// The same header in C++
    Cpp,
}
