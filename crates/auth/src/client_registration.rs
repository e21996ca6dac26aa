//! OAuth clients: a configured client, a client ID metadata document, or dynamic registration (RFC 7591).
//!
//! Used by `sign_in`, `device`, `grant` and `organisation`. It does not store registrations (`account`,
//! `store`).

use serde::Deserialize;
use serde_json::json;
use switchboard_config::OAuth;
use switchboard_wire::sanitize;

use crate::account::{ClientAuthMethod, OAuthClient};
use crate::device;
use crate::error::Error;
use crate::fetch::Fetcher;
use crate::metadata::AuthorizationServer;
use crate::secret::Secret;
use crate::token;

const REQUEST_NAME: &str = "the registration as a client";

#[derive(Deserialize)]
struct RegistrationResponse {
    client_id: String,
    #[serde(default)]
    client_secret: Option<String>,
    #[serde(default)]
    token_endpoint_auth_method: Option<String>,
}

/// Returns the client that the entry configures: its client id, or its client metadata URL if the
/// authorization server supports client ID metadata documents.
pub(crate) fn configured_client(
    oauth: &OAuth,
    server: &AuthorizationServer,
) -> Option<OAuthClient> {
    let secret = oauth.client_secret.clone().map(Secret::new);
    if let Some(id) = &oauth.client_id {
        let auth = match (&oauth.private_key_file, &secret) {
            (Some(_), _) => ClientAuthMethod::PrivateKeyJwt,
            (None, secret) => default_auth_method(server, secret.as_ref()),
        };
        return Some(OAuthClient { id: id.clone(), secret, auth });
    }
    let document = oauth.client_metadata_url.as_ref();
    let document = document.filter(|_| server.client_id_metadata_document_supported);
    let auth = match oauth.private_key_file {
        Some(_) => ClientAuthMethod::PrivateKeyJwt,
        None => ClientAuthMethod::None,
    };
    document.map(|url| OAuthClient { id: url.clone(), secret: None, auth })
}

/// Registers a client with the redirect URI `redirect`.
pub(crate) async fn register(
    server: &AuthorizationServer,
    redirect: &str,
    scopes: &[String],
    fetcher: &Fetcher,
) -> Result<OAuthClient, Error> {
    let Some(endpoint) = &server.registration_endpoint else {
        return Err(Error::NoIdentity { issuer: sanitize::sanitize_line(&server.issuer).into() });
    };
    let wished = preferred_auth_method(server);
    let mut grants = vec!["authorization_code", "refresh_token"];
    grants.extend(server.device_authorization_endpoint.as_ref().map(|_| device::DEVICE_CODE_GRANT));
    let mut body = json!({
        "client_name": "Switchboard",
        // Without it, OpenID providers assume a web site, which may not redirect to this machine.
        "application_type": if redirect.starts_with("https:") { "web" } else { "native" },
        "redirect_uris": [redirect],
        "grant_types": grants,
        "response_types": ["code"],
        "token_endpoint_auth_method": wished.name(),
    });
    if !scopes.is_empty() {
        body["scope"] = scopes.join(" ").into();
    }
    let reply = fetcher.post_json(REQUEST_NAME, endpoint, &body).await?;
    let registered: RegistrationResponse = token::parse_reply(REQUEST_NAME, endpoint, &reply)?;
    Ok(registered.into_client(server))
}

/// Prefers a public client: a program on the user's machine cannot keep a client secret from the user.
fn preferred_auth_method(server: &AuthorizationServer) -> ClientAuthMethod {
    [
        ClientAuthMethod::None,
        ClientAuthMethod::ClientSecretPost,
        ClientAuthMethod::ClientSecretBasic,
    ]
    .into_iter()
    .find(|auth| server.accepts_auth_method(auth.name()))
    .unwrap_or(ClientAuthMethod::None)
}

/// How a client authenticates if neither the entry nor the registration says so.
pub(crate) fn default_auth_method(
    server: &AuthorizationServer,
    secret: Option<&Secret<String>>,
) -> ClientAuthMethod {
    match secret {
        None => ClientAuthMethod::None,
        Some(_) if server.accepts_auth_method("client_secret_basic") => {
            ClientAuthMethod::ClientSecretBasic
        }
        Some(_) => ClientAuthMethod::ClientSecretPost,
    }
}

// === impl RegistrationResponse ===

impl RegistrationResponse {
    fn into_client(self, server: &AuthorizationServer) -> OAuthClient {
        let said = self.token_endpoint_auth_method.as_deref().and_then(ClientAuthMethod::from_name);
        let secret = self.client_secret.filter(|secret| !secret.is_empty()).map(Secret::new);
        let auth = said
            .filter(|auth| server.accepts_auth_method(auth.name()))
            .unwrap_or_else(|| default_auth_method(server, secret.as_ref()));
        OAuthClient { id: self.client_id, secret, auth }
    }
}
