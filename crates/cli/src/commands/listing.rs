//! The lists of all servers or of one: the snapshot that a listing command prints, and its notices.
//!
//! Used by `prompts`, `resources` and `skills`. It does not print.

use std::sync::Arc;

use switchboard_core::WorkspaceSnapshot;

use super::tools::notices;
use crate::args::OfServer;
use crate::command_engine::{self, CommandEngine};
use crate::notice::Notice;
use crate::printer::Printer;
use crate::report::Failure;
use crate::surroundings::Caller;

/// The lists of the servers that a command names.
pub(super) struct ServerListing<'a> {
    /// The one server, if the command names one.
    pub(super) server: Option<&'a str>,
    pub(super) engine: &'a CommandEngine,
    pub(super) snapshot: Arc<WorkspaceSnapshot>,
    pub(super) notices: Vec<Notice>,
}

/// Reads the lists of the servers that `of` names, and passes them to `print`.
pub(super) async fn with_listing(
    of: &OfServer,
    caller: &Caller,
    printer: &Printer,
    print: impl AsyncFnOnce(ServerListing<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let server = of.server.as_deref();
    command_engine::with_servers(caller, printer, async |engine: &CommandEngine| {
        let snapshot = engine.settled_snapshot(server, printer).await?;
        let notices = notices(server, engine, caller, &snapshot);
        print(ServerListing { server, engine, snapshot, notices }).await
    })
    .await
}

// === impl ServerListing ===

impl ServerListing<'_> {
    /// Whether the command is about the server `owner`.
    pub(super) fn includes(&self, owner: &str) -> bool {
        self.server.is_none_or(|server| server == owner)
    }
}
