//! Header values that carry secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;

/// `Bearer …`; nothing where the token cannot be a header.
pub(crate) fn bearer(token: &str) -> Option<HeaderValue> {
    sensitive(format!("Bearer {token}"))
}

/// `Basic …`. RFC 6749 has both parts encoded as in a form before they are joined.
pub(crate) fn basic(id: &str, secret: &str) -> Option<HeaderValue> {
    let encode =
        |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    sensitive(format!("Basic {}", STANDARD.encode(format!("{}:{}", encode(id), encode(secret)))))
}

fn sensitive(text: String) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
