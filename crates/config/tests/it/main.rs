//! Tests of the library through its public interface.
#![allow(
    clippy::disallowed_methods,
    reason = "tests start programs and read the variables of the run"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unnecessary_wraps,
    clippy::format_collect,
    clippy::needless_pass_by_value,
    reason = "a test that fails should say where, and a rendering need not be fast"
)]

mod basics;
mod case;
mod desired;
mod edits;
mod import;
mod import_plan;
mod install;
mod laws;
mod mask;
mod rules;
mod schema;
mod secrets;
mod setup;
mod urls;
mod workspace;
