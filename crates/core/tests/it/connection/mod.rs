//! Tests of one connection to a scripted server, on a paused clock.

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
