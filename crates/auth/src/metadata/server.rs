//! Authorization server metadata (RFC 8414, OpenID Connect Discovery), with the check that the issuer
//! matches.
//!
//! Used by `sign_in`, `organisation`, `browser_sign_in` and `verify::issuer_keys`.

use serde::Deserialize;
use switchboard_wire::http::HttpPoolOptions;
use switchboard_wire::sanitize;
use url::Url;

use super::well_known;
use crate::dpop;
use crate::error::Error;
use crate::fetch::Fetcher;

const DOCUMENT_NAME: &str = "the authorization server's metadata";
const OAUTH_WELL_KNOWN_NAME: &str = "oauth-authorization-server";
const OPENID_WELL_KNOWN_NAME: &str = "openid-configuration";

/// The metadata of an authorization server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct AuthorizationServer {
    pub(crate) issuer: String,
    #[serde(default)]
    pub(crate) authorization_endpoint: Option<String>,
    pub(crate) token_endpoint: String,
    #[serde(default)]
    pub(crate) registration_endpoint: Option<String>,
    #[serde(default)]
    pub(crate) jwks_uri: Option<String>,
    #[serde(default)]
    pub(crate) userinfo_endpoint: Option<String>,
    #[serde(default)]
    pub(crate) revocation_endpoint: Option<String>,
    #[serde(default)]
    pub(crate) device_authorization_endpoint: Option<String>,
    #[serde(default)]
    pub(crate) scopes_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) code_challenge_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) dpop_signing_alg_values_supported: Vec<String>,
    #[serde(default)]
    pub(crate) client_id_metadata_document_supported: bool,
    #[serde(default)]
    pub(crate) authorization_response_iss_parameter_supported: bool,
}

/// Where the issuer is known from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IssuerSource<'a> {
    /// The resource metadata name the issuer, and the document must name it too.
    ResourceMetadata(&'a str),
    /// The user configured the URL of the document and vouches for it.
    Configured(&'a str),
    /// No issuer is named: by the rules of 2025-03-26 the authorization server is at the server's own origin.
    Beside(&'a Url),
}

/// Finds the metadata of an authorization server.
pub(crate) async fn discover(
    which: IssuerSource<'_>,
    fetcher: &Fetcher,
) -> Result<AuthorizationServer, Error> {
    match which {
        IssuerSource::ResourceMetadata(issuer) => discover_by_issuer(issuer, fetcher).await,
        IssuerSource::Configured(url) => {
            let missing =
                || Error::NoMetadata { issuer: sanitize::sanitize_line(url).into_owned() };
            fetcher.get_document(DOCUMENT_NAME, url).await?.ok_or_else(missing)
        }
        IssuerSource::Beside(server) => discover_at_origin(server, fetcher).await,
    }
}

/// Finds the metadata of an issuer that settings or flags name, `what` in errors. Returns them with a fetcher for the
/// URLs in them.
pub(crate) async fn discover_issuer(
    what: &'static str,
    issuer: &str,
    network: &HttpPoolOptions,
) -> Result<(AuthorizationServer, Fetcher), Error> {
    let shown = || sanitize::sanitize_line(issuer).into_owned();
    let url = Url::parse(issuer).map_err(|_| Error::NotAUrl { what, url: shown() })?;
    let fetcher = Fetcher::new(&[&url], None, network)?;
    let server = discover(IssuerSource::ResourceMetadata(issuer), &fetcher).await?;
    Ok((server, fetcher))
}

async fn discover_by_issuer(issuer: &str, fetcher: &Fetcher) -> Result<AuthorizationServer, Error> {
    let url = fetcher.check_url("the authorization server", issuer)?;
    let found = first_document(&metadata_urls(&url), fetcher).await?;
    let found = found
        .ok_or_else(|| Error::NoMetadata { issuer: sanitize::sanitize_line(issuer).into() })?;
    // Compared as text: two spellings of one URL are two issuers.
    if found.issuer != issuer {
        return Err(Error::IssuerMismatch {
            expected: sanitize::sanitize_line(issuer).into(),
            said: sanitize::sanitize_line(&found.issuer).into(),
        });
    }
    Ok(found)
}

/// Discovery by 2025-03-26: a metadata document at the origin, else the default endpoint paths.
async fn discover_at_origin(server: &Url, fetcher: &Fetcher) -> Result<AuthorizationServer, Error> {
    let origin = server.origin().ascii_serialization();
    let places = [
        well_known(server, OAUTH_WELL_KNOWN_NAME, ""),
        well_known(server, OPENID_WELL_KNOWN_NAME, ""),
    ];
    if let Some(found) = first_document(&places, fetcher).await? {
        return Ok(found);
    }
    Ok(AuthorizationServer {
        authorization_endpoint: Some(format!("{origin}/authorize")),
        token_endpoint: format!("{origin}/token"),
        registration_endpoint: Some(format!("{origin}/register")),
        issuer: origin,
        ..AuthorizationServer::default()
    })
}

async fn first_document(
    places: &[String],
    fetcher: &Fetcher,
) -> Result<Option<AuthorizationServer>, Error> {
    for place in places {
        match fetcher.get_document(DOCUMENT_NAME, place).await {
            Ok(Some(found)) => return Ok(Some(found)),
            Ok(None) | Err(Error::Unreadable { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// The URLs where an issuer's document may be, in the order of the MCP specification.
fn metadata_urls(issuer: &Url) -> Vec<String> {
    let path = issuer.path().trim_end_matches('/');
    let origin = issuer.origin().ascii_serialization();
    let mut places = vec![
        well_known(issuer, OAUTH_WELL_KNOWN_NAME, path),
        well_known(issuer, OPENID_WELL_KNOWN_NAME, path),
    ];
    if !path.is_empty() {
        places.push(format!("{origin}{path}/.well-known/{OPENID_WELL_KNOWN_NAME}"));
    }
    places
}

// === impl AuthorizationServer ===

impl AuthorizationServer {
    /// Whether PKCE can be used. A server without a word about it in its metadata counts as one that supports it:
    /// it either checks the proof or ignores it.
    pub(crate) fn offers_pkce(&self) -> bool {
        let methods = self.code_challenge_methods_supported.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|method| method == "S256"))
    }

    /// Whether the server supports DPoP with our signing algorithm.
    pub(crate) fn supports_dpop(&self) -> bool {
        self.dpop_signing_alg_values_supported.iter().any(|name| name == dpop::SIGNING_ALGORITHM)
    }

    /// Whether clients may authenticate by this method.
    pub(crate) fn accepts_auth_method(&self, method: &str) -> bool {
        let methods = self.token_endpoint_auth_methods_supported.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|found| found == method))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn the_places_of_the_specification_in_its_order() {
        let check = |issuer: &str, expected: &[&str]| {
            assert_eq!(metadata_urls(&issuer.parse().unwrap()), expected, "{issuer}");
        };
        check(
            "https://a.example",
            &[
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration",
            ],
        );
        check(
            "https://a.example/tenant1",
            &[
                "https://a.example/.well-known/oauth-authorization-server/tenant1",
                "https://a.example/.well-known/openid-configuration/tenant1",
                "https://a.example/tenant1/.well-known/openid-configuration",
            ],
        );
    }
}
