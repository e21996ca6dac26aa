//! The `TokenVerifier` trait, and the refusals that ask for a bearer token.
//!
//! Used by `access_control`; implemented by `gateway::tokens` (stored tokens) and `hub::access` (tokens of an
//! authorization server). It does not store tokens.

use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{HeaderValue, StatusCode, header};
use switchboard_core::principal::Principal;

use crate::face::refusal::{HttpRefusal, RefusalReason};

/// Verifies tokens and returns their principals.
pub trait TokenVerifier: Send + Sync + 'static {
    /// Returns the principal of a token that is used at `path`.
    fn admit<'a>(
        &'a self,
        token: &'a str,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Principal, TokenDenial>>;

    /// How soon after a revocation a stream that this token opened has to end; `None` if tokens are not revoked here.
    fn recheck_interval(&self, _token: &str) -> Option<Duration> {
        None
    }

    /// The challenge for clients without a valid token at `path`, without the error: `Bearer`, and the URL of the
    /// resource's metadata if there is one.
    fn challenge(&self, _path: &str) -> String {
        "Bearer realm=\"switchboard\"".to_owned()
    }

    /// The document of RFC 9728 that tells clients how to obtain a token for `path`; `None` if only a person can
    /// provide one.
    fn metadata(&self, _path: &str) -> Option<String> {
        None
    }
}

/// Why a token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenDenial {
    /// The token is invalid, or not valid here.
    NotGood,
    /// The token is valid, but lacks a scope.
    TooLittle,
    /// The verifier cannot reach its authority now.
    Unavailable,
}

/// Why a request is not identified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenFault {
    /// The request has no token.
    Missing,
    /// The request has no token and came through a proxy, so its user is unknown.
    Proxied,
    /// The `Authorization` header holds no bearer token.
    Unreadable,
    /// The token is refused.
    Denied(TokenDenial),
}

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaceCaller {
    /// The principal that the caller acts for.
    pub principal: Principal,
}

/// The token in an `Authorization` header.
pub(super) fn bearer_token(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The refusal that asks for a token, or for another one.
pub(super) fn token_refusal(
    tokens: &dyn TokenVerifier,
    path: &str,
    wrong: TokenFault,
) -> HttpRefusal {
    let (status, error, text) = match wrong {
        TokenFault::Missing => (StatusCode::UNAUTHORIZED, None, missing_token_text(tokens, path)),
        TokenFault::Proxied => (StatusCode::UNAUTHORIZED, None, PROXIED_TEXT),
        TokenFault::Unreadable => {
            (StatusCode::UNAUTHORIZED, Some("invalid_request"), BAD_TOKEN_TEXT)
        }
        TokenFault::Denied(TokenDenial::NotGood) => {
            (StatusCode::UNAUTHORIZED, Some("invalid_token"), BAD_TOKEN_TEXT)
        }
        TokenFault::Denied(TokenDenial::TooLittle) => {
            let text = "the token does not allow enough; get one with the scopes that are named";
            (StatusCode::FORBIDDEN, Some("insufficient_scope"), text)
        }
        TokenFault::Denied(TokenDenial::Unavailable) => {
            return HttpRefusal::full("whether the token is good cannot be told now; try again");
        }
    };
    let challenge = match (tokens.challenge(path), error) {
        (challenge, None) => challenge,
        // Parameters are separated by commas; the first one follows the scheme without a comma.
        (challenge, Some(error)) if challenge.contains('=') => {
            format!("{challenge}, error=\"{error}\"")
        }
        (challenge, Some(error)) => format!("{challenge} error=\"{error}\""),
    };
    let challenge = HeaderValue::try_from(challenge).unwrap_or(HeaderValue::from_static("Bearer"));
    HttpRefusal::new(RefusalReason::Token, status, text)
        .with_header((header::WWW_AUTHENTICATE, challenge))
}

const BAD_TOKEN_TEXT: &str =
    "the token is not good; make another one with `switchboard token create`, or sign in again";

const PROXIED_TEXT: &str = "a token is needed, since the request came through a proxy; send \
    `Authorization: Bearer …`, or make one with `switchboard token create`";

fn missing_token_text(tokens: &dyn TokenVerifier, path: &str) -> &'static str {
    match tokens.metadata(path) {
        Some(_) => {
            "a token is needed; sign in where the challenge says, or send `Authorization: Bearer …`"
        }
        None => {
            "a token is needed; send `Authorization: Bearer …`, or make one with `switchboard token create`"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_token() {
        for (value, expected) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Bearer ", None),
            ("Bearer", None),
            ("Basic abc", None),
            ("", None),
        ] {
            assert_eq!(bearer_token(&HeaderValue::from_static(value)), expected, "{value:?}");
        }
    }
}
