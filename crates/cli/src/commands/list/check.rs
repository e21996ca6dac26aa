//! The connection state of each ready server, reported one by one as it becomes known.
//!
//! Used by `commands::list`; `doctor` uses `status`. Connecting is done by the engine.

use std::collections::HashMap;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use switchboard_core::EngineProblem;
use switchboard_core::engine::{ServerSnapshot, ServerStatus as Found};

use super::progress::Progress;
use super::row::{CheckStatus, ConnectedInfo};
use crate::command_engine::{self, CommandEngine};
use crate::printer::Printer;
use crate::report::{Failure, FailureKind};

/// The liveness checks of servers that were connected after the command's first check.
struct AnswerChecks<'a> {
    hub: &'a CommandEngine,
    under_way: FuturesUnordered<LocalBoxFuture<'a, (usize, Result<(), Failure>)>>,
    /// Whether the check of a server is over, by the server's place in the configuration.
    over: HashMap<usize, bool>,
}

/// Prints each server as soon as its state is known, with its latency if it is connected.
pub(super) async fn all(
    hub: &CommandEngine,
    printer: &Printer,
    mut tell: impl FnMut(usize, CheckStatus, Option<&ServerSnapshot>, &[EngineProblem]),
) -> Result<(), Failure> {
    let mut changes = hub.changes();
    let mut progress = Progress::new(printer);
    let mut checks = AnswerChecks { hub, under_way: FuturesUnordered::new(), over: HashMap::new() };
    for (index, server) in hub.desired.servers.iter().enumerate() {
        if server.entry().is_some() {
            progress.begin(index, &server.name);
        }
    }
    while progress.is_waiting() {
        changes.borrow_and_update();
        let snapshot = hub.snapshot();
        for (index, server) in hub.desired.servers.iter().enumerate() {
            let view = command_engine::view_of(&snapshot, server);
            let status = match view {
                Some(view) => status(hub, view),
                None => {
                    Some(CheckStatus::Failed { failure: unknown(&server.name), last_tried: None })
                }
            };
            if let Some(status) = status.filter(|_| progress.waits_for(index))
                && !checks.is_needed(index, view)
            {
                progress.end(index);
                tell(index, status, view, &snapshot.problems);
            }
        }
        if progress.is_waiting() {
            let next = async {
                tokio::select! {
                    is_there = changes.changed() => Ok(is_there.is_ok()),
                    checked = checks.next() => checked.map(|()| true),
                }
            };
            if !progress.until(next).await? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The failure for a server that the hub does not have: the hub keeps the last valid version of a broken file.
fn unknown(server: &str) -> Failure {
    let message = format!("the hub does not know `{server}`");
    let hint = "`switchboard doctor` shows what is wrong; `--standalone` runs without the hub";
    Failure::plain(FailureKind::Failed, message).with_hint(hint)
}

/// The state of a server; `None` while it is connecting. A connected server may still refuse its lists.
pub(crate) fn status(hub: &CommandEngine, view: &ServerSnapshot) -> Option<CheckStatus> {
    if view.is_coming() {
        return None;
    }
    let message = format!("cannot connect to `{}`", view.name);
    match (&view.status, view.silent_since) {
        (Found::Connected, Some(since)) => {
            ConnectedInfo::of(view).map(|connection| CheckStatus::Silent { connection, since })
        }
        (Found::Connected, None) => ConnectedInfo::of(view).map(CheckStatus::Connected),
        (Found::Idle { lists_read_at }, _) => ConnectedInfo::of(view)
            .map(|connection| CheckStatus::Idle { connection, lists_read_at: *lists_read_at }),
        (Found::Failed { last_tried, .. }, _) => {
            let failure = command_engine::connect_failure(&message, view, &hub.desired)?;
            Some(CheckStatus::Failed { failure, last_tried: Some(*last_tried) })
        }
        _ => {
            let failure = command_engine::connect_failure(&message, view, &hub.desired)?;
            Some(CheckStatus::Failed { failure, last_tried: None })
        }
    }
}

/// Whether a server is connected and was not asked yet whether it answers.
pub(crate) fn is_unasked(view: &ServerSnapshot) -> bool {
    let is_idle = matches!(view.status, Found::Idle { .. });
    view.is_usable() && !is_idle && view.answer_took.is_none() && view.silent_since.is_none()
}

// === impl AnswerChecks ===

impl AnswerChecks<'_> {
    /// Whether the check of a server is still to be waited for; begins it if need be. A server is checked once.
    fn is_needed(&mut self, index: usize, view: Option<&ServerSnapshot>) -> bool {
        let Some(view) = view.filter(|view| is_unasked(view)) else { return false };
        let Self { hub, under_way, over } = self;
        let is_over = over.entry(index).or_insert_with(|| {
            let (hub, name) = (*hub, view.name.clone());
            under_way.push(Box::pin(async move { (index, hub.check_answers(&name).await) }));
            false
        });
        !*is_over
    }

    /// Waits until one more check is over; for ever, while none is under way.
    async fn next(&mut self) -> Result<(), Failure> {
        let Some((index, checked)) = self.under_way.next().await else {
            return std::future::pending().await;
        };
        self.over.insert(index, true);
        checked
    }
}
