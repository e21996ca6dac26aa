//! Who protects a server, and how that authorization server is used: documents found, read and doubted.

mod resource;
mod server;

pub(crate) use resource::{ProtectedResource, covers, discover as discover_resource};
pub(crate) use server::{AuthorizationServer, IssuerSource, discover as discover_server};

use url::Url;

/// `/.well-known/<name>` of an origin, with a path after it.
fn well_known(url: &Url, name: &str, path: &str) -> String {
    let origin = url.origin().ascii_serialization();
    format!("{origin}/.well-known/{name}{}", path.trim_end_matches('/'))
}
