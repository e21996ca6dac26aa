//! JSON Schema validation of tool arguments, safe against hostile schemas.
//!
//! Used by `catalog::tool` (schemas of every tool), by `dispatch::tool` (arguments of every call), by the command
//! line's forms and by the plugin crate. A server writes the schema and a model writes the arguments; either may be
//! hostile or odd. So schemas have size limits, references never leave the document, patterns run in linear time,
//! and a check that would take too long is not begun. The check works on a copy: the arguments that are sent stay
//! unchanged.
//!
//! It does not know which tool a schema belongs to.

mod argument_builder;
mod coerce;
mod decode;
mod effort;
mod graph;
mod keywords;
mod mistake;
mod portable;

use jsonschema::{Draft, PatternOptions, ValidationOptions};
use serde_json::{Map, Value};
use switchboard_wire::json::{JsonKind, Raw};

pub use coerce::{ArgumentForm, TypedArgument, build_arguments};
pub use mistake::{ArgumentMistake, InvalidArguments};
pub use portable::check_portable;

use graph::SchemaGraph;
use mistake::{MAX_MISTAKES, shortened};

/// The longest schema in bytes.
const MAX_BYTES: usize = 1024 * 1024;
/// The deepest nesting of a schema.
const MAX_DEPTH: usize = 64;
/// How many JSON values a schema may have.
const MAX_VALUES: usize = 20_000;
/// How many patterns a schema may have; each costs memory while it is compiled.
const MAX_PATTERNS: usize = 256;
/// How large one compiled pattern may be.
const MAX_PATTERN_BYTES: usize = 512 * 1024;

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema is neither an object nor a boolean.
    #[error("the schema is not an object")]
    NotAnObject,
    /// The schema exceeds a limit.
    #[error("the schema has too many {what} (at most {most})")]
    TooLarge {
        /// The kind of limit.
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// The schema refers to another document.
    #[error("the schema refers to `{0}`, and nothing is fetched")]
    Remote(String),
    /// A reference of the schema leads nowhere.
    #[error("the schema refers to `{0}`, which is not in it")]
    Unresolved(String),
    /// The schema has dynamic references across several documents.
    #[error("the schema has dynamic references between schemas with ids of their own")]
    Dynamic,
    /// The schema is not valid.
    #[error("the schema is not valid: {0}")]
    Invalid(String),
}

/// A compiled schema.
#[derive(Debug)]
pub struct SchemaValidator {
    /// The validator.
    compiled: jsonschema::Validator,
    /// The graph of the schema, to estimate the effort of a check.
    graph: SchemaGraph,
    /// The schema itself, for its property names.
    schema: Value,
}

/// Checks whether `schema` can be used; the error is a sentence that is safe to show.
pub fn check_schema(schema: &Raw) -> Result<(), String> {
    SchemaValidator::compile(schema).map(|_| ()).map_err(|bad| bad.to_string())
}

// === impl SchemaValidator ===

impl SchemaValidator {
    /// Compiles `schema`: 2020-12 unless its `$schema` names another draft.
    pub fn compile(schema: &Raw) -> Result<Self, SchemaError> {
        let mut schema = read(schema)?;
        let graph = SchemaGraph::of(&schema)?;
        let draft = draft_of(&schema);
        keywords::for_each_mut(&mut schema, &mut |schema| {
            // The draft was read above; the validator must not look up a `$schema` that it does not know.
            schema.remove("$schema");
            encode_references(schema);
            remove_unsupported_patterns(schema);
        });
        let compiled = options(draft).build(&schema).map_err(|error| {
            let at = error.instance_path().as_str();
            let place =
                if at.is_empty() { String::new() } else { format!(" at {}", shortened(at)) };
            SchemaError::Invalid(format!("{}{place}", shortened(&error.masked().to_string())))
        })?;
        Ok(Self { compiled, graph, schema })
    }

    /// Checks `arguments`. The mistakes repeat names of properties, but no values.
    pub fn validate(&self, arguments: &Raw) -> Result<(), InvalidArguments> {
        let Ok(value) = decode::value(arguments.as_str()) else {
            return Err(InvalidArguments::one("", "nested too deep to be checked"));
        };
        if effort::check_effort(&self.graph, &value, arguments.as_str().len()).is_err() {
            return Err(InvalidArguments::one(
                "",
                "too intricate to be checked against the tool's schema",
            ));
        }
        if self.compiled.is_valid(&value) {
            return Ok(());
        }
        let errors = self.compiled.iter_errors(&value);
        let problems: Vec<_> = errors
            .flat_map(|error| mistake::mistakes(&error, &self.schema))
            .take(MAX_MISTAKES)
            .collect();
        if problems.is_empty() {
            return Err(InvalidArguments::one("", "does not fit the tool's schema"));
        }
        Err(InvalidArguments { problems })
    }
}

fn options(draft: Draft) -> ValidationOptions<'static> {
    let patterns =
        PatternOptions::regex().size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES);
    jsonschema::options()
        .with_draft(draft)
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(patterns)
}

/// Decodes the schema and checks the size limits.
fn read(schema: &Raw) -> Result<Value, SchemaError> {
    if !matches!(schema.kind(), JsonKind::Object | JsonKind::Bool) {
        return Err(SchemaError::NotAnObject);
    }
    if schema.as_str().len() > MAX_BYTES {
        return Err(SchemaError::TooLarge { what: "bytes", most: MAX_BYTES });
    }
    let too_deep = SchemaError::TooLarge { what: "levels", most: MAX_DEPTH };
    let value = decode::value(schema.as_str()).map_err(|_| too_deep.clone())?;
    let mut patterns = 0;
    let values = count(&value, MAX_DEPTH, &mut patterns).ok_or(too_deep)?;
    if values > MAX_VALUES {
        return Err(SchemaError::TooLarge { what: "values", most: MAX_VALUES });
    }
    if patterns > MAX_PATTERNS {
        return Err(SchemaError::TooLarge { what: "patterns", most: MAX_PATTERNS });
    }
    Ok(value)
}

/// Counts the values; `None` if they are nested too deep.
fn count(value: &Value, levels: usize, patterns: &mut usize) -> Option<usize> {
    let below = levels.checked_sub(1)?;
    let mut values = 1;
    match value {
        Value::Object(map) => {
            *patterns += usize::from(map.get("pattern").is_some_and(Value::is_string));
            let named = map.get("patternProperties").and_then(Value::as_object);
            *patterns += named.map_or(0, Map::len);
            for inner in map.values() {
                values += count(inner, below, patterns)?;
            }
        }
        Value::Array(list) => {
            for inner in list {
                values += count(inner, below, patterns)?;
            }
        }
        _ => {}
    }
    Some(values)
}

fn draft_of(schema: &Value) -> Draft {
    match Draft::default().detect(schema) {
        Draft::Unknown => Draft::Draft202012,
        known => known,
    }
}

/// Percent-encodes characters in references that a URI must not contain: generators write names like
/// `#/$defs/List[Foo]`, which validators of other languages accept.
fn encode_references(schema: &mut Map<String, Value>) {
    for keyword in ["$ref", "$dynamicRef"] {
        if let Some(Value::String(reference)) = schema.get_mut(keyword)
            && let Some(fragment) = reference.strip_prefix('#')
        {
            *reference = format!("#{}", encoded_fragment(fragment));
        }
    }
}

fn encoded_fragment(fragment: &str) -> String {
    let is_allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?%".contains(&byte);
    let encoded = fragment.bytes().map(|byte| match byte {
        byte if is_allowed(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    encoded.collect()
}

/// Removes patterns that cannot run in linear time (lookarounds and backreferences). The server checks them itself;
/// a check that is too weak is better than a tool that cannot be called.
fn remove_unsupported_patterns(schema: &mut Map<String, Value>) {
    if schema.get("pattern").and_then(Value::as_str).is_some_and(looks_around) {
        schema.remove("pattern");
    }
    let Some(Value::Object(patterns)) = schema.get_mut("patternProperties") else { return };
    let before = patterns.len();
    patterns.retain(|pattern, _| !looks_around(pattern));
    if patterns.len() < before {
        // Members that the removed patterns allowed would now count as additional.
        schema.remove("additionalProperties");
        schema.remove("unevaluatedProperties");
    }
}

fn looks_around(pattern: &str) -> bool {
    let back = pattern
        .as_bytes()
        .windows(2)
        .any(|two| two[0] == b'\\' && matches!(two[1], b'1'..=b'9' | b'k'));
    back || ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|start| pattern.contains(start))
}
