//! Replacing values of an entry by references to secrets.
//!
//! Used by `add`, `import` and `setup` after the values were stored. It does not store them.

use serde_json::Value;

use super::find::SecretValue;
use super::name::secret_reference;

/// A copy of an entry in which each value is replaced by `${secret:NAME}`, with the name given beside it. What
/// stands around a value, such as `Bearer `, is kept.
#[must_use]
pub fn replace_secret_values<'a>(
    entry: &Value,
    values: impl IntoIterator<Item = (&'a SecretValue, &'a str)>,
) -> Value {
    let mut replaced = entry.clone();
    let mut values: Vec<_> = values.into_iter().collect();
    // From the end of each string to its start, so that the ranges before stay right.
    values.sort_by_key(|(value, _)| std::cmp::Reverse(value.range.start));
    for (value, name) in values {
        if let Some(Value::String(text)) = replaced.pointer_mut(&value.pointer)
            && text.get(value.range.clone()) == Some(value.value.expose())
        {
            text.replace_range(value.range.clone(), &secret_reference(name));
        }
    }
    replaced
}
