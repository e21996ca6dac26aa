//! `authenticate`: begins to sign in to a server, and answers with the page at once. Whoever called it need not wait;
//! the connection notices by itself when somebody has been there.

use serde_json::json;
use switchboard_wire::json::Raw;

use super::builtin::outcome;
use super::{CallOutcome, Stage};
use crate::connection::SignInError;
use crate::engine::AppliedServer;

/// Calls it for a server.
pub(super) async fn call(stage: &Stage, placed: &AppliedServer) -> CallOutcome {
    let server = &placed.name;
    match placed.connection.sign_in().await {
        Ok(url) => {
            stage.show(placed, &url).await;
            let text = format!(
                "To sign in to `{server}`, open this page in a browser:\n\n{url}\n\nIts tools are there as soon as that is done."
            );
            outcome(&json!({ "content": [{ "type": "text", "text": text }] }), Some(server.clone()))
        }
        Err(error) => failed(server, &error),
    }
}

fn failed(server: &str, why: &SignInError) -> CallOutcome {
    let text = format!("Nobody can sign in to `{server}` from here: {why}");
    let result = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
    outcome(&result, Some(server.to_owned()))
}

// === impl Stage ===

impl Stage {
    /// Shows the page to whoever called, if their client can show pages. Whatever they say to it, the text that follows
    /// names it too.
    async fn show(&self, placed: &AppliedServer, url: &str) {
        if !self.caller.declares_capability(&["elicitation", "url"]) {
            return;
        }
        let params = json!({
            "mode": "url",
            "elicitationId": self.engine.call_id(),
            "url": url,
            "message": format!("Sign in to `{}`.", placed.name),
        });
        self.elicit(placed, &Raw::from(params)).await;
    }
}
