//! Arguments of `permissions`.
//!
//! Used by `commands::permissions`. It does not read the stored answers.

use clap::{Args, Subcommand};

pub(super) const EXAMPLES: &str = "\
Examples:
  switchboard permissions list
  switchboard permissions forget github/create_issue
  switchboard permissions forget github";

/// What to do with remembered answers.
#[derive(Debug, Subcommand)]
pub(crate) enum Permissions {
    /// Show the answers that are remembered: for a project, always, never
    List,
    /// Take answers back; the question is asked again from the next call on
    Forget(Forget),
}

#[derive(Debug, Args)]
pub(crate) struct Forget {
    /// The answer's id, `server/tool`, or a server for everything about it
    #[arg(value_name = "ID|SERVER/TOOL|SERVER", required_unless_present = "all")]
    pub(crate) which: Option<String>,
    /// Every answer there is
    #[arg(long, conflicts_with = "which")]
    pub(crate) all: bool,
}
