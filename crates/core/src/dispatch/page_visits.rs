//! URL elicitation by error (-32042): shows the pages that a server requires, then makes the call again.
//!
//! Used by `dispatch::upstream`. The call is repeated once the server reports the visit as complete. Servers need
//! not report it, so the call is also repeated after a short wait; a page that is still required then is shown
//! again, and accepting it says that the visit is over.

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

/// How often a call is repeated for page visits.
const MAX_VISIT_ROUNDS: u32 = 3;
/// How long the server has, after a page was shown, to report the visit.
const COMPLETION_TIMEOUT: Duration = Duration::from_secs(5);

/// The page visits of one call.
pub(super) struct PageVisits<'a> {
    stage: &'a Stage,
    key: ConnectionKey,
    /// Subscribed before the call is made: the server may report a visit before the page was shown.
    completed: broadcast::Receiver<(ConnectionKey, String)>,
    /// Pages with a reported visit, by id.
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

    /// Shows every page that the error names. `Ok`: the call is to be repeated.
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
            return Err(CallError::TooManyPages {
                server: server.clone(),
                times: MAX_VISIT_ROUNDS,
            });
        }
        self.paid += 1;
        for page in &pages {
            self.visit(placed, page).await.map_err(|how| match how {
                ElicitationRefusal::Declined => CallError::NotDone { server: server.clone(), how },
                // The page may not have been seen: the caller may show it.
                ElicitationRefusal::Cancelled => CallError::PageNeeded {
                    server: server.clone(),
                    pages: pages.iter().map(VisitPage::to_line).collect(),
                },
            })?;
        }
        Ok(())
    }

    /// Shows a page, and waits a while for the server to report the visit.
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
            // The repeated call shows whether the visit is over.
            let _ = timeout(COMPLETION_TIMEOUT, self.wait_for_completion(id)).await;
        }
        Ok(())
    }

    /// Waits until the server reports the visit of a page.
    async fn wait_for_completion(&mut self, id: &str) {
        while !self.done.contains(id) {
            match self.completed.recv().await {
                Ok((key, done)) if key == self.key => drop(self.done.insert(done)),
                Ok(_) => {}
                // The report may be among the missed ones; the repeated call shows it.
                Err(RecvError::Lagged(_) | RecvError::Closed) => return,
            }
        }
    }
}

// === impl VisitPage ===

impl VisitPage {
    /// The parameters for showing the page a second time.
    fn params_when_repeated(&self) -> Raw {
        let message = text(&self.params, "message").unwrap_or_default();
        let message = format!("{message}\n\nAccept once you have finished on that page.");
        let message = quote(message.trim_start());
        self.params.clone().overwrite(&[JsonEdit::set(&["message"], &message)])
    }

    /// The message and the address of the page, safe to show.
    fn to_line(&self) -> String {
        let message = text(&self.params, "message").unwrap_or_default();
        page_line(&message, &self.url)
    }
}

/// The pages that an error names, as parameters of `elicitation/create`.
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
    params.overwrite(&[JsonEdit::set(&["mode"], &mode)])
}

fn text(raw: &Raw, key: &str) -> Option<String> {
    raw.get(key).ok()??.to_text()
}
