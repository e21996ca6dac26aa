//! The steps, one after the other. Each adds what it found; one that leads nowhere ends the walk.

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method};
use switchboard_wire::http::{Endpoint, EndpointOptions, HttpError, Pool};
use switchboard_wire::sanitize;

use super::redact::redact_line;
use super::{Finding, Hop, Step};
use crate::account::{Account, Record};
use crate::challenge::Challenges;
use crate::demand::{Demand, QUESTION};
use crate::dpop::{self, Proven, Prover};
use crate::error::Error;
use crate::headers::authorization;
use crate::identity;
use crate::sign_in::{Found, SignIn};
use crate::store::{KeyPlace, StoreError};
use crate::token::now;

/// The steps so far.
pub(super) struct Walk<'a> {
    sign_in: &'a SignIn,
    pub(super) hops: Vec<Hop>,
}

// === impl Walk ===

impl<'a> Walk<'a> {
    pub(super) fn new(sign_in: &'a SignIn) -> Self {
        Self { sign_in, hops: Vec::new() }
    }

    fn add(&mut self, step: Step, finding: Finding, asked: &str, came: &[String], means: &str) {
        let shown = |line: &str| redact_line(&sanitize::line(line));
        let came = came.iter().map(|line| shown(line)).collect();
        self.hops.push(Hop { step, finding, asked: shown(asked), came, means: shown(means) });
    }

    fn failed(&mut self, step: Step, asked: &str, error: &Error) {
        let means = match error {
            error if error.is_passing() => {
                "there was no answer; it may be down, and may be back the next time"
            }
            Error::Address { .. } | Error::Plain { .. } => "it is not safe to go there",
            _ => "nobody can sign in before that is put right",
        };
        self.add(step, Finding::Broken, asked, &[error.in_one_line()], means);
    }

    /// What is kept, and whether it can be opened.
    pub(super) async fn record(&mut self) -> Record {
        let asked = format!("what is kept for `{}`", self.sign_in.subject().name);
        match self.sign_in.shelf().look().await {
            Err(error @ StoreError::KeyExposed { .. }) => {
                let came = vec![Error::from(error).in_one_line()];
                let means = "the key to stored sign-ins is not used before it is made private";
                self.add(Step::Key, Finding::Broken, &asked, &came, means);
                Record::default()
            }
            Err(error) => {
                let came = vec![Error::from(error).in_one_line()];
                let means = "what was kept cannot be opened here; signing in replaces it";
                self.add(Step::Key, Finding::SignIn, &asked, &came, means);
                Record::default()
            }
            Ok(None) => {
                let came = vec!["nothing".to_owned()];
                self.add(Step::Key, Finding::Good, &asked, &came, "there is nothing to open yet");
                Record::default()
            }
            Ok(Some((record, place))) => {
                let means = match place {
                    Some(KeyPlace::Keychain) => "its key is in the keychain",
                    Some(_) => "its key is in a file that only you can read",
                    None => "it is not sealed",
                };
                self.add(Step::Key, Finding::Good, &asked, &["it opens".to_owned()], means);
                record
            }
        }
    }

    pub(super) async fn challenge(&mut self) -> Option<Demand> {
        let url = self.sign_in.subject().url.clone();
        let asked = format!("POST {url} without a token");
        match Demand::of(&url, self.sign_in.network()).await {
            Ok(Some(demand)) => {
                let mut came: Vec<_> =
                    demand.challenges.0.iter().map(ToString::to_string).collect();
                if came.is_empty() {
                    came.push("a refusal that says no more".to_owned());
                }
                self.add(Step::Challenge, Finding::Good, &asked, &came, "it wants a token");
                Some(demand)
            }
            Ok(None) => {
                let came = vec!["an answer".to_owned()];
                self.add(Step::Challenge, Finding::Good, &asked, &came, "it lets everybody in");
                None
            }
            Err(error) => {
                self.failed(Step::Challenge, &asked, &error);
                None
            }
        }
    }

    pub(super) async fn discover(&mut self, demand: &Demand, record: &Record) -> Option<Found> {
        let named = demand.challenges.resource_metadata();
        let asked = match named {
            Some(url) => format!("GET {url}, which the server names"),
            None => "GET /.well-known/oauth-protected-resource, with its path and without".into(),
        };
        let resource = match self.sign_in.resource(demand).await {
            Ok(resource) => resource,
            Err(error) => {
                self.failed(Step::Resource, &asked, &error);
                return None;
            }
        };
        let (came, means) = match &resource {
            Some(resource) => (resource.told(), "it says who protects it"),
            None => (vec!["nothing".to_owned()], "its own address is the authorization server's"),
        };
        self.add(Step::Resource, Finding::Good, &asked, &came, means);
        let issuer = resource.as_ref().and_then(|resource| resource.authorization_servers.first());
        let asked = match (&self.sign_in.subject().oauth.auth_server_metadata_url, issuer) {
            (Some(url), _) => format!("GET {url}, as configured"),
            (None, Some(issuer)) => format!("the metadata of {issuer}"),
            (None, None) => "the metadata at the server's own address".to_owned(),
        };
        match self.sign_in.discover(demand, record).await {
            Ok(found) => {
                let came = found.server.told();
                let (finding, means) = if found.server.offers_pkce() {
                    (Finding::Good, "it can be signed in with")
                } else {
                    (Finding::Broken, "it cannot tell whose a code is, which is not safe")
                };
                self.add(Step::AuthorizationServer, finding, &asked, &came, means);
                Some(found)
            }
            Err(error) => {
                self.failed(Step::AuthorizationServer, &asked, &error);
                None
            }
        }
    }

    pub(super) fn client(&mut self, found: &Found, record: &Record) {
        let asked = format!("as whom we are known to {}", found.server.issuer);
        let known = identity::known(&self.sign_in.subject().oauth, &found.server);
        let kept = record.registrations.get(&found.server.issuer);
        let (finding, came, means) = match (known, kept, &found.server.registration_endpoint) {
            (Some(client), ..) => (Finding::Good, client.told(), "the entry says so"),
            (None, Some(kept), _) => {
                let mut came = kept.client.told();
                came.push(format!("port {} is where people come back to", kept.port));
                (Finding::Good, came, "it was registered before, and is used again")
            }
            (None, None, Some(endpoint)) => {
                let came = vec![format!("nobody yet; {endpoint} registers clients")];
                (Finding::Good, came, "the next sign-in registers one")
            }
            (None, None, None) => {
                let came = vec!["nobody, and it registers nobody by itself".to_owned()];
                (Finding::Broken, came, "put the id of a client into `oauth` of the entry")
            }
        };
        self.add(Step::Client, finding, &asked, &came, means);
    }

    pub(super) fn scopes(&mut self, found: &Found, record: &Record) {
        let asked = "which scopes the next sign-in asks for".to_owned();
        let mut came = vec![words(&found.scopes)];
        if let Some(account) = &record.account {
            came.push(format!("the last one asked for: {}", words(&account.scopes)));
        }
        let (finding, means) = if record.wanted.is_empty() {
            (Finding::Good, "that is what the server says it needs")
        } else {
            (Finding::SignIn, "the server wanted more than was signed in for")
        };
        self.add(Step::Scopes, finding, &asked, &came, means);
    }

    pub(super) async fn token(&mut self, found: &Found, record: &Record) {
        let Some(account) = &record.account else {
            let came = vec!["there is none".to_owned()];
            let means = record.lost.as_deref().unwrap_or("nobody has signed in");
            return self.add(Step::Token, Finding::SignIn, "the token", &came, means);
        };
        let mut came = vec![account.told()];
        let asked = format!("POST {} with the token", self.sign_in.subject().url);
        let (finding, means) = if account.issuer == found.server.issuer {
            let (line, finding, means) = self.tried(account).await;
            came.push(line);
            let lost = record.lost.as_deref().filter(|_| finding == Finding::SignIn);
            (finding, lost.unwrap_or(means))
        } else {
            came.push(format!("it is of {}", account.issuer));
            (Finding::SignIn, "the server uses another authorization server by now")
        };
        self.add(Step::Token, finding, &asked, &came, means);
    }

    /// Shows the token to the server, once and without renewing it.
    async fn tried(&self, account: &Account) -> (String, Finding, &'static str) {
        let renewable = account.refresh.is_some() || !self.sign_in.takes_a_person();
        let refused = if renewable { Finding::Good } else { Finding::SignIn };
        match ask(self.sign_in, account).await {
            Ok(()) => ("the server accepts it".into(), Finding::Good, "it is signed in"),
            Err(HttpError::Refused { status, challenges, .. }) => {
                let error = Challenges::parse(&challenges).error().map(str::to_owned);
                if error.as_deref() == Some(dpop::USE_NONCE) {
                    let line = "the server wants a word of its own in the proof".to_owned();
                    return (line, Finding::Good, "every call brings it");
                }
                let error = error.map(|word| format!(": {word}")).unwrap_or_default();
                let line = format!("the server answers {}{error}", status.as_u16());
                // It may repeat what it was sent.
                let line = line.replace(account.access.expose().as_str(), "…");
                let means = if renewable { "the next call renews it" } else { "it is of no use" };
                (line, refused, means)
            }
            Err(error) => {
                let error = Error::Fetch { what: "an answer", source: error };
                let means = "whether it is good cannot be told now";
                (error.in_one_line(), Finding::Broken, means)
            }
        }
    }

    pub(super) fn renewal(&mut self, record: &Record) {
        let Some(account) = &record.account else { return };
        let asked = format!("whether {} renews it", account.token_endpoint);
        let (finding, came, means) = match (&account.refresh, &record.lost) {
            (Some(_), _) => {
                let due = if account.is_due(now()) { "it is due" } else { "it is not due yet" };
                let came = vec!["there is a refresh token".to_owned(), due.to_owned()];
                (Finding::Good, came, "it is renewed in time, and when it is refused")
            }
            (None, Some(lost)) => {
                let came = vec![lost.clone()];
                (Finding::SignIn, came, "the authorization server has ended the sign-in")
            }
            (None, None) if !self.sign_in.takes_a_person() => {
                let came = vec!["there is no refresh token".to_owned()];
                (Finding::Good, came, "none is needed: the program signs in by itself")
            }
            (None, None) => {
                let came = vec!["there is no refresh token".to_owned()];
                (Finding::Good, came, "somebody has to sign in again when it ends")
            }
        };
        self.add(Step::Renewal, finding, &asked, &came, means);
    }
}

async fn ask(sign_in: &SignIn, account: &Account) -> Result<(), HttpError> {
    let pool = Pool::new(sign_in.network())?;
    let url = sign_in.subject().url.clone();
    let token = Some(account.access.expose().as_str());
    let request = Proven { method: &Method::POST, url: &url, nonce: None, token };
    let prover = account.key.as_ref().and_then(Prover::kept);
    // Without one the server says what is missing, and that is shown.
    let proof = prover.and_then(|prover| prover.prove(&request).ok());
    let value = authorization(account).map(|value| (AUTHORIZATION, value));
    let headers: HeaderMap =
        value.into_iter().chain(proof.map(|proof| (dpop::PROOF, proof))).collect();
    let endpoint = Endpoint::new(pool, url, EndpointOptions::default());
    endpoint.post(Bytes::from_static(QUESTION.as_bytes()), headers).await.map(drop)
}

fn words(scopes: &[String]) -> String {
    if scopes.is_empty() { "none".to_owned() } else { scopes.join(" ") }
}
