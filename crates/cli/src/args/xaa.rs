//! Arguments of `xaa`: the identity provider of an organisation.
//!
//! Used by `commands::xaa`. It does not contact the provider.

use clap::{Args, Subcommand};

pub(super) const EXAMPLES: &str = "\
Examples:
  switchboard xaa setup --issuer https://login.example.com --client-id hub
  switchboard xaa login
  switchboard add wiki https://wiki.example.com/mcp --xaa --client-id wiki-hub";

/// What to do with the identity provider.
#[derive(Debug, Subcommand)]
pub(crate) enum Xaa {
    /// Write the provider to your own settings
    Setup(Setup),
    /// Sign in to the provider, in your browser
    Login {
        /// Do not open a browser: print an address to open, and ask for the address that the browser ends on
        #[arg(long)]
        no_browser: bool,
    },
    /// Show the provider, who is signed in, and which servers use this sign-in
    Show,
    /// Sign out of the provider, and remove it from your settings
    Clear,
}

#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// The issuer URL of the provider
    #[arg(long, value_name = "URL")]
    pub(crate) issuer: String,
    /// The id of the OAuth client that is registered for you there
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: String,
    /// A command that prints the secret of the client, if it has one
    #[arg(long, value_name = "COMMAND")]
    pub(crate) client_secret_helper: Option<String>,
    /// A scope to request besides `openid`; may be given several times
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// The local port to which the browser returns, if the client is registered with one
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) callback_port: Option<u16>,
}
