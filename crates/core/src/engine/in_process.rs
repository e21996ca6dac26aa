//! Servers inside this process, given by the host application.

use std::fmt;
use std::sync::Arc;

use switchboard_wire::Error;
use switchboard_wire::link::pair::{self, End};
use switchboard_wire::server::{Changes, Handler, ServeOptions, serve};

/// A server inside this process. Each connection to it is a linked pair of its own.
#[derive(Clone)]
pub struct InProcess {
    pub(crate) name: String,
    pub(crate) open: Arc<dyn Fn() -> Result<End, Error> + Send + Sync>,
}

// === impl InProcess ===

impl InProcess {
    /// Serves `handler` under `name`; what it announces through `changes` reaches every connection.
    pub fn new<H: Handler>(name: impl Into<String>, handler: Arc<H>, changes: Changes) -> Self {
        Self::linked(name, move || {
            let (ours, theirs) = pair::pair();
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

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whatever stands at the other end of a link, made anew for each connection.
    pub fn linked(
        name: impl Into<String>,
        open: impl Fn() -> Result<End, Error> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), open: Arc::new(open) }
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess").field("name", &self.name).finish_non_exhaustive()
    }
}
