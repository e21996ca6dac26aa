//! Sign-ins that a client of ours begins: with the `authenticate` tool, which answers at once with the address of the
//! page, or during a call that needs one, which goes on by itself afterwards.
//!
//! Used by `dispatch::tool` and `dispatch::upstream`. A call asks for a sign-in only where its principal is not the
//! person who runs the engine, and its client can show a page. The sign-in itself is in `connection::sign_in`.

use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::json;
use switchboard_wire::json::Raw;
use tokio::time::timeout;

use super::builtin::outcome;
use super::{CallError, CallOutcome, Stage};
use crate::connection::{ConnectionNotReady, SignInError};
use crate::engine::AppliedServer;

/// How long a call waits for a person who is on the page: as long as the page is good.
const PERSON_TIMEOUT: Duration = Duration::from_mins(10);

/// Calls the tool for a server.
pub(super) async fn call(stage: &Stage, placed: &AppliedServer) -> CallOutcome {
    let server = &placed.name;
    if !stage.may_sign_in(placed) {
        return failed(server, &SignInError::Lent);
    }
    // The person may not have heard yet why the last sign-in failed.
    let before = placed.connection.sign_in_ended().now_or_never();
    match placed.connection.sign_in().await {
        Ok(url) => {
            stage.show_sign_in_page(placed, &url).await;
            let failed = match before {
                Some(Err(SignInError::Failed { why })) => {
                    format!("The last sign-in failed: {why}.\n\n")
                }
                _ => String::new(),
            };
            let text = format!(
                "{failed}To sign in to `{server}`, open this page in a browser:\n\n{url}\n\nIts tools are there as soon as that is done."
            );
            outcome(&json!({ "content": [{ "type": "text", "text": text }] }), Some(server.clone()))
        }
        Err(error) => failed(server, &error),
    }
}

fn failed(server: &str, why: &SignInError) -> CallOutcome {
    let text = format!("Signing in to `{server}` is not possible from here: {why}");
    let result = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
    outcome(&result, Some(server.to_owned()))
}

// === impl Stage ===

impl Stage {
    /// Has the person sign in to the server of a call that failed for want of a sign-in. `Ok`: the call can go on. Else
    /// the call's own error, with the reason why no one signed in.
    pub(super) async fn sign_in_for_call(&self, error: CallError) -> Result<(), CallError> {
        let CallError::NotConnected { server, error: why } = &error else { return Err(error) };
        if !matches!(**why, ConnectionNotReady::NeedsAuth(_)) {
            return Err(error);
        }
        let can_be_shown = !self.caller.session().principal.is_local() && self.shows_pages();
        let placed = self.applied.server(server);
        let placed = placed.filter(|placed| can_be_shown && self.may_sign_in(placed));
        let Some(placed) = placed else { return Err(error) };
        let connection = self.caller.bound_connection(placed);
        let Ok(url) = connection.sign_in().await else { return Err(error) };
        if !self.show_sign_in_page(placed, &url).await {
            return Err(error);
        }
        match timeout(PERSON_TIMEOUT, connection.sign_in_ended()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(failed)) => {
                Err(CallError::not_connected(server, ConnectionNotReady::NotSignedIn(failed)))
            }
            Err(_) => Err(error),
        }
    }

    /// Shows the page in the caller's client, if the client can show pages. Returns whether the person accepted. The
    /// text of the result of `authenticate` names the page in any case.
    async fn show_sign_in_page(&self, placed: &AppliedServer, url: &str) -> bool {
        if !self.shows_pages() {
            return false;
        }
        let params = json!({
            "mode": "url",
            "elicitationId": self.engine.call_id(),
            "url": url,
            "message": format!("Sign in to `{}`.", placed.name),
        });
        let answer = self.elicit(placed, &Raw::from(params)).await;
        let action = answer.get("action").ok().flatten().and_then(|action| action.to_text());
        action.as_deref() == Some("accept")
    }

    /// Whether a sign-in that this caller begins would be its own. A sign-in that the local principal lends could
    /// otherwise be replaced by that of another.
    fn may_sign_in(&self, placed: &AppliedServer) -> bool {
        self.caller.session().principal.is_local() || !placed.lends_sign_in()
    }

    fn shows_pages(&self) -> bool {
        self.caller.declares_capability(&["elicitation", "url"])
    }
}
