//! What changed in an entry since it was approved, beside other things: in `list` and `get`, without secrets.

use serde_json::Value;
use switchboard_config::RedactedChange;

use crate::show;

/// A difference, on one line. Where masking covers what differs, the line says where it is shown.
pub(super) fn line(change: &RedactedChange) -> String {
    let field = show::bare(&change.field);
    if change.hides_difference() {
        return format!("changed: {field}; `switchboard approve` shows how");
    }
    let side = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), show::inline);
    format!("changed: {field} was {}, is {}", side(&change.before), side(&change.after))
}
