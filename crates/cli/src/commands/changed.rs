//! One changed field of an entry since its approval, on one line and redacted.
//!
//! Used by `list` and `get`. `approve` shows changes whole, through `pending`.

use serde_json::Value;
use switchboard_config::RedactedChange;

use crate::show;

/// A change on one line. If the redaction covers the difference, the line points to `switchboard approve`.
pub(super) fn line(change: &RedactedChange) -> String {
    let field = show::bare(&change.field);
    if change.hides_difference() {
        return format!("changed: {field}; `switchboard approve` shows how");
    }
    let side = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), show::inline);
    format!("changed: {field} was {}, is {}", side(&change.before), side(&change.after))
}
