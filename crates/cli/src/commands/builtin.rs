//! `switchboard builtin`: the built-in plugins as an MCP server on standard streams.
//!
//! Used by `commands::run`; `probe` without arguments starts it as a process.

use switchboard_wire::{
    client::ClientLimits,
    server::{ServeOptions, serve, stdio},
};

use crate::{
    hint::{Reach, Subject},
    plugins,
    report::Failure,
};

pub(crate) async fn run() -> Result<(), Failure> {
    let (writer, reader, writing) = stdio::stdio_link(ClientLimits::default().max_message);
    let plugins = plugins::of_program()?;
    let changes = plugins.changes();
    let serving = serve((writer, reader), plugins, &changes, ServeOptions::default());
    // The writer ends once the session has dropped its end and everything is written.
    let (served, ()) = tokio::join!(serving, writing);
    served.map_err(|error| {
        Failure::server("the built-in server stopped", &error, &Subject::Typed(Reach::Command))
    })
}
