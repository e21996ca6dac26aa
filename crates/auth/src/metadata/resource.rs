//! Protected resource metadata (RFC 9728): in the document that the challenge names, else at the server's own
//! path, else at the root.
//!
//! Used by `sign_in`; [`covers`] also by `verify::claims`.

use serde::Deserialize;
use switchboard_wire::sanitize;
use url::Url;

use super::well_known;
use crate::error::Error;
use crate::fetch::Fetcher;

const DOCUMENT_NAME: &str = "the protected-resource metadata";
const WELL_KNOWN_NAME: &str = "oauth-protected-resource";

/// The metadata of a protected resource.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ProtectedResource {
    /// The resource identifier, kept as written: parsing and printing a URL can change its text.
    #[serde(rename = "resource")]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) authorization_servers: Vec<String>,
    #[serde(default)]
    pub(crate) scopes_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) dpop_bound_access_tokens_required: bool,
}

// === impl ProtectedResource ===

impl ProtectedResource {
    /// The metadata in words, for `switchboard doctor auth`.
    pub(crate) fn description_lines(&self) -> Vec<String> {
        let mut told = vec![format!("resource {}", self.name)];
        let servers = self.authorization_servers.iter();
        told.extend(servers.map(|server| format!("authorization server {server}")));
        let scopes = self.scopes_supported.as_ref();
        told.extend(scopes.map(|scopes| format!("scopes {}", scopes.join(" "))));
        told
    }
}

/// Fetches the metadata of the server at `server`; `None` if the server publishes none, as servers of
/// 2025-03-26 do.
pub(crate) async fn discover(
    server: &Url,
    named: Option<&str>,
    fetcher: &Fetcher,
) -> Result<Option<ProtectedResource>, Error> {
    let found = match named {
        // A document that the server's challenge names must exist.
        Some(url) => {
            let missing = || Error::Status {
                what: DOCUMENT_NAME,
                url: sanitize::sanitize_line(url).into_owned(),
                status: 404,
            };
            Some(
                fetcher
                    .get_document::<ProtectedResource>(DOCUMENT_NAME, url)
                    .await?
                    .ok_or_else(missing)?,
            )
        }
        None => find_at_well_known(server, fetcher).await?,
    };
    match found {
        Some(resource) if !covers(&resource.name, server) => Err(Error::ResourceMismatch {
            server: server.to_string(),
            said: sanitize::sanitize_line(&resource.name).into_owned(),
        }),
        found => Ok(found),
    }
}

async fn find_at_well_known(
    server: &Url,
    fetcher: &Fetcher,
) -> Result<Option<ProtectedResource>, Error> {
    let mut places = vec![
        well_known(server, WELL_KNOWN_NAME, server.path()),
        well_known(server, WELL_KNOWN_NAME, ""),
    ];
    places.dedup();
    for place in places {
        match fetcher.get_document(DOCUMENT_NAME, &place).await {
            Ok(Some(found)) => return Ok(Some(found)),
            // Many sites answer with an HTML page where they have no document.
            Ok(None) | Err(Error::Unreadable { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Whether a resource includes the server: the origins are equal, and its path is the server's or above it.
pub(crate) fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let (above, path) = (resource.path().trim_end_matches('/'), server.path());
    let below = path.strip_prefix(above);
    resource.origin() == server.origin()
        && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_resource_covers_what_lies_beneath_it() {
        for (resource, server, covered) in [
            ("https://x.example/mcp", "https://x.example/mcp", true),
            ("https://x.example", "https://x.example/mcp", true),
            ("https://x.example/", "https://x.example/", true),
            ("https://x.example/mcp/", "https://x.example/mcp", true),
            ("https://x.example/mcp", "https://x.example/mcp/a", true),
            ("https://x.example/mc", "https://x.example/mcp", false),
            ("https://x.example/other", "https://x.example/mcp", false),
            ("https://evil.example/mcp", "https://x.example/mcp", false),
            ("http://x.example/mcp", "https://x.example/mcp", false),
            ("x.example", "https://x.example/mcp", false),
        ] {
            assert_eq!(covers(resource, &server.parse().unwrap()), covered, "{resource} {server}");
        }
    }
}
