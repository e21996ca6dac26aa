//! What may be typed about signing in and out.

use clap::Args;

pub(super) const LOGIN_EXAMPLES: &str = "\
Examples:
  switchboard login github
  switchboard login github --no-browser   on another machine, over SSH";

#[derive(Debug, Args)]
pub(crate) struct Login {
    /// Open no browser: print the address, and take the one you end on
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Which server
    pub(crate) server: String,
}

#[derive(Debug, Args)]
pub(crate) struct Logout {
    /// All servers, also those that are not configured any more
    #[arg(long, conflicts_with = "server")]
    pub(crate) all: bool,
    /// Which server
    #[arg(required_unless_present = "all")]
    pub(crate) server: Option<String>,
}
