//! A server that wants a page visited before it does what it is asked (-32042): the page is shown, the server tells
//! when it was visited, and the call is made again.

use std::collections::BTreeSet;

use switchboard_wire::Error as WireError;
use switchboard_wire::json::{Edit, Raw, quote};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::timeout;

use super::{CallError, Refusal, Stage};
use crate::connection::{Connection, Key};
use crate::engine::Placed;

/// How often a call is made again for this.
const VISITS: u32 = 3;

/// The visits of one call.
pub(super) struct Visits<'a> {
    stage: &'a Stage,
    key: Key,
    /// Listening since before the call was made: the server may tell before we have asked.
    completed: broadcast::Receiver<(Key, String)>,
    /// Pages that are known to have been visited.
    done: BTreeSet<String>,
    paid: u32,
}

/// One page.
struct Page {
    id: Option<String>,
    params: Raw,
}

// === impl Visits ===

impl<'a> Visits<'a> {
    pub(super) fn new(stage: &'a Stage, connection: &Connection) -> Self {
        Self {
            stage,
            key: connection.key(),
            completed: stage.engine.completed().listen(),
            done: BTreeSet::new(),
            paid: 0,
        }
    }

    /// Has every page visited that the error names. `Ok`: the call is to be made again.
    pub(super) async fn pay(&mut self, placed: &Placed, error: WireError) -> Result<(), CallError> {
        let server = &placed.name;
        let pages = pages(&error);
        if pages.is_empty() {
            return Err(CallError::server(server, error));
        }
        if self.paid == VISITS {
            return Err(CallError::AskedTooOften { server: server.clone(), times: VISITS });
        }
        self.paid += 1;
        for page in pages {
            let answer = self.stage.elicit(placed, &page.params).await;
            match text(&answer, "action").as_deref() {
                Some("accept") => {}
                Some("decline") => return Err(refused(server, Refusal::Declined)),
                _ => return Err(refused(server, Refusal::Cancelled)),
            }
            if let Some(id) = page.id
                && !self.heard_of(id).await
            {
                return Err(refused(server, Refusal::Cancelled));
            }
        }
        Ok(())
    }

    /// Waits until the server tells that a page was visited.
    async fn heard_of(&mut self, id: String) -> bool {
        let waiting = async {
            while !self.done.contains(&id) {
                match self.completed.recv().await {
                    Ok((key, done)) if key == self.key => drop(self.done.insert(done)),
                    Ok(_) => {}
                    // Whether it was among those missed nobody knows; making the call again will tell.
                    Err(RecvError::Lagged(_)) => return true,
                    Err(RecvError::Closed) => return false,
                }
            }
            true
        };
        timeout(self.stage.engine.patience(), waiting).await.unwrap_or(false)
    }
}

/// The pages an error names, as `elicitation/create` would ask for them.
fn pages(error: &WireError) -> Vec<Page> {
    let WireError::Rpc(error) = error else { return Vec::new() };
    let data = error.data.as_ref();
    let Some(Ok(Some(asked))) = data.map(|data| data.get("elicitations")) else {
        return Vec::new();
    };
    let page = |params: Raw| Page { id: text(&params, "elicitationId"), params: with_mode(params) };
    asked.elements().filter(|params| text(params, "url").is_some()).map(page).collect()
}

fn with_mode(params: Raw) -> Raw {
    let mode = quote("url");
    params.with(&[Edit::set(&["mode"], &mode)]).unwrap_or(params)
}

fn refused(server: &str, how: Refusal) -> CallError {
    CallError::NotDone { server: server.to_owned(), how }
}

fn text(raw: &Raw, key: &str) -> Option<String> {
    raw.get(key).ok()??.to_text()
}
