//! OAuth metadata discovery: the protected resource and its authorization server, fetched and checked.
//!
//! Used by `sign_in`, `organisation`, `browser_sign_in` and `verify::issuer_keys`. It does not fetch signing keys
//! (`verify::issuer_keys`).

mod resource;
mod server;

pub(crate) use resource::{ProtectedResource, covers, discover as discover_resource};
pub(crate) use server::{
    AuthorizationServer, IssuerSource, discover as discover_server, discover_issuer,
};

use url::Url;

/// The URL `/.well-known/<name>` at an origin, followed by a path.
fn well_known(url: &Url, name: &str, path: &str) -> String {
    let origin = url.origin().ascii_serialization();
    format!("{origin}/.well-known/{name}{}", path.trim_end_matches('/'))
}
