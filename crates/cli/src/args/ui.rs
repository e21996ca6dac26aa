//! Arguments of `switchboard ui`, `switchboard top` and `switchboard console`.
//!
//! Used by `crate::ui`, `commands::top` and `commands::console`.

use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  switchboard ui
  switchboard ui --notify
  NO_COLOR=1 switchboard ui --project ~/app";

/// `switchboard ui`.
#[derive(Debug, Args)]
pub(crate) struct Ui {
    /// When a question arrives, ring the bell, and show a notification if the terminal supports it
    #[arg(long)]
    pub(crate) notify: bool,
}

pub(super) const TOP_EXAMPLES: &str = "\
Examples:
  switchboard top
  switchboard top --once
  switchboard top --json | jq '.servers[] | {name, calls, errors}'";

/// `switchboard top`.
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// Print the counts once instead of showing them live
    #[arg(long)]
    pub(crate) once: bool,
}

/// `switchboard console`.
#[derive(Debug, Args)]
pub(crate) struct Console {
    /// Only print the link
    #[arg(long)]
    pub(crate) no_browser: bool,
}
