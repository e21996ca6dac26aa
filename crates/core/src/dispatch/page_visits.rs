//! A server that wants a page visited before it does what it is asked (-32042): the page is shown, and the call is made
//! again once the server tells that it was visited. Servers need not tell. So the call is made again after a short wait
//! anyway, and a page that is still wanted then is shown again: accepting it that time says that the visit is over.

use std::collections::BTreeSet;
use std::time::Duration;

use switchboard_wire::Error as WireError;
use switchboard_wire::json::{JsonEdit, Raw, quote};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::timeout;

use super::unseen_pages::page_line;
use super::{CallError, ElicitationRefusal, RepeatSafety, Stage};
use crate::connection::{Connection, ConnectionKey};
use crate::engine::AppliedServer;

/// How often a call is made again for this.
const MAX_VISIT_ROUNDS: u32 = 3;
/// How long the server has, after a page was shown, to tell that it was visited.
const COMPLETION_TIMEOUT: Duration = Duration::from_secs(5);

/// The visits of one call.
pub(super) struct PageVisits<'a> {
    stage: &'a Stage,
    key: ConnectionKey,
    /// Listening since before the call was made: the server may tell before we have asked.
    completed: broadcast::Receiver<(ConnectionKey, String)>,
    /// Pages that are known to have been visited, by id.
    done: BTreeSet<String>,
    /// Addresses that were shown.
    shown: BTreeSet<String>,
    paid: u32,
}

/// One page.
struct VisitPage {
    id: Option<String>,
    url: String,
    params: Raw,
}

// === impl PageVisits ===

impl<'a> PageVisits<'a> {
    pub(super) fn new(stage: &'a Stage, connection: &Connection) -> Self {
        Self {
            stage,
            key: connection.key(),
            completed: stage.engine.elicitation_completions().listen(),
            done: BTreeSet::new(),
            shown: BTreeSet::new(),
            paid: 0,
        }
    }

    /// Has every page visited that the error names. `Ok`: the call is to be made again.
    pub(super) async fn visit_pages(
        &mut self,
        placed: &AppliedServer,
        error: WireError,
    ) -> Result<(), CallError> {
        let server = &placed.name;
        let pages = pages(&error);
        if pages.is_empty() {
            return Err(CallError::server(server, error, RepeatSafety::MayActTwice));
        }
        if self.paid == MAX_VISIT_ROUNDS {
            return Err(CallError::AskedTooOften {
                server: server.clone(),
                times: MAX_VISIT_ROUNDS,
            });
        }
        self.paid += 1;
        for page in &pages {
            self.visit(placed, page).await.map_err(|how| match how {
                ElicitationRefusal::Declined => CallError::NotDone { server: server.clone(), how },
                // Nobody saw it, perhaps: the caller may show it.
                ElicitationRefusal::Cancelled => CallError::PageNeeded {
                    server: server.clone(),
                    pages: pages.iter().map(VisitPage::to_line).collect(),
                },
            })?;
        }
        Ok(())
    }

    /// Shows a page, and waits a while for the server to tell that it was visited.
    async fn visit(
        &mut self,
        placed: &AppliedServer,
        page: &VisitPage,
    ) -> Result<(), ElicitationRefusal> {
        let is_repeated = !self.shown.insert(page.url.clone());
        let params = if is_repeated { page.params_when_repeated() } else { page.params.clone() };
        let answer = self.stage.elicit(placed, &params).await;
        match text(&answer, "action").as_deref() {
            Some("accept") => {}
            Some("decline") => return Err(ElicitationRefusal::Declined),
            _ => return Err(ElicitationRefusal::Cancelled),
        }
        if let (false, Some(id)) = (is_repeated, &page.id) {
            // Making the call again will tell whether the visit is over.
            let _ = timeout(COMPLETION_TIMEOUT, self.wait_for_completion(id)).await;
        }
        Ok(())
    }

    /// Waits until the server tells that a page was visited.
    async fn wait_for_completion(&mut self, id: &str) {
        while !self.done.contains(id) {
            match self.completed.recv().await {
                Ok((key, done)) if key == self.key => drop(self.done.insert(done)),
                Ok(_) => {}
                // Whether it was among those missed is not known; making the call again will tell.
                Err(RecvError::Lagged(_) | RecvError::Closed) => return,
            }
        }
    }
}

// === impl VisitPage ===

impl VisitPage {
    /// What the person sees the second time.
    fn params_when_repeated(&self) -> Raw {
        let message = text(&self.params, "message").unwrap_or_default();
        let message = format!("{message}\n\nAccept once you have finished on that page.");
        let message = quote(message.trim_start());
        self.params
            .with_edits(&[JsonEdit::set(&["message"], &message)])
            .unwrap_or_else(|_| self.params.clone())
    }

    /// Its message and its address, safe to show.
    fn to_line(&self) -> String {
        let message = text(&self.params, "message").unwrap_or_default();
        page_line(&message, &self.url)
    }
}

/// The pages an error names, as `elicitation/create` would ask for them.
fn pages(error: &WireError) -> Vec<VisitPage> {
    let WireError::Rpc(error) = error else { return Vec::new() };
    let data = error.data.as_ref();
    let Some(Ok(Some(asked))) = data.map(|data| data.get("elicitations")) else {
        return Vec::new();
    };
    let page = |params: Raw| {
        let (id, url) = (text(&params, "elicitationId"), text(&params, "url")?);
        Some(VisitPage { id, url, params: with_mode(params) })
    };
    asked.elements().filter_map(page).collect()
}

fn with_mode(params: Raw) -> Raw {
    let mode = quote("url");
    params.with_edits(&[JsonEdit::set(&["mode"], &mode)]).unwrap_or(params)
}

fn text(raw: &Raw, key: &str) -> Option<String> {
    raw.get(key).ok()??.to_text()
}
