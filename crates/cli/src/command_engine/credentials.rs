//! Credentials of each server: the bearer of the connector catalog, the output of a headers helper, or a stored
//! sign-in.
//!
//! Used by `command_engine` and `served_workspace` when they create an engine; `commands::login` uses `signs_in` and
//! `pool_options`. It does not run sign-ins (`auth` does).

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use switchboard_auth::{
    HeadersHelper, HelperCommand, IdentityProviderClient, OAuthCredentials, SignIn, SignInStore,
    SignInTarget, UserPresence,
};
use switchboard_config::{
    ConfigWorkspace, DesiredServer, Entry, Remote, Scope, Transport, restricted_path,
};
use switchboard_core::connection;
use switchboard_core::engine::{CredentialSource, ProcessEnvironment};
use switchboard_process::ProcessGuard;
use switchboard_sources::ConnectorCredentials;
use switchboard_wire::http::{CredentialProvider, HttpError, HttpPoolOptions, NoCredentials};
use url::Url;

use crate::environment;
use crate::surroundings::Caller;

/// Every source of credentials there is.
pub(crate) struct CredentialSources {
    /// For what the catalogue itself names, where its token may go there, and for nothing else.
    catalogue: Option<Arc<ConnectorCredentials>>,
    store: Arc<dyn SignInStore>,
    guard: ProcessGuard,
    presence: UserPresence,
    /// Where the settings are that may name an identity provider, read when an entry needs it.
    workspace: ConfigWorkspace,
    /// What the helper of one gets.
    usual: Vec<(OsString, OsString)>,
    home: PathBuf,
}

// === impl Sources ===

impl CredentialSources {
    /// `presence` is who signs in when a server asks for it.
    pub(crate) fn new(caller: &Caller, guard: ProcessGuard, presence: UserPresence) -> Self {
        Self {
            catalogue: caller.catalogue.clone(),
            store: caller.sign_ins(),
            guard,
            presence,
            workspace: caller.workspace.clone(),
            usual: environment::baseline(caller.variables.iter().cloned()),
            home: caller.surroundings.home.clone(),
        }
    }

    /// The organisation's identity provider, if the user's settings or the administrator's name one, for a caller with
    /// this environment.
    pub(crate) fn identity_provider(
        &self,
        environment: &[(OsString, OsString)],
    ) -> Option<IdentityProviderClient> {
        let settings = self.workspace.desired().settings.xaa_idp?.value;
        let helper = settings.client_secret_helper.clone().map(|line| {
            let mut env = self.usual.clone();
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
        remote: &Remote,
        server: &DesiredServer,
        environment: &ProcessEnvironment,
    ) -> Arc<dyn CredentialProvider> {
        let asked = [
            ("SWITCHBOARD_MCP_SERVER_NAME", &server.name),
            ("SWITCHBOARD_MCP_SERVER_URL", &remote.url),
        ];
        let asked = asked.map(|(name, value)| (name.into(), value.into()));
        let usual = environment::baseline(environment.iter().cloned());
        let helper = HelperCommand {
            line: line.to_owned(),
            env: usual.into_iter().chain(asked).collect(),
            cwd: server.working_dir.clone(),
            guard: self.guard.clone(),
        };
        HeadersHelper(helper).into_credentials()
    }

    /// The catalogue's own credentials, for a server of the catalogue that may get them. People sign in to the others.
    fn catalogue_of(
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
        let is_its = |catalogue: &&Arc<ConnectorCredentials>| {
            server.scope == Scope::Connectors && catalogue.covers(&url)
        };
        self.catalogue.as_ref().filter(is_its).map(|catalogue| catalogue.clone() as Arc<_>)
    }

    /// Whatever somebody signed in to.
    fn signed_in(
        &self,
        subject: SignInTarget,
        network: HttpPoolOptions,
        environment: &ProcessEnvironment,
    ) -> (Arc<dyn CredentialProvider>, String) {
        let organisation = subject.oauth.xaa.filter(|xaa| *xaa);
        let organisation = organisation.and_then(|_| self.identity_provider(environment));
        let through =
            organisation.as_ref().map(IdentityProviderClient::store_key).unwrap_or_default();
        let key = format!("sign-in {} {through}", subject.store_key());
        let sign_in = SignIn::new(subject, self.store.clone(), network);
        let sign_in = sign_in.with_identity_provider(organisation);
        (Arc::new(OAuthCredentials::new(sign_in, self.presence.clone())), key)
    }
}

impl CredentialSource for CredentialSources {
    fn credentials(
        &self,
        server: &DesiredServer,
        entry: &Entry,
        environment: &ProcessEnvironment,
    ) -> (Arc<dyn CredentialProvider>, String) {
        if let Some(catalogue) = self.catalogue_of(server, entry) {
            return (catalogue, "catalogue".to_owned());
        }
        if let Some((remote, line)) = entry_helper(entry) {
            let helper = self.helper(line, remote, server, environment);
            return (helper, format!("helper of {}", server.name));
        }
        match signs_in(server, entry) {
            // A file that cannot be read fails the connection itself, and is told there.
            Some(subject) => {
                let usual = proxied_pool_options(environment);
                let network = pool_options(server, entry, &usual).unwrap_or(usual);
                self.signed_in(subject, network, environment)
            }
            None => (Arc::new(NoCredentials), String::new()),
        }
    }
}

/// The helper of an entry, and what it is for.
fn entry_helper(entry: &Entry) -> Option<(&Remote, &str)> {
    match &entry.transport {
        Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
            Some((remote, remote.headers_helper.as_deref()?))
        }
        _ => None,
    }
}

/// How the server of an entry is reached.
pub(crate) fn pool_options(
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

/// A server that people sign in to: one over HTTP whose entry brings no credentials of its own.
pub(crate) fn signs_in(server: &DesiredServer, entry: &Entry) -> Option<SignInTarget> {
    let (Transport::Http(remote) | Transport::Sse(remote)) = &entry.transport else { return None };
    let brings = remote.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
    if (brings && remote.oauth.is_none()) || remote.headers_helper.is_some() {
        return None;
    }
    let oauth = remote.oauth.clone().map(|oauth| oauth.with_files_in(&server.working_dir));
    Some(SignInTarget::new(&server.name, remote.url.parse().ok()?, oauth))
}
