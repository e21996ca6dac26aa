//! The `switchboard` program: parses the command line, starts the runtime, runs one command, prints its failure.
//!
//! This program file is also the guard of server processes and the worker of plugins; `main` checks for those roles
//! first. It does not hold the logic of commands (`commands` does).

mod args;
mod ask;
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
mod serve_notices;
mod show;
mod state_check;
mod surroundings;
mod target;
mod ui;
mod wait;

use std::process::ExitCode;

use args::{Args, Command};
use printer::Printer;
use report::Failure;
use tokio::runtime::Builder;

/// jemalloc; `.cargo/config.toml` sets its options.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // As the guard of a server process, this call does not return.
    switchboard_process::guard::run_if_guard();
    // As the worker of a plugin, this call does not return.
    switchboard_plugin::worker::run_if_worker(plugins::BUILTINS);
    let typed = surroundings::command_line_words();
    let args = match args::parse(&typed) {
        Ok(args) => args,
        Err(error) => return printer::usage(&error, &typed),
    };
    let printer = Printer::new(&args.global, surroundings::places());
    match run(args, &printer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            printer.failure(&failure);
            failure.exit_code()
        }
    }
}

fn run(args: Args, printer: &Printer) -> Result<(), Failure> {
    limits::check_descriptors()?;
    limits::check_threads()?;
    let runtime = runtime(&args.command)
        .enable_all()
        .build()
        .map_err(|error| Failure::new("cannot start the runtime", error))?;
    limits::start_blocking_thread(&runtime)?;
    let done = runtime.block_on(commands::run(args, printer));
    // A thread may still block on reading the terminal, so the shutdown does not wait.
    runtime.shutdown_background();
    done
}

/// I/O events that a relay takes per tick. With fewer, a server gets its request sooner while the relay goes on; with
/// more, there are fewer system calls. With 16 clients at once, 2 gives a fifth more calls than taking all events
/// first.
const AT_ONCE: usize = 2;

/// The runtime for a command. Relays get one thread: calls are short and wait for other processes, and waking a second
/// thread would cost more than it gains.
fn runtime(command: &Command) -> Builder {
    if let Some(builder) = limits::runtime_of_few_threads() {
        return builder;
    }
    if command.is_relay() {
        let mut builder = Builder::new_current_thread();
        builder.max_io_events_per_tick(AT_ONCE);
        return builder;
    }
    // A command that asks a person blocks on the terminal, so a second thread goes on meanwhile.
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1);
    builder
}
