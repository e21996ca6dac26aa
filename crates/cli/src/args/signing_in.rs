//! Arguments of `login`, `logout` and `doctor auth`.
//!
//! Used by the commands of these names. It does not run a sign-in (`auth` does).

use clap::{Args, Subcommand};

use crate::shell_completion::server;

pub(super) const LOGIN_EXAMPLES: &str = "\
Examples:
  switchboard login github
  switchboard login github --no-browser   on another machine, over SSH
  switchboard login github --device       with a code, typed in wherever you have a browser
  switchboard login github --for user:ada   for a user of `serve`, who is with you now";

pub(super) const ACCOUNTS_EXAMPLES: &str = "\
Examples:
  switchboard accounts
  switchboard logout github --for user:ada   end one of them";

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
        /// The server's name
        #[arg(add = server())]
        server: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Login {
    /// Open no browser: show a code to type in elsewhere, or print the address and take the one you end on
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Show a code to type into a page on any machine, if the server supports that
    #[arg(long, conflicts_with = "no_browser")]
    pub(crate) device: bool,
    /// Sign in for a principal of `serve` instead of yourself, by its id as the audit log has it: `user:NAME`,
    /// `TOKEN@ID` or `ISSUER SUBJECT`. Only that principal uses the account
    #[arg(long = "for", value_name = "PRINCIPAL", value_parser = guest_id)]
    pub(crate) principal: Option<String>,
    /// The server's name
    #[arg(add = server())]
    pub(crate) server: String,
}

#[derive(Debug, Args)]
pub(crate) struct Logout {
    /// All servers, also those that are not configured any more
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
        "a principal is `user:NAME`, `TOKEN@ID` or `ISSUER SUBJECT`, as the audit log has it"
            .to_owned()
    })
}
