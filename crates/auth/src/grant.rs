//! Signing in without anybody: a client for itself, a workload with a statement about it, or somebody whom the
//! organisation's identity provider knows.

use switchboard_config::Grant;

use crate::account::{Account, Client, Record};
use crate::demand::Demand;
use crate::error::{Error, Leg};
use crate::flow::Visit;
use crate::identity;
use crate::organisation::{IdentityProvider, Target};
use crate::secret::Secret;
use crate::sign_in::{Found, SignIn};
use crate::store::RecordLock;

const CLIENT: &str = "client_credentials";
const BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// How a token is had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Somebody signs in on a page.
    Person,
    /// The client itself is all there is.
    Client,
    /// Somebody else's statement about who we are.
    Statement,
    /// The identity provider's.
    Organisation,
}

// === impl SignIn ===

impl SignIn {
    fn way(&self) -> Way {
        let oauth = &self.subject().oauth;
        match oauth.grant {
            _ if oauth.xaa == Some(true) => Way::Organisation,
            Some(Grant::ClientCredentials) => Way::Client,
            Some(Grant::JwtBearer) => Way::Statement,
            Some(Grant::AuthorizationCode) | None => Way::Person,
        }
    }

    /// Whether somebody has to go to a page of this server's.
    pub(crate) fn takes_a_person(&self) -> bool {
        self.way() == Way::Person
    }

    /// Whether the identity provider's sign-in is what opens this server.
    pub(crate) fn goes_through_organisation(&self) -> bool {
        self.way() == Way::Organisation
    }

    /// Names the sign-in that a token belongs to which was asked for now, `before` being what was kept until then. A
    /// program that signs in as itself stays signed in from one token to the next.
    pub(crate) async fn sign_in_id(&self, before: &Record) -> Result<String, Error> {
        let of_organisation = match (self.way(), self.organisation()) {
            (Way::Organisation, Some(provider)) => provider.sign_in_id().await?,
            _ => None,
        };
        let before = before.account.as_ref().filter(|_| !self.takes_a_person());
        match of_organisation.or_else(|| before.map(|account| account.sign_in_id.clone())) {
            Some(id) => Ok(id),
            None => Account::new_sign_in_id(),
        }
    }

    /// Signs in, with somebody at hand who may be brought to the identity provider.
    pub(crate) async fn attended(
        &self,
        demand: &Demand,
        visit: &dyn Visit,
    ) -> Result<Account, Error> {
        match self.by_itself(demand).await {
            Err(error) if matches!(error.root(), Error::NobodyThere { .. }) => {
                self.provider()?.login(visit).await?;
                self.by_itself(demand).await
            }
            done => done,
        }
    }

    /// Signs in without anybody.
    pub(crate) async fn by_itself(&self, demand: &Demand) -> Result<Account, Error> {
        let lock = self.shelf().lock().await?;
        self.by_itself_locked(&lock, demand).await
    }

    /// Signs in without anybody, while no other task or process does.
    pub(crate) async fn by_itself_locked(
        &self,
        lock: &RecordLock,
        demand: &Demand,
    ) -> Result<Account, Error> {
        let signed_in = self.granted(lock, demand).await;
        match self.way() {
            Way::Organisation => {
                signed_in.map_err(|error| error.on(Leg::Server, self.subject().url.as_str()))
            }
            _ => signed_in,
        }
    }

    async fn granted(&self, lock: &RecordLock, demand: &Demand) -> Result<Account, Error> {
        let (record, _) = self.known().await?;
        let found = self.discover(demand, &record).await?;
        let client = identity::known(&self.subject().oauth, &found.server);
        let issuer = || found.server.issuer.clone();
        let client = client.ok_or_else(|| Error::NoIdentity { issuer: issuer() })?;
        let statement = self.statement(&found, &client).await?;
        let scope = found.scopes.join(" ");
        let mut form = match &statement {
            None => vec![("grant_type", CLIENT)],
            Some(text) => vec![("grant_type", BEARER), ("assertion", text.expose().as_str())],
        };
        form.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
        form.extend(found.resource().map(|resource| ("resource", resource)));
        let granted = found.desk(&client, self.signer()?.as_ref()).ask(&form).await;
        let granted = granted.map_err(|error| match self.way() {
            Way::Organisation => error.on(Leg::Grant, &found.server.token_endpoint),
            _ => error,
        })?;
        self.keep(lock, &found, client, granted, record).await
    }

    /// What the client presents besides itself.
    async fn statement(
        &self,
        found: &Found,
        client: &Client,
    ) -> Result<Option<Secret<String>>, Error> {
        match self.way() {
            Way::Person | Way::Client => Ok(None),
            Way::Statement => self.assertion(&client.id, &found.server.issuer).map(Some),
            Way::Organisation => {
                let target = Target {
                    audience: &found.server.issuer,
                    resource: found.resource().unwrap_or(self.subject().url.as_str()),
                    scopes: &found.scopes,
                };
                self.provider()?.grant(&target).await.map(Some)
            }
        }
    }

    /// A ready one, read anew each time since whoever writes it replaces it, or one that we sign ourselves.
    fn assertion(&self, client: &str, audience: &str) -> Result<Secret<String>, Error> {
        if let Some(path) = &self.subject().oauth.assertion_file {
            let read = std::fs::read_to_string(path);
            let text = read.map_err(|source| Error::File { path: path.clone(), source })?;
            return Ok(Secret::new(text.trim().to_owned()));
        }
        let signer = self.signer()?.ok_or(Error::NoAssertion)?;
        signer.client(client, audience).map(Secret::new)
    }

    fn provider(&self) -> Result<&IdentityProvider, Error> {
        self.organisation().ok_or(Error::NoIdentityProvider)
    }
}
