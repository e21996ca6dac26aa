//! What each server is reached with: the catalogue's bearer, what a helper prints, or what somebody signed in to.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use switchboard_auth::{
    HeadersHelper, Helper, IdentityProvider, Presence, Provider, SignIn, Store, Subject,
};
use switchboard_config::{Entry, Remote, Scope, Server, Transport, Workspace, narrowed_path};
use switchboard_core::connection;
use switchboard_core::engine::{CredentialSource, Environment};
use switchboard_process::Guard;
use switchboard_sources::CatalogueCredentials;
use switchboard_wire::http::{Credentials, HttpError, NoCredentials, PoolOptions};
use url::Url;

use crate::environment;
use crate::surroundings::Caller;

/// Every source of credentials there is.
pub(crate) struct Sources {
    /// For what the catalogue itself names, where its token may go there, and for nothing else.
    catalogue: Option<Arc<CatalogueCredentials>>,
    store: Arc<dyn Store>,
    guard: Guard,
    presence: Presence,
    /// Where the settings are that may name an identity provider, read when an entry needs it.
    workspace: Workspace,
    /// What the helper of one gets.
    usual: Vec<(OsString, OsString)>,
    home: PathBuf,
}

// === impl Sources ===

impl Sources {
    /// `presence` is who signs in when a server asks for it.
    pub(crate) fn new(caller: &Caller, guard: Guard, presence: Presence) -> Self {
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
    pub(crate) fn organisation(
        &self,
        environment: &[(OsString, OsString)],
    ) -> Option<IdentityProvider> {
        let settings = self.workspace.desired().settings.xaa_idp?.value;
        let helper = settings.client_secret_helper.clone().map(|line| {
            let mut env = self.usual.clone();
            env.extend(narrowed_path(&env, &self.home, self.workspace.root()));
            Helper { line, env, cwd: self.home.clone(), guard: self.guard.clone() }
        });
        Some(IdentityProvider::new(settings, helper, self.store.clone(), through(environment)))
    }

    fn helper(
        &self,
        line: &str,
        remote: &Remote,
        server: &Server,
        environment: &Environment,
    ) -> Arc<dyn Credentials> {
        let asked = [
            ("SWITCHBOARD_MCP_SERVER_NAME", &server.name),
            ("SWITCHBOARD_MCP_SERVER_URL", &remote.url),
        ];
        let asked = asked.map(|(name, value)| (name.into(), value.into()));
        let usual = environment::baseline(environment.iter().cloned());
        let helper = Helper {
            line: line.to_owned(),
            env: usual.into_iter().chain(asked).collect(),
            cwd: server.working_dir.clone(),
            guard: self.guard.clone(),
        };
        HeadersHelper(helper).into_credentials()
    }

    /// The catalogue's own credentials, for a server of the catalogue that may get them. People sign in to the others.
    fn catalogue_of(&self, server: &Server, entry: &Entry) -> Option<Arc<dyn Credentials>> {
        let (Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote)) =
            &entry.transport
        else {
            return None;
        };
        let url: Url = remote.url.parse().ok()?;
        let is_its = |catalogue: &&Arc<CatalogueCredentials>| {
            server.scope == Scope::Connectors && catalogue.covers(&url)
        };
        self.catalogue.as_ref().filter(is_its).map(|catalogue| catalogue.clone() as Arc<_>)
    }

    /// Whatever somebody signed in to.
    fn signed_in(
        &self,
        subject: Subject,
        network: PoolOptions,
        environment: &Environment,
    ) -> (Arc<dyn Credentials>, String) {
        let organisation = subject.oauth.xaa.filter(|xaa| *xaa);
        let organisation = organisation.and_then(|_| self.organisation(environment));
        let through = organisation.as_ref().map(IdentityProvider::key).unwrap_or_default();
        let key = format!("sign-in {} {through}", subject.key());
        let sign_in = SignIn::new(subject, self.store.clone(), network);
        let sign_in = sign_in.through(organisation);
        (Arc::new(Provider::new(sign_in, self.presence.clone())), key)
    }
}

impl CredentialSource for Sources {
    fn credentials(
        &self,
        server: &Server,
        entry: &Entry,
        environment: &Environment,
    ) -> (Arc<dyn Credentials>, String) {
        if let Some(catalogue) = self.catalogue_of(server, entry) {
            return (catalogue, "catalogue".to_owned());
        }
        if let Some((remote, line)) = helped(entry) {
            let helper = self.helper(line, remote, server, environment);
            return (helper, format!("helper of {}", server.name));
        }
        match signs_in(server, entry) {
            // A file that cannot be read fails the connection itself, and is told there.
            Some(subject) => {
                let usual = through(environment);
                let network = network(server, entry, &usual).unwrap_or(usual);
                self.signed_in(subject, network, environment)
            }
            None => (Arc::new(NoCredentials), String::new()),
        }
    }
}

/// The helper of an entry, and what it is for.
fn helped(entry: &Entry) -> Option<(&Remote, &str)> {
    match &entry.transport {
        Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
            Some((remote, remote.headers_helper.as_deref()?))
        }
        _ => None,
    }
}

/// How the server of an entry is reached.
pub(crate) fn network(
    server: &Server,
    entry: &Entry,
    usual: &PoolOptions,
) -> Result<PoolOptions, HttpError> {
    match &entry.transport {
        Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
            connection::network(remote, &server.working_dir, usual)
        }
        _ => Ok(usual.clone()),
    }
}

/// How servers are reached through the proxies that an environment names.
fn through(environment: &[(OsString, OsString)]) -> PoolOptions {
    PoolOptions { proxies: connection::proxies_of(environment), ..PoolOptions::default() }
}

/// A server that people sign in to: one over HTTP whose entry brings no credentials of its own.
pub(crate) fn signs_in(server: &Server, entry: &Entry) -> Option<Subject> {
    let (Transport::Http(remote) | Transport::Sse(remote)) = &entry.transport else { return None };
    let brings = remote.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
    if (brings && remote.oauth.is_none()) || remote.headers_helper.is_some() {
        return None;
    }
    let oauth = remote.oauth.clone().map(|oauth| oauth.with_files_in(&server.working_dir));
    Some(Subject::new(&server.name, remote.url.parse().ok()?, oauth))
}
