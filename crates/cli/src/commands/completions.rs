//! `switchboard completions`: the completion script for a shell.
//!
//! Used by `commands::run`; clap generates the script.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{args::Args, report::Failure};

pub(crate) fn run(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "switchboard", &mut script);
    std::io::stdout()
        .write_all(&script)
        .map_err(|error| Failure::new("cannot write the script", error))
}
