//! Bearer tokens, and whom they speak for.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::{HeaderValue, StatusCode, header};

use crate::face::refusal::{Reason, Refusal};

/// Knows whom a token speaks for.
pub trait Tokens: Send + Sync + 'static {
    /// The principal behind a token; `None` if the token is not good.
    fn principal<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<String>>;

    /// The challenge for clients without a good token, without the error: `Bearer`, and where
    /// there is one, the address of the resource's metadata.
    fn challenge(&self) -> String {
        "Bearer realm=\"switchboard\"".to_owned()
    }
}

/// Who makes a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Whom it speaks for.
    pub principal: Arc<str>,
}

// === impl Caller ===

impl Caller {
    pub(super) fn new(principal: &str) -> Self {
        Self { principal: principal.into() }
    }
}

/// The token in an `Authorization` header.
pub(super) fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Asks for a token, or for another one.
pub(super) fn refusal(tokens: &dyn Tokens, error: Option<&str>) -> Refusal {
    let challenge = match (tokens.challenge(), error) {
        (challenge, None) => challenge,
        // Further parameters stand after a comma, the first one does not.
        (challenge, Some(error)) if challenge.contains('=') => {
            format!("{challenge}, error=\"{error}\"")
        }
        (challenge, Some(error)) => format!("{challenge} error=\"{error}\""),
    };
    let text = match error {
        None => {
            "a token is needed; send `Authorization: Bearer …`, or make one with `switchboard token create`"
        }
        Some(_) => "the token is not good; make another one with `switchboard token create`",
    };
    let challenge = HeaderValue::try_from(challenge).unwrap_or(HeaderValue::from_static("Bearer"));
    Refusal::new(Reason::Token, StatusCode::UNAUTHORIZED, text)
        .with_header((header::WWW_AUTHENTICATE, challenge))
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
            assert_eq!(bearer(&HeaderValue::from_static(value)), expected, "{value:?}");
        }
    }
}
