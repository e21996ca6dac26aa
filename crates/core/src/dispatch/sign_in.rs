//! `authenticate`: begins to sign in to a server, and answers with the page at once. Whoever called it need not wait;
//! the connection notices by itself when somebody has been there.

use serde_json::json;
use switchboard_wire::http::{CredentialError, SignInPage};
use switchboard_wire::json::Raw;
use switchboard_wire::sanitize;
use tokio::time::timeout;

use super::builtin::outcome;
use super::{Outcome, Stage};
use crate::connection::State;
use crate::engine::Placed;

/// Calls it for a server.
pub(super) async fn call(stage: &Stage, placed: &Placed) -> Outcome {
    let server = &placed.name;
    let connection = &placed.connection;
    let challenges = match connection.state() {
        State::NeedsAuth(needs) => needs.challenges.clone(),
        _ => Vec::new(),
    };
    let Some(page) = connection.spec().credentials.sign_in_page() else {
        return failed(server, "there is no page to sign in on");
    };
    match open(stage, page, &challenges).await {
        Ok(url) => {
            stage.show(placed, &url).await;
            let text = format!(
                "To sign in to `{server}`, open this page in a browser:\n\n{url}\n\nIts tools are there as soon as that is done."
            );
            outcome(&json!({ "content": [{ "type": "text", "text": text }] }), Some(server.clone()))
        }
        Err(why) => failed(server, &why),
    }
}

async fn open(
    stage: &Stage,
    page: &dyn SignInPage,
    challenges: &[String],
) -> Result<String, String> {
    let after = stage.engine.connect_timeout();
    match timeout(after, page.open(challenges)).await {
        Ok(Ok(url)) => Ok(url),
        Ok(Err(CredentialError::SignIn(why))) => Err(why),
        Ok(Err(CredentialError::Failed(error))) => Err(error.to_string()),
        Err(_) => Err(format!("nobody answered within {} seconds", after.as_secs())),
    }
}

fn failed(server: &str, why: &str) -> Outcome {
    let why = sanitize::line(why);
    let text = format!("Nobody can sign in to `{server}` from here: {why}");
    let result = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
    outcome(&result, Some(server.to_owned()))
}

// === impl Stage ===

impl Stage {
    /// Shows the page to whoever called, if their client can show pages. Whatever they say to it, the text that follows
    /// names it too.
    async fn show(&self, placed: &Placed, url: &str) {
        if !self.caller.can(&["elicitation", "url"]) {
            return;
        }
        let params = json!({
            "mode": "url",
            "elicitationId": self.engine.call_id(),
            "url": url,
            "message": format!("Sign in to `{}`.", placed.name),
        });
        if let Ok(params) = Raw::of(&params) {
            self.elicit(placed, &params).await;
        }
    }
}
