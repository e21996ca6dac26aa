//! As whom we appear before an authorization server: a client somebody configured, a client that describes itself in
//! a document, or one that the server registers on the spot.

use serde::Deserialize;
use serde_json::json;
use switchboard_config::OAuth;
use switchboard_wire::sanitize;

use crate::account::{Client, ClientAuth, Registration};
use crate::device;
use crate::error::Error;
use crate::fetch::Fetcher;
use crate::metadata::AuthorizationServer;
use crate::secret::Secret;
use crate::token;

const WHAT: &str = "the registration as a client";

#[derive(Deserialize)]
struct Registered {
    client_id: String,
    #[serde(default)]
    client_secret: Option<String>,
    #[serde(default)]
    token_endpoint_auth_method: Option<String>,
}

/// The client that the entry names, or that needs no registration here.
pub(crate) fn known(oauth: &OAuth, server: &AuthorizationServer) -> Option<Client> {
    let secret = oauth.client_secret.clone().map(Secret::new);
    if let Some(id) = &oauth.client_id {
        let auth = match (&oauth.private_key_file, &secret) {
            (Some(_), _) => ClientAuth::PrivateKeyJwt,
            (None, secret) => usual(server, secret.as_ref()),
        };
        return Some(Client { id: id.clone(), secret, auth });
    }
    let document = oauth.client_metadata_url.as_ref();
    let document = document.filter(|_| server.client_id_metadata_document_supported);
    let auth = match oauth.private_key_file {
        Some(_) => ClientAuth::PrivateKeyJwt,
        None => ClientAuth::None,
    };
    document.map(|url| Client { id: url.clone(), secret: None, auth })
}

/// Registers a client that comes back to `redirect`.
pub(crate) async fn register(
    server: &AuthorizationServer,
    redirect: &str,
    port: u16,
    scopes: &[String],
    fetcher: &Fetcher,
) -> Result<Registration, Error> {
    let Some(endpoint) = &server.registration_endpoint else {
        return Err(Error::NoIdentity { issuer: sanitize::line(&server.issuer).into() });
    };
    let wished = wished(server);
    let mut grants = vec!["authorization_code", "refresh_token"];
    grants.extend(server.device_authorization_endpoint.as_ref().map(|_| device::GRANT));
    let mut body = json!({
        "client_name": "Switchboard",
        // Without it OpenID providers take us for a web site, which may not come back to this machine.
        "application_type": "native",
        "redirect_uris": [redirect],
        "grant_types": grants,
        "response_types": ["code"],
        "token_endpoint_auth_method": wished.name(),
    });
    if !scopes.is_empty() {
        body["scope"] = scopes.join(" ").into();
    }
    let reply = fetcher.json(WHAT, endpoint, &body).await?;
    let registered: Registered = token::read(WHAT, endpoint, &reply)?;
    Ok(Registration { client: registered.client(server), port })
}

/// A program on somebody's machine keeps no secret from them, so it wants none where it has the choice.
fn wished(server: &AuthorizationServer) -> ClientAuth {
    [ClientAuth::None, ClientAuth::ClientSecretPost, ClientAuth::ClientSecretBasic]
        .into_iter()
        .find(|auth| server.takes(auth.name()))
        .unwrap_or(ClientAuth::None)
}

/// How a client with or without a secret proves itself, where nobody says.
pub(crate) fn usual(server: &AuthorizationServer, secret: Option<&Secret<String>>) -> ClientAuth {
    match secret {
        None => ClientAuth::None,
        Some(_) if server.takes("client_secret_basic") => ClientAuth::ClientSecretBasic,
        Some(_) => ClientAuth::ClientSecretPost,
    }
}

// === impl Registered ===

impl Registered {
    fn client(self, server: &AuthorizationServer) -> Client {
        let said = self.token_endpoint_auth_method.as_deref().and_then(ClientAuth::named);
        let secret = self.client_secret.filter(|secret| !secret.is_empty()).map(Secret::new);
        let auth = said
            .filter(|auth| server.takes(auth.name()))
            .unwrap_or_else(|| usual(server, secret.as_ref()));
        Client { id: self.client_id, secret, auth }
    }
}
