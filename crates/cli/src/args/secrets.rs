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
  switchboard add github https://api.example.com/mcp \\
    -H 'Authorization: Bearer ${secret:GITHUB_TOKEN}'";

/// What to do with secrets.
#[derive(Debug, Subcommand)]
pub(crate) enum Secret {
    /// Store a secret that you type; it is not shown while you type
    Set(SetSecret),
    /// Show the names of secrets, where each is stored, and which servers use it
    List,
    /// Remove a secret, and stop the servers that use it
    Remove {
        /// The name of the secret
        name: String,
    },
    /// Store every variable of a `.env` file, or every member of a JSON object
    Import {
        /// The file; it is not changed
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SetSecret {
    /// The name of the secret: a letter, then letters, digits, `_`, `-` and `.`
    pub(crate) name: String,
    /// Read the value from standard input; a line break at its end is dropped
    #[arg(long)]
    pub(crate) from_stdin: bool,
}
