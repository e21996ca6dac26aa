//! The device authorization grant (RFC 8628): this machine shows a code, the user types it into a page on any
//! machine with a browser, and this machine polls the token endpoint until then.
//!
//! Used by `switchboard login` for machines without a browser, through `SignIn`. It does not print the code
//! ([`ShowUserCode`]).

use std::time::Duration;

use serde::Deserialize;
use switchboard_wire::sanitize;
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

use crate::account::{OAuthAccount, OAuthClient, SignInRecord};
use crate::client_registration;
use crate::error::Error;
use crate::sign_in::{AuthDiscovery, SignIn};
use crate::sign_in_requirement::SignInRequirement;
use crate::token::{IssuedToken, TokenEndpoint};

const REQUEST_NAME: &str = "a code to sign in with";
pub(crate) const DEVICE_CODE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// The poll interval if the server names none, and the step by which `slow_down` lengthens it.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(5);
/// The longest that we wait for a code, whatever lifetime the server names.
const MAX_CODE_LIFETIME: Duration = Duration::from_mins(30);

/// Shows the user a code and the page to type it into. This crate prints nothing.
pub trait ShowUserCode: Send + Sync {
    /// Shows the code. The sign-in polls meanwhile.
    fn show(&self, code: &UserCode);
}

/// A user code of the device authorization grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserCode {
    /// The code, sanitized for a terminal.
    pub code: String,
    /// The page to type the code into.
    pub page: Url,
    /// The page's URL with the code filled in.
    pub with_code: Option<Url>,
    /// How long the code is valid.
    pub lasts: Duration,
}

#[derive(Deserialize)]
struct DeviceAuthorizationResponse {
    device_code: String,
    user_code: String,
    verification_uri: String,
    #[serde(default)]
    verification_uri_complete: Option<String>,
    expires_in: u64,
    #[serde(default)]
    interval: Option<u64>,
}

// === impl SignIn ===

impl SignIn {
    /// Signs in with a user code. Returns `None` if the authorization server has no device authorization
    /// endpoint.
    pub(crate) async fn sign_in_by_code(
        &self,
        demand: &SignInRequirement,
        show: &dyn ShowUserCode,
    ) -> Result<Option<OAuthAccount>, Error> {
        let (mut record, _) = self.load_record().await?;
        let found = self.discover(demand, &record).await?;
        self.check_same_issuer(&record, &found)?;
        let Some(endpoint) = found.server.device_authorization_endpoint.clone() else {
            return Ok(None);
        };
        let client = self.client_of_device(&found, &mut record).await?;
        let granted = self.request_token_for_code(&found, &client, &endpoint, show).await;
        if granted.as_ref().is_err_and(is_unknown_client) {
            self.forget_registration(&found).await?;
        }
        let granted = granted?;
        let lock = self.stored_record().lock().await?;
        self.save_account(&lock, &found, client, granted, record).await.map(Some)
    }

    /// Returns a client; its redirect URI does not matter. Registering a new client binds a callback port all
    /// the same.
    async fn client_of_device(
        &self,
        found: &AuthDiscovery,
        record: &mut SignInRecord,
    ) -> Result<OAuthClient, Error> {
        if let Some(client) =
            client_registration::configured_client(&self.target().oauth, &found.server)
        {
            return Ok(client);
        }
        if let Some(known) = record.registrations.get(&found.server.issuer) {
            return Ok(known.client.clone());
        }
        Ok(self.client_and_callback(found, record, None).await?.0)
    }

    async fn request_token_for_code(
        &self,
        found: &AuthDiscovery,
        client: &OAuthClient,
        endpoint: &str,
        show: &dyn ShowUserCode,
    ) -> Result<IssuedToken, Error> {
        let signer = self.signer()?;
        let endpoint_client = found.token_endpoint(client, signer.as_ref());
        let scope = found.scopes.join(" ");
        let mut form = Vec::new();
        form.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
        form.extend(found.resource_name().map(|resource| ("resource", resource)));
        let reply = endpoint_client.send(REQUEST_NAME, endpoint, &form).await?;
        let answer: DeviceAuthorizationResponse =
            endpoint_client.read_reply(REQUEST_NAME, endpoint, &reply, &form)?;
        let code = answer.to_user_code(&endpoint_client)?;
        show.show(&code);
        let mut form =
            vec![("grant_type", DEVICE_CODE_GRANT), ("device_code", answer.device_code.as_str())];
        form.extend(found.resource_name().map(|resource| ("resource", resource)));
        let interval = answer.interval.map_or(DEFAULT_POLL_INTERVAL, Duration::from_secs);
        poll(interval, code.lasts, async || endpoint_client.request_token(&form).await).await
    }
}

/// Whether the server does not know the client, or not for the device authorization grant.
fn is_unknown_client(error: &Error) -> bool {
    error.is_refusal("invalid_client") || error.is_refusal("unauthorized_client")
}

// === impl DeviceAuthorizationResponse ===

impl DeviceAuthorizationResponse {
    fn to_user_code(&self, endpoint_client: &TokenEndpoint<'_>) -> Result<UserCode, Error> {
        let page =
            |text: &str| endpoint_client.fetcher.check_url("the page to type the code into", text);
        let with_code = self.verification_uri_complete.as_deref().map(page).transpose()?;
        Ok(UserCode {
            code: sanitize::sanitize_line(&self.user_code).into_owned(),
            page: page(&self.verification_uri)?,
            with_code,
            lasts: Duration::from_secs(self.expires_in).min(MAX_CODE_LIFETIME),
        })
    }
}

/// Polls until the server answers, at the server's interval and no longer than the code is valid.
async fn poll<T>(
    mut interval: Duration,
    lasts: Duration,
    mut ask: impl AsyncFnMut() -> Result<T, Error>,
) -> Result<T, Error> {
    let end = Instant::now() + lasts;
    let asking = async {
        loop {
            sleep(interval).await;
            match ask().await {
                Err(error) if error.is_refusal("authorization_pending") => {}
                // A failing network lengthens the interval too, as RFC 8628 asks.
                Err(error) if error.is_transient() => interval += DEFAULT_POLL_INTERVAL,
                ended => return ended,
            }
        }
    };
    let minutes = lasts.as_secs().div_ceil(60);
    timeout_at(end, asking).await.unwrap_or(Err(Error::Abandoned { minutes }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn refused(word: &str) -> Error {
        Error::Refused { what: REQUEST_NAME, error: word.to_owned(), description: None }
    }

    /// The seconds at which `poll` asks, when it gets `answers` one after the other and then a token.
    async fn check(answers: &[&str], lasts: u64) -> (Vec<u64>, Result<(), Error>) {
        let (began, mut asked) = (Instant::now(), Vec::new());
        let mut answers = answers.iter();
        let polled = poll(Duration::from_secs(2), Duration::from_secs(lasts), async || {
            asked.push(began.elapsed().as_secs());
            answers.next().map_or(Ok(()), |word| Err(refused(word)))
        });
        let polled = polled.await;
        (asked, polled)
    }

    #[tokio::test(start_paused = true)]
    async fn at_the_servers_pace_and_not_beyond_the_end() {
        let pending = "authorization_pending";
        let (asked, ended) = check(&[pending, pending], 60).await;
        assert_eq!(asked, [2, 4, 6]);
        ended.unwrap();
        let (asked, ended) = check(&[pending, "slow_down", pending], 60).await;
        assert_eq!(asked, [2, 4, 11, 18]);
        ended.unwrap();
        let (asked, ended) = check(&[pending, "access_denied"], 60).await;
        assert_eq!(asked, [2, 4]);
        assert!(ended.unwrap_err().is_refusal("access_denied"));
        let (asked, ended) = check(&[pending; 100], 7).await;
        assert_eq!(asked, [2, 4, 6]);
        assert!(matches!(ended, Err(Error::Abandoned { minutes: 1 })));
    }
}
