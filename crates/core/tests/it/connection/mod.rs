//! One connection, on a clock of the test's own, with a server that follows a script.

#![allow(clippy::float_cmp, reason = "times are rounded to tenths of a second")]

mod bench;
mod calls;
mod keys;
mod lists;
mod liveness;
#[cfg(target_os = "linux")]
mod processes;
mod ready;
mod remote;
mod slots;
mod states;
mod stopping;
