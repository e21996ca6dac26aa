//! Signing in without a sign-in page: the client credentials grant, the JWT bearer grant, and the grant of
//! the organisation's identity provider.
//!
//! Used by `sign_in` and `oauth_credentials` for entries with `oauth.grant` or `oauth.xaa`. It does not open
//! a page of the server; `SignIn::run_attended` may open one of the identity provider.

use switchboard_config::OAuthGrant;

use crate::account::{OAuthAccount, OAuthClient, SignInRecord};
use crate::client_registration;
use crate::error::{Error, IdentityProviderStep};
use crate::flow::OpenSignInPage;
use crate::organisation::{GrantTarget, IdentityProviderClient};
use crate::secret::Secret;
use crate::sign_in::{AuthDiscovery, SignIn};
use crate::sign_in_requirement::SignInRequirement;
use crate::store::RecordLock;

const CLIENT_CREDENTIALS_GRANT: &str = "client_credentials";
const JWT_BEARER_GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The ways to get a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GrantMethod {
    /// The user signs in on a page.
    Person,
    /// The client's own credentials (`client_credentials`).
    Client,
    /// An assertion from a file or signed by us (`jwt-bearer`).
    Statement,
    /// A grant of the identity provider (`jwt-bearer`).
    Organisation,
}

// === impl SignIn ===

impl SignIn {
    fn grant_method(&self) -> GrantMethod {
        let oauth = &self.target().oauth;
        match oauth.grant {
            _ if oauth.xaa == Some(true) => GrantMethod::Organisation,
            Some(OAuthGrant::ClientCredentials) => GrantMethod::Client,
            Some(OAuthGrant::JwtBearer) => GrantMethod::Statement,
            Some(OAuthGrant::AuthorizationCode) | None => GrantMethod::Person,
        }
    }

    /// Whether the user has to sign in on a page of this server's authorization server.
    pub(crate) fn needs_person(&self) -> bool {
        self.grant_method() == GrantMethod::Person
    }

    /// Whether a sign-in to the identity provider opens this server.
    pub(crate) fn uses_identity_provider(&self) -> bool {
        self.grant_method() == GrantMethod::Organisation
    }

    /// The sign-in id for a token requested now; `before` is the stored record. A program that signs in as
    /// itself keeps its id from one token to the next.
    pub(crate) async fn sign_in_id(&self, before: &SignInRecord) -> Result<String, Error> {
        let of_organisation = match (self.grant_method(), self.identity_provider()) {
            (GrantMethod::Organisation, Some(provider)) => provider.sign_in_id().await?,
            _ => None,
        };
        let before = before.account.as_ref().filter(|_| !self.needs_person());
        match of_organisation.or_else(|| before.map(|account| account.sign_in_id.clone())) {
            Some(id) => Ok(id),
            None => OAuthAccount::new_sign_in_id(),
        }
    }

    /// Signs in, and opens the identity provider's page if the user is not signed in there.
    pub(crate) async fn run_attended(
        &self,
        demand: &SignInRequirement,
        visit: &dyn OpenSignInPage,
    ) -> Result<OAuthAccount, Error> {
        match self.run_unattended(demand).await {
            Err(error) if matches!(error.root_cause(), Error::NotSignedIn { .. }) => {
                self.require_identity_provider()?.login(visit).await?;
                self.run_unattended(demand).await
            }
            done => done,
        }
    }

    /// Signs in without the user.
    pub(crate) async fn run_unattended(
        &self,
        demand: &SignInRequirement,
    ) -> Result<OAuthAccount, Error> {
        let lock = self.stored_record().lock().await?;
        self.run_unattended_locked(&lock, demand).await
    }

    /// Signs in without the user, under the record's lock, so that no other task or process signs in
    /// meanwhile.
    pub(crate) async fn run_unattended_locked(
        &self,
        lock: &RecordLock,
        demand: &SignInRequirement,
    ) -> Result<OAuthAccount, Error> {
        let signed_in = self.request_account(lock, demand).await;
        match self.grant_method() {
            GrantMethod::Organisation => signed_in.map_err(|error| {
                error.at_step(IdentityProviderStep::Server, self.target().url.as_str())
            }),
            _ => signed_in,
        }
    }

    async fn request_account(
        &self,
        lock: &RecordLock,
        demand: &SignInRequirement,
    ) -> Result<OAuthAccount, Error> {
        let (record, _) = self.load_record().await?;
        let found = self.discover(demand, &record).await?;
        let client = client_registration::configured_client(&self.target().oauth, &found.server);
        let issuer = || found.server.issuer.clone();
        let client = client.ok_or_else(|| Error::NoIdentity { issuer: issuer() })?;
        let statement = self.statement(&found, &client).await?;
        let scope = found.scopes.join(" ");
        let mut form = match &statement {
            None => vec![("grant_type", CLIENT_CREDENTIALS_GRANT)],
            Some(text) => {
                vec![("grant_type", JWT_BEARER_GRANT), ("assertion", text.expose().as_str())]
            }
        };
        form.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
        form.extend(found.resource_name().map(|resource| ("resource", resource)));
        let granted =
            found.token_endpoint(&client, self.signer()?.as_ref()).request_token(&form).await;
        let granted = granted.map_err(|error| match self.grant_method() {
            GrantMethod::Organisation => {
                error.at_step(IdentityProviderStep::Grant, &found.server.token_endpoint)
            }
            _ => error,
        })?;
        self.save_account(lock, &found, client, granted, record).await
    }

    /// The assertion that the client presents, if its grant needs one.
    async fn statement(
        &self,
        found: &AuthDiscovery,
        client: &OAuthClient,
    ) -> Result<Option<Secret<String>>, Error> {
        match self.grant_method() {
            GrantMethod::Person | GrantMethod::Client => Ok(None),
            GrantMethod::Statement => self.assertion(&client.id, &found.server.issuer).map(Some),
            GrantMethod::Organisation => {
                let target = GrantTarget {
                    audience: &found.server.issuer,
                    resource: found.resource_name().unwrap_or(self.target().url.as_str()),
                    scopes: &found.scopes,
                };
                self.require_identity_provider()?.grant(&target).await.map(Some)
            }
        }
    }

    /// Returns the assertion from the configured file, read again each time because its writer replaces it,
    /// or signs one.
    fn assertion(&self, client: &str, audience: &str) -> Result<Secret<String>, Error> {
        if let Some(path) = &self.target().oauth.assertion_file {
            let read = std::fs::read_to_string(path);
            let text = read.map_err(|source| Error::File { path: path.clone(), source })?;
            return Ok(Secret::new(text.trim().to_owned()));
        }
        let signer = self.signer()?.ok_or(Error::NoAssertion)?;
        signer.sign_client_assertion(client, audience).map(Secret::new)
    }

    fn require_identity_provider(&self) -> Result<&IdentityProviderClient, Error> {
        self.identity_provider().ok_or(Error::NoIdentityProvider)
    }
}
