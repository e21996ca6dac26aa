//! The switchboard program: what was typed, done and told.

mod args;
mod builtin;
mod commands;
mod environment;
mod hint;
mod printer;
mod report;
mod target;

use std::process::ExitCode;

use clap::Parser;

use args::Args;
use printer::Printer;
use report::Failure;

fn main() -> ExitCode {
    // This program is also the guard of the servers it starts, and then nothing else.
    switchboard_wire::process::guard::run_if_guard();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return printer::usage(&error),
    };
    let printer = Printer::new(args.global.json, args.global.color);
    match run(args, &printer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            printer.failure(&failure);
            failure.exit_code()
        }
    }
}

fn run(args: Args, printer: &Printer) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::new("cannot start the runtime", error))?;
    runtime.block_on(commands::run(args, printer))
}
