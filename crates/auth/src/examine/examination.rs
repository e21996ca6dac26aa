//! The steps of `examine_sign_in`, in order: each step adds one check, and a failed step ends the
//! examination.
//!
//! Used by `examine`. It only reads: it signs in nowhere and renews no token.

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method};
use switchboard_wire::http::{EndpointOptions, HttpEndpoint, HttpError, HttpPool};
use switchboard_wire::sanitize;

use super::redact::redact_line;
use super::{SignInCheck, SignInFinding, SignInStep};
use crate::account::{OAuthAccount, SignInRecord};
use crate::challenge::AuthenticateChallenges;
use crate::client_registration;
use crate::dpop::{self, DpopProver, ProofSubject};
use crate::error::Error;
use crate::headers::authorization_header;
use crate::sign_in::{AuthDiscovery, SignIn};
use crate::sign_in_requirement::{PROBE_REQUEST, SignInRequirement};
use crate::store::{KeyLocation, SignInStoreError};
use crate::token::unix_now;

/// The checks so far.
pub(super) struct SignInExamination<'a> {
    sign_in: &'a SignIn,
    pub(super) hops: Vec<SignInCheck>,
}

// === impl SignInExamination ===

impl<'a> SignInExamination<'a> {
    pub(super) fn new(sign_in: &'a SignIn) -> Self {
        Self { sign_in, hops: Vec::new() }
    }

    fn add(
        &mut self,
        step: SignInStep,
        finding: SignInFinding,
        asked: &str,
        came: &[String],
        means: &str,
    ) {
        let shown = |line: &str| redact_line(&sanitize::sanitize_line(line));
        let came = came.iter().map(|line| shown(line)).collect();
        self.hops.push(SignInCheck {
            step,
            finding,
            request: shown(asked),
            response: came,
            means: shown(means),
        });
    }

    fn add_failure(&mut self, step: SignInStep, asked: &str, error: &Error) {
        let means = match error {
            error if error.is_transient() => "there was no response; the server may be down",
            Error::Address { .. } | Error::InsecureUrl { .. } => {
                "a request to this URL would not be safe"
            }
            _ => "sign-in is impossible until this is fixed",
        };
        self.add(step, SignInFinding::Broken, asked, &[error.error_chain()], means);
    }

    /// Checks that the stored record exists and that its key opens it.
    pub(super) async fn record(&mut self) -> SignInRecord {
        let asked = format!("the stored sign-in of `{}`", self.sign_in.target().name);
        match self.sign_in.stored_record().inspect().await {
            Err(error @ SignInStoreError::KeyExposed { .. }) => {
                let came = vec![Error::from(error).error_chain()];
                let means = "the key of stored sign-ins is not used until only you can read it";
                self.add(SignInStep::Key, SignInFinding::Broken, &asked, &came, means);
                SignInRecord::default()
            }
            Err(error) => {
                let came = vec![Error::from(error).error_chain()];
                let means = "it cannot be decrypted here; a new sign-in replaces it";
                self.add(SignInStep::Key, SignInFinding::SignIn, &asked, &came, means);
                SignInRecord::default()
            }
            Ok(None) => {
                let came = vec!["nothing".to_owned()];
                self.add(SignInStep::Key, SignInFinding::Good, &asked, &came, "there is none yet");
                SignInRecord::default()
            }
            Ok(Some((record, place))) => {
                let means = match place {
                    Some(KeyLocation::Keychain) => "its key is in the keychain",
                    Some(_) => "its key is in a file that only you can read",
                    None => "it is not sealed",
                };
                self.add(
                    SignInStep::Key,
                    SignInFinding::Good,
                    &asked,
                    &["it can be decrypted".to_owned()],
                    means,
                );
                record
            }
        }
    }

    pub(super) async fn challenge(&mut self) -> Option<SignInRequirement> {
        let url = self.sign_in.target().url.clone();
        let asked = format!("POST {url} without a token");
        match SignInRequirement::fetch(&url, self.sign_in.network()).await {
            Ok(Some(demand)) => {
                let mut came: Vec<_> =
                    demand.challenges.0.iter().map(ToString::to_string).collect();
                if came.is_empty() {
                    came.push("401 without a challenge".to_owned());
                }
                self.add(
                    SignInStep::Challenge,
                    SignInFinding::Good,
                    &asked,
                    &came,
                    "the server requires a token",
                );
                Some(demand)
            }
            Ok(None) => {
                let came = vec!["a response".to_owned()];
                self.add(
                    SignInStep::Challenge,
                    SignInFinding::Good,
                    &asked,
                    &came,
                    "the server requires no token",
                );
                None
            }
            Err(error) => {
                self.add_failure(SignInStep::Challenge, &asked, &error);
                None
            }
        }
    }

    pub(super) async fn discover(
        &mut self,
        demand: &SignInRequirement,
        record: &SignInRecord,
    ) -> Option<AuthDiscovery> {
        let named = demand.challenges.resource_metadata();
        let asked = match named {
            Some(url) => format!("GET {url}, from the challenge"),
            None => "GET /.well-known/oauth-protected-resource, with the path of the server and without it".into(),
        };
        let resource = match self.sign_in.fetch_resource(demand).await {
            Ok(resource) => resource,
            Err(error) => {
                self.add_failure(SignInStep::Resource, &asked, &error);
                return None;
            }
        };
        let (came, means) = match &resource {
            Some(resource) => (resource.description_lines(), "it names the authorization server"),
            None => (
                vec!["nothing".to_owned()],
                "without it, the authorization server is at the URL of the server",
            ),
        };
        self.add(SignInStep::Resource, SignInFinding::Good, &asked, &came, means);
        let issuer = resource.as_ref().and_then(|resource| resource.authorization_servers.first());
        let asked = match (&self.sign_in.target().oauth.auth_server_metadata_url, issuer) {
            (Some(url), _) => format!("GET {url}, as configured"),
            (None, Some(issuer)) => format!("the metadata of {issuer}"),
            (None, None) => "the metadata at the URL of the server".to_owned(),
        };
        match self.sign_in.discover(demand, record).await {
            Ok(found) => {
                let came = found.server.description_lines();
                let (finding, means) = if found.server.offers_pkce() {
                    (SignInFinding::Good, "it supports what a sign-in needs")
                } else {
                    (
                        SignInFinding::Broken,
                        "it does not support PKCE, so a sign-in would not be safe",
                    )
                };
                self.add(SignInStep::AuthorizationServer, finding, &asked, &came, means);
                Some(found)
            }
            Err(error) => {
                self.add_failure(SignInStep::AuthorizationServer, &asked, &error);
                None
            }
        }
    }

    pub(super) fn client(&mut self, found: &AuthDiscovery, record: &SignInRecord) {
        let asked = format!("the client that is registered at {}", found.server.issuer);
        let known =
            client_registration::configured_client(&self.sign_in.target().oauth, &found.server);
        let kept = record.registrations.get(&found.server.issuer);
        let (finding, came, means) = match (known, kept, &found.server.registration_endpoint) {
            (Some(client), ..) => {
                (SignInFinding::Good, client.description_lines(), "the entry configures it")
            }
            (None, Some(kept), _) => {
                let mut came = kept.client.description_lines();
                came.push(format!("the redirect URI has port {}", kept.port));
                (
                    SignInFinding::Good,
                    came,
                    "it was registered before, and the next sign-in uses it",
                )
            }
            (None, None, Some(endpoint)) => {
                let came = vec![format!("none yet; {endpoint} registers clients")];
                (SignInFinding::Good, came, "the next sign-in registers one")
            }
            (None, None, None) => {
                let came =
                    vec!["none, and the server does not register clients automatically".to_owned()];
                (
                    SignInFinding::Broken,
                    came,
                    "register a client there, and set `oauth.clientId` of the entry",
                )
            }
        };
        self.add(SignInStep::Client, finding, &asked, &came, means);
    }

    pub(super) fn scopes(&mut self, found: &AuthDiscovery, record: &SignInRecord) {
        let asked = "the scopes that the next sign-in requests".to_owned();
        let mut came = vec![scopes_text(&found.scopes)];
        if let Some(account) = &record.account {
            came.push(format!("the last sign-in requested: {}", scopes_text(&account.scopes)));
        }
        let (finding, means) = if record.extra_scopes.is_empty() {
            (SignInFinding::Good, "the server asks for these")
        } else {
            (SignInFinding::SignIn, "the server requires more than the last sign-in requested")
        };
        self.add(SignInStep::Scopes, finding, &asked, &came, means);
    }

    pub(super) async fn token(&mut self, found: &AuthDiscovery, record: &SignInRecord) {
        let Some(account) = &record.account else {
            let came = vec!["none".to_owned()];
            let means = record.lost.as_deref().unwrap_or("you are not signed in");
            return self.add(
                SignInStep::Token,
                SignInFinding::SignIn,
                "the stored token",
                &came,
                means,
            );
        };
        let mut came = vec![account.lifetime_text()];
        let asked = format!("POST {} with the token", self.sign_in.target().url);
        let (finding, means) = if account.issuer == found.server.issuer {
            let (line, finding, means) = self.try_token(account).await;
            came.push(line);
            let lost = record.lost.as_deref().filter(|_| finding == SignInFinding::SignIn);
            (finding, lost.unwrap_or(means))
        } else {
            came.push(format!("it was issued by {}", account.issuer));
            (SignInFinding::SignIn, "the server now uses another authorization server")
        };
        self.add(SignInStep::Token, finding, &asked, &came, means);
    }

    /// Sends one request with the token to the server, without renewing the token.
    async fn try_token(&self, account: &OAuthAccount) -> (String, SignInFinding, &'static str) {
        let renewable = account.refresh.is_some() || !self.sign_in.needs_person();
        let refused = if renewable { SignInFinding::Good } else { SignInFinding::SignIn };
        match send_probe(self.sign_in, account).await {
            Ok(()) => ("the server accepts it".into(), SignInFinding::Good, "it is signed in"),
            Err(HttpError::Refused { status, challenges, .. }) => {
                let error = AuthenticateChallenges::parse(&challenges).error().map(str::to_owned);
                if error.as_deref() == Some(dpop::USE_NONCE_ERROR) {
                    let line = "the server requires a nonce in the DPoP proof".to_owned();
                    return (line, SignInFinding::Good, "every request sends it");
                }
                let error = error.map(|word| format!(": {word}")).unwrap_or_default();
                let line = format!("the server responds with {}{error}", status.as_u16());
                // The server may repeat the token that it was sent.
                let line = line.replace(account.access.expose().as_str(), "…");
                let means = if renewable { "the next call renews it" } else { "it is not usable" };
                (line, refused, means)
            }
            Err(error) => {
                let error = Error::Fetch { what: "an answer", source: error };
                let means = "its validity cannot be checked now";
                (error.error_chain(), SignInFinding::Broken, means)
            }
        }
    }

    pub(super) fn renewal(&mut self, record: &SignInRecord) {
        let Some(account) = &record.account else { return };
        let asked = format!("the refresh token for {}", account.token_endpoint);
        let (finding, came, means) = match (&account.refresh, &record.lost) {
            (Some(_), _) => {
                let due = if account.needs_renewal(unix_now()) {
                    "the renewal is due"
                } else {
                    "the renewal is not due yet"
                };
                let came = vec!["present".to_owned(), due.to_owned()];
                (
                    SignInFinding::Good,
                    came,
                    "the token is renewed before it expires, and when a server refuses it",
                )
            }
            (None, Some(lost)) => {
                let came = vec![lost.clone()];
                (SignInFinding::SignIn, came, "the authorization server has ended the sign-in")
            }
            (None, None) if !self.sign_in.needs_person() => {
                let came = vec!["none".to_owned()];
                (SignInFinding::Good, came, "none is needed: the program signs in without a person")
            }
            (None, None) => {
                let came = vec!["none".to_owned()];
                (SignInFinding::Good, came, "sign in again when the token expires")
            }
        };
        self.add(SignInStep::Renewal, finding, &asked, &came, means);
    }
}

async fn send_probe(sign_in: &SignIn, account: &OAuthAccount) -> Result<(), HttpError> {
    let pool = HttpPool::new(sign_in.network())?;
    let url = sign_in.target().url.clone();
    let token = Some(account.access.expose().as_str());
    let request = ProofSubject { method: &Method::POST, url: &url, nonce: None, token };
    let prover = account.key.as_ref().and_then(DpopProver::from_secret);
    // Without a proof, the server's answer says that one is missing, and the check shows that answer.
    let proof = prover.and_then(|prover| prover.prove(&request).ok());
    let value = authorization_header(account).map(|value| (AUTHORIZATION, value));
    let headers: HeaderMap =
        value.into_iter().chain(proof.map(|proof| (dpop::PROOF_HEADER, proof))).collect();
    let endpoint = HttpEndpoint::new(pool, url, EndpointOptions::default());
    endpoint.post(Bytes::from_static(PROBE_REQUEST.as_bytes()), headers).await.map(drop)
}

fn scopes_text(scopes: &[String]) -> String {
    if scopes.is_empty() { "none".to_owned() } else { scopes.join(" ") }
}
