//! Arguments of `login`, `logout` and `doctor auth`.
//!
//! Used by the commands of these names. It does not run a sign-in (`auth` does).

use clap::{Args, Subcommand};

pub(super) const LOGIN_EXAMPLES: &str = "\
Examples:
  switchboard login github
  switchboard login github --no-browser   on another machine, over SSH
  switchboard login github --device       with a code, typed in wherever you have a browser";

pub(super) const DOCTOR_EXAMPLES: &str = "\
Examples:
  switchboard doctor
  switchboard doctor auth github   why nobody is signed in to it";

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(subcommand)]
    pub(crate) part: Option<Examined>,
}

/// What to look at, of everything.
#[derive(Debug, Subcommand)]
pub(crate) enum Examined {
    /// Follow the way to sign in to a server: what is asked, what comes back, what it means
    ///
    /// Changes nothing, and shows no secret. Exits 3 if somebody has to sign in, 1 if nobody can.
    Auth {
        /// Which server
        server: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Login {
    /// Open no browser: show a code to type in elsewhere, or print the address and take the one you end on
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Show a code to type into a page, on any machine; not every server has such
    #[arg(long, conflicts_with = "no_browser")]
    pub(crate) device: bool,
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
