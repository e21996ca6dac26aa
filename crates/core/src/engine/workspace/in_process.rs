//! Servers inside this process, given by the host application.

use std::fmt;
use std::sync::Arc;

use switchboard_wire::link::pair::{self, LinkEnd};
use switchboard_wire::server::{ChangeBroadcaster, ServeOptions, ServerHandler, serve};
use switchboard_wire::{Error, sanitize};

use crate::problem::{EngineProblem, EngineProblemKind};

/// A server inside this process. Each connection to it is a linked pair of its own.
#[derive(Clone)]
pub struct InProcessServer {
    pub(crate) name: String,
    pub(crate) open: Arc<dyn Fn() -> Result<LinkEnd, Error> + Send + Sync>,
    problems: Option<Arc<dyn Fn() -> Vec<String> + Send + Sync>>,
}

// === impl InProcessServer ===

impl InProcessServer {
    /// Serves `handler` under `name`; what it announces through `changes` reaches every connection.
    pub fn new<H: ServerHandler>(
        name: impl Into<String>,
        handler: Arc<H>,
        changes: ChangeBroadcaster,
    ) -> Self {
        Self::from_link(name, move || {
            let (ours, theirs) = pair::link_pair();
            let (handler, changes) = (handler.clone(), changes.clone());
            // It ends with its connection: the pair closes.
            tokio::spawn(async move {
                if let Err(error) = serve(theirs, handler, &changes, ServeOptions::default()).await
                {
                    tracing::debug!(%error, "a server in this process ended");
                }
            });
            Ok(ours)
        })
    }

    /// Asks `problems` for what is wrong with its plugins whenever a snapshot is made; each is one sentence.
    #[must_use]
    pub fn with_problems(
        mut self,
        problems: impl Fn() -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.problems = Some(Arc::new(problems));
        self
    }

    /// What is wrong with its plugins now.
    pub(in crate::engine) fn problems(&self) -> Vec<EngineProblem> {
        let messages = self.problems.as_ref().map(|problems| problems()).unwrap_or_default();
        let problem = |message: String| {
            let message = sanitize::sanitize_line(&message).into_owned();
            EngineProblem::new(EngineProblemKind::Plugin, message).of_server(&self.name)
        };
        messages.into_iter().map(problem).collect()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whatever stands at the other end of a link, made anew for each connection.
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
