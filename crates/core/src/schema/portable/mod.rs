//! Finds schemas that our validator accepts but validators of other languages refuse.
//!
//! Used by `catalog::tool` for output schemas, which go to clients. SDKs compile the `outputSchema` of every tool
//! they list, those in TypeScript with Ajv, and one schema that does not compile costs them the whole list. In
//! doubt a schema is refused: a client can do without it.

mod keyword_form;
mod pattern;

use serde_json::{Map, Value};
use switchboard_wire::json::Raw;

use super::{graph::SchemaGraph, read};
use pattern::is_ecma_pattern;

/// The dialects that Ajv in the TypeScript SDKs reads, without their scheme.
const DIALECTS: [&str; 4] = [
    "//json-schema.org/draft/2020-12/schema",
    "//json-schema.org/draft/2019-09/schema",
    "//json-schema.org/draft-07/schema",
    "//json-schema.org/draft-06/schema",
];
/// Names that may occur at the root only: Ajv stores them for all schemas of a client, and refuses duplicates.
const ROOT_NAMES: [&str; 4] = ["$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"];
/// Keywords that Ajv or its formats add to the language. Each breaks the compilation or the client in some form:
/// `$async` turns a failed check into an unhandled rejection.
const KEYWORDS_OF_AJV: [&str; 5] = [
    "$async",
    "formatMinimum",
    "formatMaximum",
    "formatExclusiveMinimum",
    "formatExclusiveMaximum",
];

/// Checks whether validators of other languages compile `schema` too; the error is a sentence that is safe to show.
pub fn check_portable(schema: &Raw) -> Result<(), String> {
    let schema = read(schema).map_err(|bad| bad.to_string())?;
    let (graph, schemas) = SchemaGraph::with_schemas(&schema).map_err(|bad| bad.to_string())?;
    let mut below = schemas.iter().skip(1);
    let refused =
        refusal_at_root(&schema).or_else(|| below.find_map(|schema| refusal_below(schema)));
    let looped = || graph.loops().then(|| "a `$ref` that returns to itself".to_owned());
    refused.or_else(looped).map_or(Ok(()), |why| Err(format!("other validators refuse {why}")))
}

fn refusal_at_root(schema: &Value) -> Option<String> {
    schema.as_object().and_then(refusal)
}

fn refusal_below(schema: &Value) -> Option<String> {
    let schema = match schema {
        Value::Bool(_) => return None,
        Value::Object(schema) => schema,
        _ => return Some("a `$ref` to something that is no schema".to_owned()),
    };
    let name = ROOT_NAMES.iter().find(|name| schema.contains_key(**name));
    name.map(|name| format!("`{name}` below the root")).or_else(|| refusal(schema))
}

/// Why other validators refuse one schema, apart from the schemas below it.
fn refusal(schema: &Map<String, Value>) -> Option<String> {
    if schema.get("$schema").is_some_and(|dialect| !is_common_dialect(dialect)) {
        return Some("this `$schema`".to_owned());
    }
    if let Some(keyword) = keyword_form::wrong_keyword(schema) {
        return Some(format!("this value of `{keyword}`"));
    }
    if !patterns(schema).all(is_ecma_pattern) {
        return Some("a pattern that is none in ECMAScript".to_owned());
    }
    if schema.contains_key("id") {
        return Some("`id`, which became `$id`".to_owned());
    }
    if schema.get("nullable").is_some_and(|nullable| !is_fit_nullable(nullable, schema.get("type")))
    {
        return Some("this `nullable`".to_owned());
    }
    let keyword = KEYWORDS_OF_AJV.iter().find(|keyword| schema.contains_key(**keyword));
    keyword.map(|keyword| format!("`{keyword}`"))
}

fn is_common_dialect(dialect: &Value) -> bool {
    let Some(dialect) = dialect.as_str() else { return false };
    let dialect = dialect.strip_suffix('#').unwrap_or(dialect);
    let path = dialect.strip_prefix("https:").or_else(|| dialect.strip_prefix("http:"));
    path.is_some_and(|path| DIALECTS.contains(&path))
}

fn patterns(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let named = schema.get("patternProperties").and_then(Value::as_object);
    let pattern = schema.get("pattern").and_then(Value::as_str);
    pattern.into_iter().chain(named.into_iter().flat_map(|named| named.keys().map(String::as_str)))
}

/// Whether `nullable`, a keyword of `OpenAPI`, agrees with `type`.
fn is_fit_nullable(nullable: &Value, of: Option<&Value>) -> bool {
    let is_null = |name: &Value| name == "null";
    let admits_null = match of {
        None => return false,
        Some(Value::Array(types)) => types.iter().any(is_null),
        Some(name) => is_null(name),
    };
    nullable.as_bool().is_some_and(|nullable| nullable || !admits_null)
}
