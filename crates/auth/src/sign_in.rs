//! One sign-in to a server: from a challenge to an account in the store.
//!
//! Used by `switchboard login`, `logout` and `doctor auth`, and by `OAuthCredentials`. It does not choose
//! scopes (`scopes`), show pages (`flow`) or revoke tokens (`sign_out`).

use std::sync::Arc;

use switchboard_wire::http::HttpPoolOptions;
use url::Url;

use crate::account::{ClientRegistration, OAuthAccount, OAuthClient, SignInRecord};
use crate::assertion::AssertionSigner;
use crate::client_registration;
use crate::device::ShowUserCode;
use crate::dpop::DpopProver;
use crate::error::Error;
use crate::fetch::Fetcher;
use crate::flow::{self, CallbackListener, OpenSignInPage, ReturnAddress};
use crate::metadata::{
    AuthorizationServer, IssuerSource, ProtectedResource, discover_resource, discover_server,
};
use crate::network_zone::NetworkZone;
use crate::organisation::IdentityProviderClient;
use crate::scopes::{self, ScopeSources};
use crate::sign_in_requirement::SignInRequirement;
use crate::sign_in_target::SignInTarget;
use crate::store::{RecordLock, SignInStore, StoredRecord};
use crate::token::{IssuedToken, TokenEndpoint};

/// Signs in to one server.
#[derive(Clone)]
pub struct SignIn {
    subject: Arc<SignInTarget>,
    shelf: StoredRecord,
    network: Arc<HttpPoolOptions>,
    organisation: Option<IdentityProviderClient>,
}

/// How the user signs in.
#[derive(Clone, Copy)]
pub enum SignInMethod<'a> {
    /// On a page that is opened here and redirects back.
    Page(&'a dyn OpenSignInPage),
    /// With a code that the user types into a page on any machine.
    Code(&'a dyn ShowUserCode),
    /// For a machine without a browser: with a code if the server supports it, else by pasting the address
    /// back.
    CodeOrPage(&'a dyn ShowUserCode, &'a dyn OpenSignInPage),
}

/// The discovered metadata and choices for one sign-in.
pub(crate) struct AuthDiscovery {
    pub(crate) resource: Option<ProtectedResource>,
    pub(crate) server: AuthorizationServer,
    pub(crate) scopes: Vec<String>,
    pub(crate) fetcher: Fetcher,
    /// The DPoP key that the tokens will be bound to.
    prover: Option<DpopProver>,
}

// === impl SignIn ===

impl SignIn {
    /// A sign-in to `subject`, stored in `store`.
    pub fn new(
        subject: SignInTarget,
        store: Arc<dyn SignInStore>,
        network: HttpPoolOptions,
    ) -> Self {
        let shelf = StoredRecord::new(store, &subject.store_key());
        let (subject, network) = (Arc::new(subject), Arc::new(network));
        Self { subject, shelf, network, organisation: None }
    }

    /// Signs in through this identity provider if the entry has `oauth.xaa`, with the provider's sign-in of the same
    /// principal.
    #[must_use]
    pub fn with_identity_provider(mut self, organisation: Option<IdentityProviderClient>) -> Self {
        let organisation = organisation.filter(|_| self.subject.oauth.xaa == Some(true));
        let principal = self.subject.principal.as_deref();
        self.organisation = organisation.map(|provider| provider.for_principal(principal));
        self
    }

    /// The identity provider that it signs in through.
    pub fn identity_provider(&self) -> Option<&IdentityProviderClient> {
        self.organisation.as_ref()
    }

    /// The sign-in of a stored record, without its entry: enough to sign out. `None` if the record names no
    /// server.
    pub fn from_record(
        key: &str,
        record: &SignInRecord,
        store: Arc<dyn SignInStore>,
        network: HttpPoolOptions,
    ) -> Option<Self> {
        let mut subject = SignInTarget::new(&record.server, Url::parse(&record.url).ok()?, None);
        subject.principal.clone_from(&record.principal);
        let (subject, shelf) = (Arc::new(subject), StoredRecord::new(store, key));
        Some(Self { subject, shelf, network: Arc::new(network), organisation: None })
    }

    /// The server.
    pub fn target(&self) -> &SignInTarget {
        &self.subject
    }

    pub(crate) fn network(&self) -> &HttpPoolOptions {
        &self.network
    }

    pub(crate) fn stored_record(&self) -> &StoredRecord {
        &self.shelf
    }

    /// Signs in, by method `way` if the grant needs the user.
    pub async fn run_with(
        &self,
        demand: &SignInRequirement,
        way: SignInMethod<'_>,
    ) -> Result<OAuthAccount, Error> {
        let takes_a_person = self.needs_person();
        match way {
            SignInMethod::Page(visit) => self.run(demand, visit).await,
            SignInMethod::CodeOrPage(_, visit) if !takes_a_person => self.run(demand, visit).await,
            SignInMethod::Code(_) if !takes_a_person => self.run_unattended(demand).await,
            SignInMethod::Code(show) => {
                self.sign_in_by_code(demand, show).await?.ok_or(Error::NoCodes)
            }
            SignInMethod::CodeOrPage(show, visit) => {
                match self.sign_in_by_code(demand, show).await? {
                    Some(account) => Ok(account),
                    None => self.run(demand, visit).await,
                }
            }
        }
    }

    /// Signs in, on a page if the grant needs the user.
    pub async fn run(
        &self,
        demand: &SignInRequirement,
        visit: &dyn OpenSignInPage,
    ) -> Result<OAuthAccount, Error> {
        if !self.needs_person() {
            return self.run_attended(demand, visit).await;
        }
        let (mut record, _) = self.load_record().await?;
        let found = self.discover(demand, &record).await?;
        self.check_same_issuer(&record, &found)?;
        let (client, code, redirect) = self.visit(&found, &mut record, visit).await?;
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code.code.as_str()),
            ("redirect_uri", redirect.as_str()),
            ("code_verifier", code.verifier.as_str()),
        ];
        form.extend(found.resource_name().map(|resource| ("resource", resource)));
        let granted =
            found.token_endpoint(&client, self.signer()?.as_ref()).request_token(&form).await;
        if granted.as_ref().is_err_and(|error| error.is_refusal("invalid_client")) {
            self.forget_registration(&found).await?;
        }
        let granted = granted?;
        let lock = self.shelf.lock().await?;
        self.save_account(&lock, &found, client, granted, record).await
    }

    /// Requests a new token for the refresh token of `account`. The caller holds the lock and stores the
    /// result.
    pub(crate) async fn refresh(
        &self,
        account: &OAuthAccount,
        token: &str,
    ) -> Result<OAuthAccount, Error> {
        let fetcher = self.fetcher(account.server_zone)?;
        let signer = self.signer()?;
        let prover = account.key.as_ref().and_then(DpopProver::from_secret);
        let endpoint_client = TokenEndpoint {
            prover: prover.as_ref(),
            ..account.token_endpoint(&fetcher, signer.as_ref())
        };
        let mut form = vec![("grant_type", "refresh_token"), ("refresh_token", token)];
        form.extend(account.resource.as_deref().map(|resource| ("resource", resource)));
        let granted = endpoint_client.request_token(&form).await?;
        Ok(OAuthAccount {
            access: granted.access,
            // A refresh token that is not replaced stays valid.
            refresh: granted.refresh.or_else(|| account.refresh.clone()),
            expires_at: granted.expires_at,
            obtained_at: granted.obtained_at,
            key: granted.key,
            ..account.clone()
        })
    }

    /// Removes a client registration that the server has forgotten; the next sign-in registers again.
    pub(crate) async fn forget_registration(&self, found: &AuthDiscovery) -> Result<(), Error> {
        self.change(|record| drop(record.registrations.remove(&found.server.issuer))).await
    }

    /// Changes the stored record under its lock.
    pub(crate) async fn change(&self, change: impl FnOnce(&mut SignInRecord)) -> Result<(), Error> {
        let lock = self.shelf.lock().await?;
        self.change_locked(&lock, change).await
    }

    async fn change_locked(
        &self,
        _lock: &RecordLock,
        change: impl FnOnce(&mut SignInRecord),
    ) -> Result<(), Error> {
        let (mut record, _) = self.load_record().await?;
        change(&mut record);
        self.shelf.save(&record).await?;
        Ok(())
    }

    /// Loads the stored record. A record that cannot be opened, or a damaged key, is no error: the sign-in
    /// replaces it.
    pub(crate) async fn load_record(&self) -> Result<(SignInRecord, bool), Error> {
        // Fails before the user has been to the page rather than after.
        self.shelf.prepare().await?;
        let loaded = self.shelf.load().await;
        let is_lost = loaded.is_err();
        let mut record = loaded.map(|(record, _)| record).unwrap_or_default();
        record.server.clone_from(&self.subject.name);
        self.subject.url.as_str().clone_into(&mut record.url);
        record.principal.clone_from(&self.subject.principal);
        Ok((record, is_lost))
    }

    /// Returns a fetcher; `zone` is the network zone in which the server was last reached.
    pub(crate) fn fetcher(&self, zone: Option<NetworkZone>) -> Result<Fetcher, Error> {
        let configured = self.subject.oauth.auth_server_metadata_url.as_deref();
        let configured = configured.and_then(|url| Url::parse(url).ok());
        let chosen: Vec<&Url> = [&self.subject.url].into_iter().chain(&configured).collect();
        Fetcher::new(&chosen, zone, &self.network)
    }

    /// Fetches the protected resource metadata; `None` if the server publishes none.
    pub(crate) async fn fetch_resource(
        &self,
        demand: &SignInRequirement,
    ) -> Result<Option<ProtectedResource>, Error> {
        self.fetch_resource_with(demand, &self.fetcher(demand.zone())?).await
    }

    async fn fetch_resource_with(
        &self,
        demand: &SignInRequirement,
        fetcher: &Fetcher,
    ) -> Result<Option<ProtectedResource>, Error> {
        let named = demand.challenges.resource_metadata();
        discover_resource(&self.subject.url, named, fetcher).await
    }

    pub(crate) async fn discover(
        &self,
        demand: &SignInRequirement,
        record: &SignInRecord,
    ) -> Result<AuthDiscovery, Error> {
        let SignInTarget { url, oauth, .. } = &*self.subject;
        let fetcher = self.fetcher(demand.zone())?;
        let resource = self.fetch_resource_with(demand, &fetcher).await?;
        let which = match (&oauth.auth_server_metadata_url, &resource) {
            (Some(url), _) => IssuerSource::Configured(url),
            (None, Some(resource)) => {
                let first = resource.authorization_servers.first();
                IssuerSource::ResourceMetadata(first.ok_or(Error::NoAuthorizationServer)?)
            }
            (None, None) => IssuerSource::Beside(url),
        };
        let server = discover_server(which, &fetcher).await?;
        let scopes = scopes::choose_scopes(ScopeSources {
            configured: &oauth.scopes,
            wanted: &record.wanted_scopes(&server.issuer),
            challenges: &demand.challenges,
            supported: resource.as_ref().and_then(|resource| resource.scopes_supported.as_deref()),
            server: server.scopes_supported.as_deref().filter(|_| self.needs_person()),
        });
        let prover = match oauth.dpop {
            Some(true) => Some(DpopProver::new()?),
            None if needs_dpop(demand, resource.as_ref()) && server.supports_dpop() => {
                Some(DpopProver::new()?)
            }
            _ => None,
        };
        Ok(AuthDiscovery { resource, server, scopes, fetcher, prover })
    }

    /// Refuses a configured client at another authorization server than the one it was used with.
    pub(crate) fn check_same_issuer(
        &self,
        record: &SignInRecord,
        found: &AuthDiscovery,
    ) -> Result<(), Error> {
        let configured = self.subject.oauth.client_id.is_some();
        match record.account.as_ref().filter(|_| configured) {
            Some(account) if account.issuer != found.server.issuer => Err(Error::OtherIssuer {
                configured: account.issuer.clone(),
                issuer: found.server.issuer.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Opens the authorization page and returns the client, the code and the redirect URI.
    async fn visit(
        &self,
        found: &AuthDiscovery,
        record: &mut SignInRecord,
        visit: &dyn OpenSignInPage,
    ) -> Result<(OAuthClient, flow::AuthorizationCode, String), Error> {
        if !found.server.offers_pkce() {
            return Err(Error::NoPkce { issuer: found.server.issuer.clone() });
        }
        let (client, callback) = self.client_and_callback(found, record, visit.redirect()).await?;
        let request = flow::AuthorizationRequest {
            server: &found.server,
            client: &client,
            resource: found.resource_name(),
            scopes: &found.scopes,
            nonce: None,
            subject: &self.subject.name,
        };
        let code = flow::request_code(&request, &callback, visit, &found.fetcher).await?;
        Ok((client, code, callback.redirect()))
    }

    /// Returns the client and where its browsers come back to: the authorization server knows both together. That is the
    /// page `redirect` of this program, or a callback port that is listened on from now on.
    pub(crate) async fn client_and_callback(
        &self,
        found: &AuthDiscovery,
        record: &mut SignInRecord,
        redirect: Option<&str>,
    ) -> Result<(OAuthClient, ReturnAddress), Error> {
        if let Some(redirect) = redirect {
            return self.client_of_page(found, record, redirect).await;
        }
        let oauth = &self.subject.oauth;
        let port = oauth.callback_port.unwrap_or(0);
        if let Some(client) = client_registration::configured_client(oauth, &found.server) {
            return Ok((client, ReturnAddress::Port(CallbackListener::bind(port).await?)));
        }
        let issuer = &found.server.issuer;
        if let Some(registration) = record.registrations.get(issuer)
            && registration.page.is_none()
            && (port == 0 || port == registration.port)
            && let Ok(callback) = CallbackListener::bind(registration.port).await
        {
            return Ok((registration.client.clone(), ReturnAddress::Port(callback)));
        }
        // No registration yet, or another program uses the registered port.
        let callback = CallbackListener::bind(port).await?;
        let port = callback.port();
        let callback = ReturnAddress::Port(callback);
        let client = found.register(&callback.redirect()).await?;
        let registration = ClientRegistration { client: client.clone(), port, page: None };
        record.registrations.insert(issuer.clone(), registration);
        Ok((client, callback))
    }

    /// Returns the client whose browsers come back to a page of this program.
    async fn client_of_page(
        &self,
        found: &AuthDiscovery,
        record: &mut SignInRecord,
        page: &str,
    ) -> Result<(OAuthClient, ReturnAddress), Error> {
        let callback = ReturnAddress::Page(page.to_owned());
        if let Some(client) =
            client_registration::configured_client(&self.subject.oauth, &found.server)
        {
            return Ok((client, callback));
        }
        let issuer = &found.server.issuer;
        let known = record.registrations.get(issuer);
        if let Some(known) = known.filter(|known| known.page.as_deref() == Some(page)) {
            return Ok((known.client.clone(), callback));
        }
        let client = found.register(page).await?;
        let page = Some(page.to_owned());
        let registration = ClientRegistration { client: client.clone(), port: 0, page };
        record.registrations.insert(issuer.clone(), registration);
        Ok((client, callback))
    }

    pub(crate) fn signer(&self) -> Result<Option<AssertionSigner>, Error> {
        let oauth = &self.subject.oauth;
        let algorithm = oauth.signing_algorithm.as_deref();
        oauth
            .private_key_file
            .as_deref()
            .map(|path| AssertionSigner::from_file(path, algorithm))
            .transpose()
    }

    /// Stores the account; from then on it is current in every process.
    pub(crate) async fn save_account(
        &self,
        lock: &RecordLock,
        found: &AuthDiscovery,
        client: OAuthClient,
        granted: IssuedToken,
        learnt: SignInRecord,
    ) -> Result<OAuthAccount, Error> {
        let sign_in_id = self.sign_in_id(&learnt).await?;
        let before = learnt.account.as_ref().filter(|before| before.sign_in_id == sign_in_id);
        let account = OAuthAccount {
            issuer: found.server.issuer.clone(),
            token_endpoint: found.server.token_endpoint.clone(),
            revocation_endpoint: found.server.revocation_endpoint.clone(),
            client,
            resource: found.resource_name().map(str::to_owned),
            scopes: found.scopes.clone(),
            access: granted.access,
            expires_at: granted.expires_at,
            obtained_at: granted.obtained_at,
            signed_in_at: before.map_or(Some(granted.obtained_at), |before| before.signed_in_at),
            refresh: granted.refresh,
            key: granted.key,
            id_token: None,
            sign_in_id,
            server_zone: found.fetcher.first_zone(),
        };
        if account.key.is_none() && self.subject.oauth.dpop == Some(true) {
            return Err(Error::NotBound { issuer: account.issuer });
        }
        let kept = account.clone();
        self.change_locked(lock, |record| {
            record.registrations = learnt.registrations;
            record.account = Some(kept);
            record.extra_scopes = Vec::new();
            record.lost = None;
        })
        .await?;
        Ok(account)
    }
}

/// Whether the server wants DPoP tokens.
fn needs_dpop(demand: &SignInRequirement, resource: Option<&ProtectedResource>) -> bool {
    demand.challenges.accepts_dpop()
        || resource.is_some_and(|resource| resource.dpop_bound_access_tokens_required)
}

// === impl AuthDiscovery ===

impl AuthDiscovery {
    /// The token endpoint, for `client`.
    pub(crate) fn token_endpoint<'a>(
        &'a self,
        client: &'a OAuthClient,
        signer: Option<&'a AssertionSigner>,
    ) -> TokenEndpoint<'a> {
        let AuthorizationServer { issuer, token_endpoint, .. } = &self.server;
        let (fetcher, prover) = (&self.fetcher, self.prover.as_ref());
        TokenEndpoint { fetcher, issuer, endpoint: token_endpoint, client, signer, prover }
    }

    /// Registers a client whose browsers come back to `redirect`.
    async fn register(&self, redirect: &str) -> Result<OAuthClient, Error> {
        client_registration::register(&self.server, redirect, &self.scopes, &self.fetcher).await
    }

    pub(crate) fn resource_name(&self) -> Option<&str> {
        self.resource.as_ref().map(|resource| resource.name.as_str())
    }
}

// === impl OAuthAccount ===

impl OAuthAccount {
    pub(crate) fn token_endpoint<'a>(
        &'a self,
        fetcher: &'a Fetcher,
        signer: Option<&'a AssertionSigner>,
    ) -> TokenEndpoint<'a> {
        let Self { issuer, token_endpoint, client, .. } = self;
        TokenEndpoint { fetcher, issuer, endpoint: token_endpoint, client, signer, prover: None }
    }
}

// === impl SignInRecord ===

impl SignInRecord {
    /// The extra scopes for the next sign-in with `issuer`: the missing ones, and those requested before.
    fn wanted_scopes(&self, issuer: &str) -> Vec<String> {
        if self.extra_scopes.is_empty() {
            return Vec::new();
        }
        let mut wanted = self.extra_scopes.clone();
        if let Some(account) = self.account.as_ref().filter(|account| account.issuer == issuer) {
            scopes::add_missing_scopes(&mut wanted, &account.scopes);
        }
        wanted
    }
}
