//! `switchboard builtin`: the embedded server, launched like any other.

use std::sync::Arc;

use switchboard_wire::{
    client::Limits,
    server::{Changes, ServeOptions, serve, stdio},
};

use crate::{builtin::Builtin, hint::Subject, report::Failure};

pub(crate) async fn run() -> Result<(), Failure> {
    let (writer, reader, writing) = stdio::link(Limits::default().max_message);
    let changes = Changes::default();
    let serving = serve((writer, reader), Arc::new(Builtin), &changes, ServeOptions::default());
    // The writer ends by itself once the session has dropped its end and everything is written.
    let (served, ()) = tokio::join!(serving, writing);
    served.map_err(|error| Failure::server("the built-in server stopped", &error, &Subject::Typed))
}
