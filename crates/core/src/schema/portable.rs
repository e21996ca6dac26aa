//! Schemas that compile here and not in the validators of others.
//!
//! SDKs compile the `outputSchema` of every tool they list, those in TypeScript with Ajv, and one that does not compile
//! costs them the whole list. So a schema that goes to clients is also looked through for what Ajv refuses although it is
//! valid: patterns that are none in ECMAScript's Unicode mode, and a few keywords. In doubt a schema is refused: a client
//! can do without it.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};
use switchboard_wire::json::Raw;

use super::{keywords, read};

/// Whether validators of other languages compile `schema` too, and if not, why, in a sentence that is safe to show.
pub fn check(schema: &Raw) -> Result<(), String> {
    let mut schema = read(schema).map_err(|bad| bad.to_string())?;
    let mut refused = None;
    keywords::for_each_mut(&mut schema, &mut |schema| {
        refused = refused.or_else(|| refusal(schema));
    });
    refused.map_or(Ok(()), |why| Err(format!("other validators refuse {why}")))
}

/// What other validators refuse of one schema, not of those below it.
fn refusal(schema: &Map<String, Value>) -> Option<&'static str> {
    let named = schema.get("patternProperties").and_then(Value::as_object);
    let mut patterns = schema.get("pattern").and_then(Value::as_str).into_iter();
    let mut named = named.into_iter().flat_map(|named| named.keys());
    if patterns.any(|text| !is_ecma_pattern(text)) || named.any(|text| !is_ecma_pattern(text)) {
        return Some("a pattern that is none in ECMAScript");
    }
    if schema.contains_key("id") {
        return Some("`id`, which became `$id`");
    }
    if schema.contains_key("nullable") && !schema.contains_key("type") {
        return Some("`nullable` without `type`");
    }
    let is_empty = |values: &Value| values.as_array().is_some_and(Vec::is_empty);
    schema.get("enum").is_some_and(is_empty).then_some("an `enum` without a value")
}

/// Whether a pattern that compiles here also does in ECMAScript with the flag `u`, which knows fewer escapes, no flags
/// inside, and no class as the end of a range.
fn is_ecma_pattern(pattern: &str) -> bool {
    ECMA_PATTERN.as_ref().is_some_and(|ecma| ecma.is_match(pattern))
}

/// The tokens of such patterns. How they may follow one another was judged when the pattern was compiled here.
static ECMA_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let code = r"x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}";
    let escape = format!(r"\\(?:[\^$\\.*+?()\[\]{{}}|/tnvfr0]|{code})");
    let set = r"\\(?:[dDwWsS]|[pP]\{[A-Z][a-z]?\})";
    let group = r"\((?:\?(?::|=|!|<=|<!|<[A-Za-z_$][A-Za-z0-9_$]*>))?";
    let count = r"\{[0-9]+(?:,[0-9]*)?\}";
    let one = format!(r"(?:[^\\\[\]-]|{escape}|\\[b-])");
    let class = format!(r"\[\^?-?(?:{one}-{one}|{one}|{set})*-?\]");
    let plain = r"[^\\\[\]{}(?]";
    let atom = format!(r"(?:{plain}|{escape}|\\[bB]|{set}|{count}|{class})");
    // A question mark after a parenthesis is one of `group`, and anywhere else one of a repetition.
    Regex::new(&format!(r"(?s)\A(?:{group}|{atom}\??)*\z")).ok()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_ecmascript_are_told_from_others() {
        for pattern in [
            "",
            "^[a-z][a-z0-9_-]*$",
            r"^\d{4}-\d{2}(?:-\d{2,})?$",
            r"[\w.-]+@[\w\-]+\.[a-z]{2,}",
            r"^(?<year>\d+)\/(?=x)\p{Lu}\u00e9\x41[^\]\\]",
            "ü|[ä-ö]",
        ] {
            assert!(is_ecma_pattern(pattern), "{pattern}");
        }
        for pattern in
            ["(?i)a", "(?P<year>a)", r"\-", r"\@", r"\Aa\z", r"[\w-x]", r"\pL", "a{,3}", "a]", "a}"]
        {
            assert!(!is_ecma_pattern(pattern), "{pattern}");
        }
    }
}
