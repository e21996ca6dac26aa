//! Arguments of `switchboard self`: what concerns the program itself.
//!
//! Used by `args` and `commands::self_uninstall`.

use clap::{Args, Subcommand};

pub(crate) const EXAMPLES: &str = "\
Examples:
  switchboard self uninstall --dry-run    show what would be removed
  switchboard self uninstall              ask once, then remove it";

#[derive(Debug, Subcommand)]
pub(crate) enum SelfCommand {
    /// Remove everything that Switchboard has written on this machine
    ///
    /// First lists every file and folder: settings, state, logs, the hub's socket, entries in clients, completions, and
    /// units in your home. Then it stops the hub and removes them. Your own files stay: projects, agents and plugins. So
    /// does the program itself; remove it with your package manager.
    Uninstall(SelfUninstall),
}

#[derive(Debug, Args)]
pub(crate) struct SelfUninstall {
    #[command(flatten)]
    pub(crate) confirmation: super::Confirmation,
}
