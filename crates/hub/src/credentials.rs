//! Credentials for each server: the token of the connector catalog, the headers of a helper, or a sign-in. Other
//! principals than the local one get their own sign-in only, to which a link of the hub leads them.
//!
//! Used by the engine, which asks [`CredentialSources`] for every connection, and by the commands that sign in, which
//! share its choice of servers. It does not print anything or open a page.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use switchboard_auth::{
    HeadersHelper, HelperCommand, IdentityProviderClient, OAuthCredentials, SignIn, SignInStore,
    SignInTarget, UserPresence,
};
use switchboard_config::{
    ConfigWorkspace, DesiredServer, Entry, EntryCredential, RemoteTransport, Scope, Transport,
    baseline_environment, restricted_path,
};
use switchboard_core::connection;
use switchboard_core::engine::{CredentialSource, ProcessEnvironment};
use switchboard_core::principal::LOCAL_PRINCIPAL;
use switchboard_process::ProcessGuard;
use switchboard_sources::ConnectorCredentials;
use switchboard_wire::http::{CredentialProvider, HttpError, HttpPoolOptions, NoCredentials};
use url::Url;

use crate::ProgramContext;
use crate::access::sign_in_links::SignInLinkTable;

/// Every source of credentials there is.
pub struct CredentialSources {
    /// For servers of the connector catalog, where its token may go there, and for no other.
    connectors: Option<Arc<ConnectorCredentials>>,
    store: Arc<dyn SignInStore>,
    guard: ProcessGuard,
    presence: UserPresence,
    /// The links by which principals other than the local one sign in.
    links: SignInLinkTable,
    /// The settings that may name an identity provider, read when an entry needs it.
    workspace: ConfigWorkspace,
    /// The environment of a provider's helper.
    helper_environment: Vec<(OsString, OsString)>,
    home: PathBuf,
}

// === impl CredentialSources ===

impl CredentialSources {
    /// The sources of `program`; `presence` says whether a person is there to sign in.
    pub fn new(program: &ProgramContext, guard: ProcessGuard, presence: UserPresence) -> Self {
        Self {
            connectors: program.connector_credentials.clone(),
            store: Arc::clone(&program.sign_ins),
            guard,
            presence,
            links: program.sign_in_links.clone(),
            workspace: ConfigWorkspace::new(program.host.clone(), program.resolve.clone()),
            helper_environment: baseline_environment(program.variables.iter().cloned()),
            home: program.host.home.clone(),
        }
    }

    /// The organisation's identity provider, if the user's settings or the administrator's name one, for a caller with
    /// this environment.
    pub fn identity_provider(
        &self,
        environment: &[(OsString, OsString)],
    ) -> Option<IdentityProviderClient> {
        let settings = self.workspace.desired().settings.xaa_idp?.value;
        let helper = settings.client_secret_helper.clone().map(|line| {
            let mut env = self.helper_environment.clone();
            env.extend(restricted_path(&env, &self.home, self.workspace.root()));
            HelperCommand { line, env, cwd: self.home.clone(), guard: self.guard.clone() }
        });
        Some(IdentityProviderClient::new(
            settings,
            helper,
            self.store.clone(),
            proxied_pool_options(environment),
        ))
    }

    fn helper(
        &self,
        line: &str,
        remote: &RemoteTransport,
        server: &DesiredServer,
        environment: &ProcessEnvironment,
    ) -> Arc<dyn CredentialProvider> {
        let subject = [
            ("SWITCHBOARD_MCP_SERVER_NAME", &server.name),
            ("SWITCHBOARD_MCP_SERVER_URL", &remote.url),
        ];
        let subject = subject.map(|(name, value)| (name.into(), value.into()));
        let baseline = baseline_environment(environment.iter().cloned());
        let helper = HelperCommand {
            line: line.to_owned(),
            env: baseline.into_iter().chain(subject).collect(),
            cwd: server.working_dir.clone(),
            guard: self.guard.clone(),
        };
        HeadersHelper(helper).into_credentials()
    }

    /// The credentials of the connector catalog, for a server of the catalog that may get them; `None` for other
    /// servers, which people sign in to.
    fn connector_credentials(
        &self,
        server: &DesiredServer,
        entry: &Entry,
    ) -> Option<Arc<dyn CredentialProvider>> {
        let (Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote)) =
            &entry.transport
        else {
            return None;
        };
        let url: Url = remote.url.parse().ok()?;
        let may_go = |connectors: &&Arc<ConnectorCredentials>| {
            server.scope == Scope::Connectors && connectors.covers(&url)
        };
        self.connectors.as_ref().filter(may_go).map(|connectors| connectors.clone() as Arc<_>)
    }

    /// The user's sign-in to a server, and the key that identifies the sign-in.
    fn sign_in_credentials(
        &self,
        subject: SignInTarget,
        network: HttpPoolOptions,
        environment: &ProcessEnvironment,
    ) -> (Arc<dyn CredentialProvider>, String) {
        let sign_in = self.sign_in(subject, network, environment);
        let key = sign_in_key(&sign_in);
        (Arc::new(OAuthCredentials::new(sign_in, self.presence.clone())), key)
    }

    /// A sign-in to a server, through the organisation's identity provider if the entry says so.
    fn sign_in(
        &self,
        subject: SignInTarget,
        network: HttpPoolOptions,
        environment: &ProcessEnvironment,
    ) -> SignIn {
        let organisation = subject.oauth.xaa.filter(|xaa| *xaa);
        let organisation = organisation.and_then(|_| self.identity_provider(environment));
        let sign_in = SignIn::new(subject, self.store.clone(), network);
        sign_in.with_identity_provider(organisation)
    }
}

impl CredentialSources {
    /// The sign-in of a principal other than the local one: its own records in the store, and nothing else. One is of the
    /// server, one of the organisation's identity provider where that opens the server.
    fn guest_credentials(
        &self,
        principal: &str,
        server: &DesiredServer,
        entry: &Entry,
        environment: &ProcessEnvironment,
    ) -> (Arc<dyn CredentialProvider>, String) {
        let target = match server.credential() {
            EntryCredential::SignIn => sign_in_target(server, entry),
            EntryCredential::None | EntryCredential::InEntry(_) => None,
        };
        let Some(target) = target.map(|target| target.for_principal(principal)) else {
            return (Arc::new(NoCredentials), format!("none of {principal}"));
        };
        let network = server_pool_options(server, entry, environment);
        let sign_in = self.sign_in(target, network, environment);
        let key = format!("{} of {principal}", sign_in_key(&sign_in));
        let presence = UserPresence::Elsewhere(Arc::new(self.links.clone()));
        (Arc::new(OAuthCredentials::new(sign_in, presence)), key)
    }
}

impl CredentialSource for CredentialSources {
    fn credentials(
        &self,
        principal: &str,
        server: &DesiredServer,
        entry: &Entry,
        environment: &ProcessEnvironment,
    ) -> (Arc<dyn CredentialProvider>, String) {
        if principal != LOCAL_PRINCIPAL {
            return self.guest_credentials(principal, server, entry, environment);
        }
        if let Some(connectors) = self.connector_credentials(server, entry) {
            return (connectors, "catalogue".to_owned());
        }
        if let Some((remote, line)) = entry_helper(entry) {
            let helper = self.helper(line, remote, server, environment);
            return (helper, format!("helper of {}", server.name));
        }
        match sign_in_target(server, entry) {
            Some(subject) => {
                let network = server_pool_options(server, entry, environment);
                self.sign_in_credentials(subject, network, environment)
            }
            None => (Arc::new(NoCredentials), String::new()),
        }
    }
}

/// The key that identifies a sign-in, and the identity provider that it goes through.
fn sign_in_key(sign_in: &SignIn) -> String {
    let through = sign_in.identity_provider().map(IdentityProviderClient::store_key);
    format!("sign-in {} {}", sign_in.target().store_key(), through.unwrap_or_default())
}

/// How the server of an entry is reached from this environment. A file that cannot be read fails the connection, which
/// reports it.
fn server_pool_options(
    server: &DesiredServer,
    entry: &Entry,
    environment: &ProcessEnvironment,
) -> HttpPoolOptions {
    let usual = proxied_pool_options(environment);
    pool_options(server, entry, &usual).unwrap_or(usual)
}

/// The remote server of an entry and its `headers_helper`, if it has one.
fn entry_helper(entry: &Entry) -> Option<(&RemoteTransport, &str)> {
    match &entry.transport {
        Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
            Some((remote, remote.headers_helper.as_deref()?))
        }
        _ => None,
    }
}

/// How the server of an entry is reached.
pub fn pool_options(
    server: &DesiredServer,
    entry: &Entry,
    usual: &HttpPoolOptions,
) -> Result<HttpPoolOptions, HttpError> {
    match &entry.transport {
        Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
            connection::entry_pool_options(remote, &server.working_dir, usual)
        }
        _ => Ok(usual.clone()),
    }
}

/// How servers are reached through the proxies that an environment names.
fn proxied_pool_options(environment: &[(OsString, OsString)]) -> HttpPoolOptions {
    HttpPoolOptions {
        proxies: connection::proxies_from_environment(environment),
        ..HttpPoolOptions::default()
    }
}

/// The target of a sign-in: a server over HTTP whose entry brings no credentials of its own.
pub fn sign_in_target(server: &DesiredServer, entry: &Entry) -> Option<SignInTarget> {
    let (Transport::Http(remote) | Transport::Sse(remote)) = &entry.transport else { return None };
    let brings = remote.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
    if (brings && remote.oauth.is_none()) || remote.headers_helper.is_some() {
        return None;
    }
    let oauth = remote.oauth.clone().map(|oauth| oauth.with_files_in(&server.working_dir));
    Some(SignInTarget::new(&server.name, remote.url.parse().ok()?, oauth))
}
