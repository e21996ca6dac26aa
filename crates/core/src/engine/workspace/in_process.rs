//! Servers inside this process, which the host application provides.
//!
//! Used by `sources` and the command line (native plugins) and by embedding programs. They are started by
//! `supervisor::apply` like all other servers.

use std::fmt;
use std::sync::Arc;

use switchboard_wire::link::pair::{self, LinkEnd};
use switchboard_wire::server::{ChangeBroadcaster, ServeOptions, ServerHandler, serve};
use switchboard_wire::{Error, sanitize};

use crate::problem::{EngineProblem, EngineProblemKind};

/// A server inside this process. Each connection is a linked pair of its own.
#[derive(Clone)]
pub struct InProcessServer {
    pub(crate) name: String,
    pub(crate) open: Arc<dyn Fn() -> Result<LinkEnd, Error> + Send + Sync>,
    problems: Option<Arc<dyn Fn() -> Vec<String> + Send + Sync>>,
}

// === impl InProcessServer ===

impl InProcessServer {
    /// Serves `handler` under `name`. Changes that are announced through `changes` reach every connection.
    pub fn new<H: ServerHandler>(
        name: impl Into<String>,
        handler: Arc<H>,
        changes: ChangeBroadcaster,
    ) -> Self {
        Self::from_link(name, move || {
            let (ours, theirs) = pair::link_pair();
            let (handler, changes) = (handler.clone(), changes.clone());
            // Ends with its connection, when the pair closes.
            tokio::spawn(async move {
                if let Err(error) = serve(theirs, handler, &changes, ServeOptions::default()).await
                {
                    tracing::debug!(%error, "a server in this process ended");
                }
            });
            Ok(ours)
        })
    }

    /// Sets a function that returns the problems of its plugins for each snapshot, one sentence each.
    #[must_use]
    pub fn with_problems(
        mut self,
        problems: impl Fn() -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.problems = Some(Arc::new(problems));
        self
    }

    /// Returns the current problems of its plugins.
    pub(in crate::engine) fn problems(&self) -> Vec<EngineProblem> {
        let messages = self.problems.as_ref().map(|problems| problems()).unwrap_or_default();
        let problem = |message: String| {
            let message = sanitize::sanitize_line(&message).into_owned();
            EngineProblem::new(EngineProblemKind::Plugin, message).of_server(&self.name)
        };
        messages.into_iter().map(problem).collect()
    }

    /// Returns the server's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes a server from a function that opens a link for each connection.
    pub fn from_link(
        name: impl Into<String>,
        open: impl Fn() -> Result<LinkEnd, Error> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), open: Arc::new(open), problems: None }
    }
}

impl fmt::Debug for InProcessServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess").field("name", &self.name).finish_non_exhaustive()
    }
}
