//! Arguments of `setup`.
//!
//! Used by `commands::setup`. It does not look for clients (`config::setup` does).

use clap::Args;
use switchboard_config::import::ClientApp;

pub(super) const EXAMPLES: &str = "\
Examples:
  switchboard setup --dry-run
  switchboard setup
  switchboard setup --move-secrets
  switchboard setup cursor zed
  switchboard setup --undo";

#[derive(Debug, Default, Args)]
pub(crate) struct SetupArgs {
    /// Revert everything that `setup` changed
    #[arg(long, conflicts_with = "clients")]
    pub(crate) undo: bool,
    /// Move values that look like secrets to the secret store
    #[arg(long, conflicts_with = "undo")]
    pub(crate) move_secrets: bool,
    #[command(flatten)]
    pub(crate) confirmation: super::Confirmation,
    /// Only these clients [default: all clients on this machine]
    #[arg(value_name = "CLIENT", value_parser = super::servers::clients())]
    pub(crate) clients: Vec<ClientApp>,
}
