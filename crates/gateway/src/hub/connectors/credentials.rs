//! What the servers of a catalogue are reached with: its bearer, and a name for this client's session.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard_config::{Asked, Surroundings, resolve};
use switchboard_wire::http::{Challenge, CredentialError, Credentials, Outgoing, Verdict};
use switchboard_wire::process::Guard;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::error::Error;
use super::helper::Helper;
use super::wanted::{Wanted, wanted_source};
use crate::hub::options::Options;

const SESSION: HeaderName = HeaderName::from_static("x-mcp-client-session-id");

/// Credentials for the servers of the catalogue that the settings name. The token helper runs when they are asked for
/// first, and once more when a server refuses what it printed.
pub fn catalogue_credentials(
    surroundings: &Surroundings,
    asked: &Asked,
    options: &Options,
) -> Option<Arc<dyn Credentials>> {
    let desired = resolve(surroundings, asked);
    let source = wanted_source(&desired, asked)?;
    let wanted = Wanted::new(&source.value, surroundings, &desired.settings.env);
    Some(Arc::new(Bearer {
        helper: wanted.helper,
        guard: options.guard.clone(),
        deadline: options.timing.helper,
        session: session(),
        token: Mutex::default(),
    }))
}

/// The catalogue's bearer. Has no `Debug`: the helper's environment may hold secrets.
struct Bearer {
    helper: Option<Helper>,
    guard: Guard,
    deadline: Duration,
    session: HeaderValue,
    /// Waited for by all who need it, so that the helper runs once for them.
    token: Mutex<Option<HeaderValue>>,
}

// === impl Bearer ===

impl Bearer {
    async fn current(&self) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        headers.insert(SESSION, self.session.clone());
        if let Some(helper) = &self.helper {
            let mut token = self.token.lock().await;
            if token.is_none() {
                *token = Some(self.print(helper).await?);
            }
            headers.extend(token.clone().map(|token| (AUTHORIZATION, token)));
        }
        Ok(headers)
    }

    async fn print(&self, helper: &Helper) -> Result<HeaderValue, Error> {
        helper.authorization(&self.guard, self.deadline, &CancellationToken::new()).await
    }

    /// A new token in the place of the refused one.
    async fn renewed(&self, refused: Option<&HeaderValue>) -> Verdict {
        let give_up = || Verdict::SignIn { reason: "the catalogue's token is refused".into() };
        let Some(helper) = &self.helper else { return give_up() };
        let mut token = self.token.lock().await;
        if token.as_ref() != refused {
            return Verdict::Retry; // Somebody else renewed it.
        }
        match self.print(helper).await {
            Ok(printed) if Some(&printed) != refused => {
                *token = Some(printed);
                Verdict::Retry
            }
            Ok(_) => give_up(),
            Err(error) => Verdict::SignIn { reason: error.to_string() },
        }
    }
}

impl Credentials for Bearer {
    fn headers<'a>(&'a self, _: Outgoing<'a>) -> BoxFuture<'a, Result<HeaderMap, CredentialError>> {
        Box::pin(async {
            self.current().await.map_err(|error| CredentialError::Failed(Box::new(error)))
        })
    }

    fn challenged<'a>(&'a self, challenge: &'a Challenge) -> BoxFuture<'a, Verdict> {
        Box::pin(self.renewed(challenge.sent.get(AUTHORIZATION)))
    }
}

/// A name that no other session has.
fn session() -> HeaderValue {
    let random = || RandomState::new().build_hasher().finish();
    let name = format!("{:016x}{:016x}", random(), random());
    HeaderValue::try_from(name).unwrap_or(HeaderValue::from_static("switchboard"))
}
