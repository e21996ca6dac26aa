//! Decodes JSON text to a tree for validation, with any numbers and strings.
//!
//! Used by `schema`. A number beyond `f64` becomes the nearest one, and half a surrogate pair becomes a replacement
//! character. Only the check uses the tree; the text that is sent stays unchanged.

use serde_json::{Map, Number, Value};
use switchboard_wire::json::{JsonElements, JsonMembers, decode_string};

/// How deep arguments and schemas may nest.
pub(super) const MAX_DEPTH: usize = 128;

/// The value is nested too deep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NestingTooDeep;

/// Decodes `text`, one well-formed JSON value.
pub(super) fn value(text: &str) -> Result<Value, NestingTooDeep> {
    // `serde_json` reads nearly all values, and is much faster.
    serde_json::from_str(text).or_else(|_| decode_leniently(text, 0))
}

fn decode_leniently(text: &str, depth: usize) -> Result<Value, NestingTooDeep> {
    if depth == MAX_DEPTH {
        return Err(NestingTooDeep);
    }
    Ok(match text.as_bytes().first() {
        Some(b'{') => Value::Object(members(text, depth)?),
        Some(b'[') => {
            let items = JsonElements::of(text).map(|item| decode_leniently(item, depth + 1));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Some(b'"') => Value::String(string(text)),
        Some(b't') => Value::Bool(true),
        Some(b'f') => Value::Bool(false),
        Some(b'-' | b'0'..=b'9') => number(text),
        _ => Value::Null,
    })
}

fn members(text: &str, depth: usize) -> Result<Map<String, Value>, NestingTooDeep> {
    JsonMembers::of(text)
        .map(|member| Ok((string(member.key), decode_leniently(member.value, depth + 1)?)))
        .collect()
}

fn string(quoted: &str) -> String {
    match decode_string(quoted) {
        Some(text) => text.into_owned(),
        // Only length and kind matter to a check; a lone surrogate counts as one character.
        None => quoted.trim_matches('"').replace('\\', "\u{fffd}"),
    }
}

fn number(text: &str) -> Value {
    if let Ok(whole) = text.parse::<i64>() {
        return whole.into();
    }
    if let Ok(whole) = text.parse::<u64>() {
        return whole.into();
    }
    let nearest = text.parse::<f64>().unwrap_or(0.0).clamp(f64::MIN, f64::MAX);
    Number::from_f64(nearest).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_becomes_one() {
        for (text, expected) in [
            ("9223372036854775807", Value::from(i64::MAX)),
            ("18446744073709551615", Value::from(u64::MAX)),
            ("1e400", Value::from(f64::MAX)),
            ("-1e400", Value::from(f64::MIN)),
            ("1e-400", Value::from(0.0)),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
        let mixed = value(r#"{"a":[1e400,"\ud800"],"b":{"c":null,"d":true}}"#).unwrap();
        assert_eq!(mixed["a"][0], Value::from(f64::MAX));
        assert_eq!(mixed["b"]["d"], Value::Bool(true));
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |levels: usize| format!("{}1e400{}", "[".repeat(levels), "]".repeat(levels));
        assert!(value(&nested(MAX_DEPTH - 1)).is_ok());
        assert_eq!(value(&nested(MAX_DEPTH)), Err(NestingTooDeep));
    }
}
