//! The arguments of `switchboard secret`.
//!
//! Used by `commands::secret`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(super) const SECRET_EXAMPLES: &str = "\
Examples:
  switchboard secret set GITHUB_TOKEN
  gh auth token | switchboard secret set GITHUB_TOKEN --from-stdin
  switchboard secret import .env
  switchboard add github -H 'Authorization: Bearer ${secret:GITHUB_TOKEN}' https://api.example.com/mcp";

/// What to do with secrets.
#[derive(Debug, Subcommand)]
pub(crate) enum Secret {
    /// Store a secret; you type it, and it is not shown
    Set(SetSecret),
    /// Show the names of secrets, where each comes from, and which servers name it
    List,
    /// Remove a secret; servers that name it stop
    Remove {
        /// Its name
        name: String,
    },
    /// Store every variable of a `.env` file, or every member of a JSON object
    Import {
        /// The file, which stays as it is
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SetSecret {
    /// Its name: a letter, then letters, digits, `_`, `-` and `.`
    pub(crate) name: String,
    /// Read the value from standard input, without the line break at its end
    #[arg(long)]
    pub(crate) from_stdin: bool,
}
