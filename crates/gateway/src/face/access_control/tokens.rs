//! Bearer tokens, and whom they speak for.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::{HeaderValue, StatusCode, header};

use crate::face::refusal::{HttpRefusal, RefusalReason};

/// Knows whom a token speaks for.
pub trait TokenVerifier: Send + Sync + 'static {
    /// The principal behind a token that is shown at `path`.
    fn admit<'a>(
        &'a self,
        token: &'a str,
        path: &'a str,
    ) -> BoxFuture<'a, Result<String, TokenDenial>>;

    /// The challenge for clients without a good token at `path`, without the error: `Bearer`, and where there is one,
    /// the address of the resource's metadata.
    fn challenge(&self, _path: &str) -> String {
        "Bearer realm=\"switchboard\"".to_owned()
    }

    /// How clients get a token for what is at `path`, as a document of RFC 9728; nothing where only a person knows.
    fn metadata(&self, _path: &str) -> Option<String> {
        None
    }
}

/// Why a token opens nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenDenial {
    /// It is not good, or not here.
    NotGood,
    /// It is good, and does not allow enough.
    TooLittle,
    /// Whoever could tell cannot be asked now.
    Unavailable,
}

/// What is wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenFault {
    /// It comes without a token.
    Missing,
    /// It comes without a token and through a proxy, so its user is not known.
    Proxied,
    /// What it comes with is none.
    Unreadable,
    /// Its token opens nothing.
    Denied(TokenDenial),
}

/// Who makes a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaceCaller {
    /// Whom it speaks for.
    pub principal: Arc<str>,
}

// === impl FaceCaller ===

impl FaceCaller {
    pub(super) fn new(principal: &str) -> Self {
        Self { principal: principal.into() }
    }
}

/// The token in an `Authorization` header.
pub(super) fn bearer_token(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Asks for a token, or for another one.
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
        // Further parameters stand after a comma, the first one does not.
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
