//! Tests of the plugin host with real workers: plugins of both versions, one of them written to do everything
//! wrong.
#![allow(
    clippy::disallowed_methods,
    reason = "tests start programs and read the variables of the run"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test that fails should say where"
)]

mod chaos;
mod client;
mod faults;
mod flood;
mod items;
mod load;
mod reload;
mod sandbox;
mod source;
mod subscriptions;
mod tasks;
