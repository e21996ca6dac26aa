//! The switchboard program: what was typed, done and told.

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

/// How it is set up is said in `.cargo/config.toml`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // This program is also the guard of the servers it starts, and then nothing else.
    switchboard_process::guard::run_if_guard();
    // And the worker that holds a plugin.
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
    // Somebody may still be expected to type; what is done is done.
    runtime.shutdown_background();
    done
}

/// Connections that a relay looks at before it passes on what came of them. The fewer, the sooner a server has something
/// to do while the relay goes on; the more, the fewer words with the system. With 16 clients at once, calls are a fifth
/// more than where all are looked at first.
const AT_ONCE: usize = 2;

/// Calls are short and wait for others: a second thread would spend more on waking the first than it does for them.
fn runtime(command: &Command) -> Builder {
    if let Some(builder) = limits::runtime_of_few_threads() {
        return builder;
    }
    if command.is_relay() {
        let mut builder = Builder::new_current_thread();
        builder.max_io_events_per_tick(AT_ONCE);
        return builder;
    }
    // Where a person is asked, somebody must go on meanwhile.
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1);
    builder
}
