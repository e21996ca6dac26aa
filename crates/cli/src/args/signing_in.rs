//! Arguments of `login`, `logout` and `doctor auth`.
//!
//! Used by the commands of these names. It does not run a sign-in (`auth` does).

use clap::{Args, Subcommand};

use crate::shell_completion::server;

pub(super) const LOGIN_EXAMPLES: &str = "\
Examples:
  switchboard login github
  switchboard login github --no-browser     on another machine, over SSH
  switchboard login github --device         with a code for any browser
  switchboard login github --for user:ada   for a user of `serve`";

pub(super) const ACCOUNTS_EXAMPLES: &str = "\
Examples:
  switchboard accounts
  switchboard logout github --for user:ada   sign one user out";

pub(super) const DOCTOR_EXAMPLES: &str = "\
Examples:
  switchboard doctor
  switchboard doctor auth github   check the sign-in step by step";

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(subcommand)]
    pub(crate) part: Option<Examined>,
}

/// What to look at, of everything.
#[derive(Debug, Subcommand)]
pub(crate) enum Examined {
    /// Check the sign-in to a server step by step: each request, its answer, and what that means
    ///
    /// Changes nothing and shows no secret. Exits 3 if a sign-in is needed, 1 if signing in is not possible.
    Auth {
        /// The server's name
        #[arg(add = server())]
        server: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Login {
    /// Do not open a browser: show a code to type in elsewhere, or print an address to open, and ask for the address that
    /// the browser ends on
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Show a code to type into a page on any machine, if the server supports that
    #[arg(long, conflicts_with = "no_browser")]
    pub(crate) device: bool,
    /// Sign in for a principal of `serve` instead of yourself. Its id is in the audit log: `user:NAME`, `TOKEN@ID` or
    /// `ISSUER SUBJECT`. Only that principal uses the account
    #[arg(long = "for", value_name = "PRINCIPAL", value_parser = guest_id)]
    pub(crate) principal: Option<String>,
    /// The server's name
    #[arg(add = server())]
    pub(crate) server: String,
}

#[derive(Debug, Args)]
pub(crate) struct Logout {
    /// Sign out of all servers, including those that are no longer configured
    #[arg(long, conflicts_with = "server")]
    pub(crate) all: bool,
    /// End the sign-in of a principal of `serve` instead of yours
    #[arg(long = "for", value_name = "PRINCIPAL", value_parser = guest_id)]
    pub(crate) principal: Option<String>,
    /// The server's name
    #[arg(required_unless_present = "all", add = server())]
    pub(crate) server: Option<String>,
}

/// Reads the id of a principal other than the local one.
fn guest_id(text: &str) -> Result<String, String> {
    let is_guest = text.contains([':', '@', ' ']) && !text.chars().any(char::is_control);
    is_guest.then(|| text.to_owned()).ok_or_else(|| {
        "write the id of a principal as the audit log shows it: `user:NAME`, `TOKEN@ID` or `ISSUER SUBJECT`"
            .to_owned()
    })
}
