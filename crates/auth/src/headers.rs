//! Authorization header values, marked as sensitive.
//!
//! Used by `oauth_credentials`, `token`, `browser_sign_in` and `examine`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;

use crate::account::OAuthAccount;
use crate::secret::Secret;

/// The `Authorization` value for the token of `account`; `None` if the token is no valid header value.
pub(crate) fn authorization_header(account: &OAuthAccount) -> Option<HeaderValue> {
    let scheme = if account.key.is_some() { "DPoP" } else { "Bearer" };
    sensitive(format!("{scheme} {}", account.access.expose()))
}

/// A `Bearer` value; `None` if the token is no valid header value.
pub(crate) fn bearer_header(token: &Secret<String>) -> Option<HeaderValue> {
    sensitive(format!("Bearer {}", token.expose()))
}

/// A `Basic` value. RFC 6749 form-encodes both parts before joining them.
pub(crate) fn basic_header(id: &str, secret: &str) -> Option<HeaderValue> {
    let encode =
        |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    sensitive(format!("Basic {}", STANDARD.encode(format!("{}:{}", encode(id), encode(secret)))))
}

fn sensitive(text: String) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
