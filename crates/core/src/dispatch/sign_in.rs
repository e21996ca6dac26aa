//! The `authenticate` tool: begins a sign-in to a server, and answers at once with the address of the page.
//!
//! Used by `dispatch::tool`. The caller need not wait: the connection notices the finished sign-in. The sign-in
//! itself is in `connection::sign_in`.

use serde_json::json;
use switchboard_wire::json::Raw;

use super::builtin::outcome;
use super::{CallOutcome, Stage};
use crate::connection::SignInError;
use crate::engine::AppliedServer;

/// Calls the tool for a server.
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
    /// Shows the page in the caller's client, if the client can show pages. The text of the result names the page
    /// in any case.
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
        if let Ok(params) = Raw::from_value(&params) {
            self.elicit(placed, &params).await;
        }
    }
}
