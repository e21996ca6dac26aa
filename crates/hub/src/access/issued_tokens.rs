//! The verifier of tokens that an authorization server issues for this hub.
//!
//! Used by `access`, which hands it to the faces, and by `issuer_sign_in`. It does not issue tokens.

use futures_util::future::BoxFuture;
use serde_json::json;
use switchboard_auth::{AccessTokenVerifier, TokenRejection, TrustedIssuer, VerifiedToken};
use switchboard_core::principal::Principal;
use switchboard_gateway::face::{TokenDenial, TokenVerifier};
use switchboard_wire::http::HttpPoolOptions;

use super::sign_in_pages::CODE_PATH;

/// The paths of the faces; paths below them belong to the face too.
const FACE_PATHS: [&str; 3] = ["/mcp", "/sse", "/ws"];
const RESOURCE_METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// Verifies tokens for the hub as a protected resource.
pub(super) struct IssuedTokenVerifier {
    verifier: AccessTokenVerifier,
    /// The origin under which clients know the hub.
    base: String,
}

// === impl IssuedTokenVerifier ===

impl IssuedTokenVerifier {
    /// `base` is the hub's own URL, without a path.
    pub(super) fn new(trust: TrustedIssuer, base: String) -> Self {
        Self { verifier: AccessTokenVerifier::new(trust, HttpPoolOptions::default()), base }
    }

    async fn principal(&self, token: &str, path: &str) -> Result<Principal, TokenDenial> {
        let resource = format!("{}{}", self.base, resource(path).unwrap_or_default());
        match self.verifier.verify(token, &resource).await {
            Ok(verified) => Ok(to_principal(verified)),
            Err(rejected) => Err(to_token_denial(&rejected)),
        }
    }
}

/// The principal of a token that the issuer signed: an access token, or the ID token of a browser.
pub(super) fn to_principal(verified: VerifiedToken) -> Principal {
    let principal = Principal::issued(&verified.issuer, &verified.subject);
    let name = verified.name.unwrap_or(verified.subject);
    principal.with_name(name).with_groups(verified.groups)
}

fn to_token_denial(rejected: &TokenRejection) -> TokenDenial {
    match rejected {
        TokenRejection::Scope => TokenDenial::TooLittle,
        TokenRejection::Unavailable { .. } => TokenDenial::Unavailable,
        _ => TokenDenial::NotGood,
    }
}

impl TokenVerifier for IssuedTokenVerifier {
    fn admit<'a>(
        &'a self,
        token: &'a str,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Principal, TokenDenial>> {
        Box::pin(self.principal(token, path))
    }

    fn challenge(&self, path: &str) -> String {
        let place =
            format!("{}{RESOURCE_METADATA_PATH}{}", self.base, resource(path).unwrap_or_default());
        let scope = self.verifier.trusted_issuer().scopes.join(" ");
        let scope = if scope.is_empty() { scope } else { format!(", scope=\"{scope}\"") };
        format!("Bearer realm=\"switchboard\", resource_metadata=\"{place}\"{scope}")
    }

    fn metadata(&self, path: &str) -> Option<String> {
        let TrustedIssuer { issuer, scopes, .. } = self.verifier.trusted_issuer();
        let path = if path.is_empty() { Some(String::new()) } else { resource(path) }?;
        let mut document = json!({
            "resource": format!("{}{path}", self.base), "authorization_servers": [issuer],
            "bearer_methods_supported": ["header"], "resource_name": "Switchboard",
        });
        if !scopes.is_empty() {
            document["scopes_supported"] = json!(scopes);
        }
        Some(document.to_string())
    }
}

/// The resource of a path: a face, or a part of one. A message to an HTTP+SSE session belongs to the path that opened
/// the session. Other paths mean the hub as a whole and are not echoed to the client.
fn resource(path: &str) -> Option<String> {
    let path = match path.strip_prefix("/messages") {
        Some(rest) => format!("/sse{rest}"),
        // A token for all servers is good for a one-time code, which signs in to them.
        None if path == CODE_PATH => "/mcp".to_owned(),
        None => path.to_owned(),
    };
    let is_of = |face: &str| {
        let rest = path.strip_prefix(face);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-._~%".contains(c);
    (FACE_PATHS.into_iter().any(is_of) && path.chars().all(is_plain)).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_faces_are_resources() {
        for (path, expected) in [
            ("/mcp", Some("/mcp")),
            ("/mcp/github", Some("/mcp/github")),
            ("/messages/github", Some("/sse/github")),
            ("/ws/agent/a", Some("/ws/agent/a")),
            ("/sign-in-code", Some("/mcp")),
            ("/mcpx", None),
            ("/metrics", None),
            ("/mcp/\"evil", None),
            ("", None),
        ] {
            assert_eq!(resource(path).as_deref(), expected, "{path}");
        }
    }
}
