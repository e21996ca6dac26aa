//! Arguments of `switchboard self`: what concerns the program itself.
//!
//! Used by `args` and `commands::self_uninstall`.

use clap::{Args, Subcommand};

pub(crate) const EXAMPLES: &str = "\
Examples:
  switchboard self uninstall --dry-run    Show everything of Switchboard on this machine
  switchboard self uninstall              Remove it, after asking once";

#[derive(Debug, Subcommand)]
pub(crate) enum SelfCommand {
    /// Remove everything that Switchboard has put on this machine
    ///
    /// Lists every file and folder first: settings, state, logs, the hub's socket, entries in clients, completions and
    /// units in your home. The hub is stopped. Your own files stay: projects, agents, plugins, and the program itself,
    /// whose package manager removes it.
    Uninstall(SelfUninstall),
}

#[derive(Debug, Args)]
pub(crate) struct SelfUninstall {
    #[command(flatten)]
    pub(crate) confirmation: super::Confirmation,
}
