//! Header values that carry secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;

use crate::account::OAuthAccount;

/// What the token of `account` is shown with; nothing where it cannot be a header.
pub(crate) fn authorization_header(account: &OAuthAccount) -> Option<HeaderValue> {
    let scheme = if account.key.is_some() { "DPoP" } else { "Bearer" };
    sensitive(format!("{scheme} {}", account.access.expose()))
}

/// `Basic …`. RFC 6749 has both parts encoded as in a form before they are joined.
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
