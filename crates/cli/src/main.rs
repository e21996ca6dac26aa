//! The `switchboard` program: parses the command line, starts the runtime, runs one command, prints its failure.
//!
//! This program file is also the guard of server processes and the worker of plugins; `main` checks for those roles
//! first. It does not hold the logic of commands (`commands` does).

mod args;
mod ask;
mod clustering;
mod command_engine;
mod commands;
mod environment;
mod hint;
mod limits;
mod notice;
mod path_display;
mod plugins;
mod printer;
mod prompt;
mod report;
mod runtime;
mod serve_notices;
mod shell_completion;
mod show;
mod state_check;
mod surroundings;
mod target;
mod ui;
mod units;
mod version;
mod wait;

use std::process::ExitCode;

use args::Args;
use printer::Printer;
use report::Failure;

/// jemalloc; `.cargo/config.toml` sets its options.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // As the guard of a server process, this call does not return.
    switchboard_process::guard::run_if_guard();
    // As the worker of a plugin, this call does not return.
    switchboard_plugin::worker::run_if_worker(plugins::BUILTINS);
    match shell_completion::answer_shell() {
        Ok(true) => return ExitCode::SUCCESS,
        Ok(false) => {}
        Err(error) => return printer::usage(&error, &[]),
    }
    let typed = surroundings::command_line_words();
    let args = match args::parse(&typed) {
        Ok(args) => args,
        Err(error) => return printer::usage(&error, &typed),
    };
    let printer = Printer::new(&args.global, surroundings::places(), args.command.is_relay());
    match run(args, &printer) {
        Ok(()) => printer.finish(),
        Err(failure) => {
            printer.failure(&failure);
            failure.exit_code()
        }
    }
}

fn run(args: Args, printer: &Printer) -> Result<(), Failure> {
    limits::check_descriptors()?;
    limits::check_threads()?;
    let runtime = runtime::builder(&args.command, &args.global)
        .enable_all()
        .build()
        .map_err(|error| Failure::new("cannot start the runtime", error))?;
    limits::start_blocking_thread(&runtime)?;
    let done = runtime.block_on(commands::run(args, printer));
    // A thread may still block on reading the terminal, so the shutdown does not wait.
    runtime.shutdown_background();
    done
}
