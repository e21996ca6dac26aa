//! Arguments of `switchboard ui`.
//!
//! Used by `crate::ui`.

use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  switchboard ui
  switchboard ui --notify
  NO_COLOR=1 switchboard ui --project ~/app";

/// `switchboard ui`.
#[derive(Debug, Args)]
pub(crate) struct Ui {
    /// Have the terminal notify you when a question comes: a bell, and a notification where it can
    #[arg(long)]
    pub(crate) notify: bool,
}
