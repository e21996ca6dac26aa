//! Signing in to a server and out of it, by hand. What that means is the credentials' affair.

use std::time::Duration;

use switchboard_wire::http::{CredentialError, SignOutOutcome};
use switchboard_wire::sanitize;
use tokio::time::timeout;

use super::{Connection, ConnectionState};

/// How long signing out may take at least: a server that is not waited for long to connect may have to be told.
const MIN_SIGN_OUT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a connection may take to let go of a session.
const FOLLOW_TIMEOUT: Duration = Duration::from_secs(2);

/// Why nobody signed in or out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignInError {
    /// It is not signed in to on a page.
    #[error("there is no page to sign in on")]
    NoPage,
    /// What it is signed in with said no.
    #[error("{why}")]
    Failed {
        /// Why, in words for a person.
        why: String,
    },
    /// Nothing came of it in time.
    #[error("nobody answered within {} seconds", after.as_secs())]
    Silent {
        /// How long was waited.
        after: Duration,
    },
}

// === impl Connection ===

impl Connection {
    /// Begins to sign in, and gives the address of the page where somebody goes on. Once they are done the connection
    /// is made by itself.
    pub async fn sign_in(&self) -> Result<String, SignInError> {
        let challenges = match self.state() {
            ConnectionState::NeedsAuth(needs) => needs.challenges.clone(),
            _ => Vec::new(),
        };
        let page = self.spec().credentials.sign_in_page().ok_or(SignInError::NoPage)?;
        in_time(self.core.shared.timing.connect, page.open(&challenges)).await
    }

    /// Has the connection begin anew if a person has signed in or out since its session began, and waits until that
    /// shows. Whether it is so.
    pub async fn follow_sign_in(&self) -> bool {
        let Some(number) = self.outdated_attempt().await else { return false };
        let is_other = |state: &ConnectionState| match state {
            ConnectionState::Connected(live) => live.number > number,
            ConnectionState::NeedsAuth(needs) => needs.number > number,
            _ => true,
        };
        // A task that is busy for longer, or gone, has nothing to show yet.
        let _ = timeout(FOLLOW_TIMEOUT, self.watch().wait_for(is_other)).await;
        true
    }

    /// Signs out, and connects anew without what was signed in to.
    pub async fn sign_out(&self) -> Result<SignOutOutcome, SignInError> {
        let after = self.core.shared.timing.connect.max(MIN_SIGN_OUT_TIMEOUT);
        let ended = in_time(after, self.spec().credentials.sign_out()).await?;
        if ended != SignOutOutcome::Nobody {
            self.reconnect();
        }
        Ok(ended)
    }
}

async fn in_time<T>(
    after: Duration,
    work: impl Future<Output = Result<T, CredentialError>>,
) -> Result<T, SignInError> {
    let done = timeout(after, work).await.map_err(|_| SignInError::Silent { after })?;
    done.map_err(|error| {
        let why = match error {
            CredentialError::SignIn(why) => why,
            CredentialError::Failed(error) => error.to_string(),
        };
        SignInError::Failed { why: sanitize::sanitize_line(&why).into_owned() }
    })
}
