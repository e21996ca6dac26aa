//! One file for each thing that can be asked of the program.

mod builtin;
mod completions;
mod probe;

use crate::{
    args::{Args, Command},
    printer::Printer,
    report::Failure,
};

/// Does what was asked, or stops when the user does not want it any more.
pub(crate) async fn run(args: Args, printer: &Printer) -> Result<(), Failure> {
    match args.command {
        Command::Probe(probe) => probe::run(*probe, printer).await,
        Command::Completions { shell } => completions::run(shell),
        Command::Builtin => builtin::run().await,
    }
}
