//! Signing in to and out of a connection's server, on a person's request.
//!
//! Used by `engine::operate` and `dispatch::sign_in`. The steps of a sign-in are in the connection's credentials
//! (`auth`).

use std::time::Duration;

use switchboard_wire::http::{CredentialError, SignInInfo, SignOutOutcome};
use switchboard_wire::sanitize;
use tokio::time::timeout;

use super::{Connection, ConnectionState};

/// The minimum timeout of a sign-out, which may have to reach the authorization server.
const MIN_SIGN_OUT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a connection may take to end its session.
const FOLLOW_TIMEOUT: Duration = Duration::from_secs(2);

/// Why a sign-in or sign-out failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignInError {
    /// The server has no sign-in page.
    #[error("there is no page to sign in on")]
    NoPage,
    /// The server is reached with the sign-in of the person who runs the engine, which others may use and not change.
    #[error("the person who runs this switchboard lends its own sign-in, and has to sign in")]
    Lent,
    /// The credentials refused.
    #[error("{why}")]
    Failed {
        /// The reason, for a person.
        why: String,
    },
    /// The sign-in took too long.
    #[error("the sign-in was not completed within {} seconds", after.as_secs())]
    Silent {
        /// The timeout.
        after: Duration,
    },
}

// === impl Connection ===

impl Connection {
    /// Begins a sign-in, and returns the address of the page where a person goes on. After that the connection is
    /// made automatically.
    pub async fn sign_in(&self) -> Result<String, SignInError> {
        let challenges = match self.state() {
            ConnectionState::NeedsAuth(needs) => needs.challenges.clone(),
            _ => Vec::new(),
        };
        let page = self.spec().credentials.sign_in_page().ok_or(SignInError::NoPage)?;
        in_time(self.core.shared.timing.connect, page.open(&challenges)).await
    }

    /// Waits until the sign-in that is under way has ended. The error says why no one signed in.
    pub(crate) async fn sign_in_ended(&self) -> Result<(), SignInError> {
        let page = self.spec().credentials.sign_in_page().ok_or(SignInError::NoPage)?;
        page.ended().await.map_err(to_sign_in_error)
    }

    /// Reconnects if a person has signed in or out since the session began, and waits until the state shows it.
    /// Returns whether it did.
    pub async fn follow_sign_in(&self) -> bool {
        let Some(number) = self.outdated_attempt().await else { return false };
        let is_other = |state: &ConnectionState| match state {
            ConnectionState::Connected(live) => live.number > number,
            ConnectionState::NeedsAuth(needs) => needs.number > number,
            ConnectionState::Idle(_) => false,
            _ => true,
        };
        // A task that is busy for longer, or gone, has no new state yet.
        let _ = timeout(FOLLOW_TIMEOUT, self.watch().wait_for(is_other)).await;
        true
    }

    /// The stored sign-in, if there is one.
    pub async fn sign_in_info(&self) -> Option<SignInInfo> {
        self.spec().credentials.sign_in_info().await
    }

    /// Signs out, and reconnects without the credential.
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
    done.map_err(to_sign_in_error)
}

fn to_sign_in_error(error: CredentialError) -> SignInError {
    let why = match error {
        CredentialError::SignIn(why) => why,
        CredentialError::Failed(error) => error.to_string(),
    };
    SignInError::Failed { why: sanitize::sanitize_line(&why).into_owned() }
}
