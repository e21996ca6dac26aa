//! HTTP headers of a modern request: method, name, and the arguments that a tool's schema maps to headers.
//!
//! Used by `request`, `handshake` and `lists`. The headers repeat parts of the body so that load balancers can
//! route without reading bodies. A tool with header annotations that break the rules is left out of the list; the other
//! tools stay. It does not check the headers of incoming requests (`gateway::face::streamable::mirrored`).

use std::collections::HashSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::{
    Error, Version,
    json::{JsonKind, Raw},
    meta::method,
};

pub(crate) const PROTOCOL_VERSION_HEADER: HeaderName =
    HeaderName::from_static("mcp-protocol-version");
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");
const HEADER_ANNOTATION: &str = "x-mcp-header";
/// The deepest schema level that is searched for header annotations.
const MAX_SCHEMA_DEPTH: usize = 64;

/// An argument that is also sent in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeaderParam {
    header: HeaderName,
    path: Vec<String>,
}

/// The standard headers of a request.
pub(crate) fn standard_headers(version: Version, asked: &str, params: Option<&Raw>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(PROTOCOL_VERSION_HEADER, HeaderValue::from_static(version.as_str()));
    if let Ok(value) = HeaderValue::from_str(asked) {
        headers.insert(METHOD_HEADER, value);
    }
    if let Some(name) = request_name(asked, params) {
        headers.insert(NAME_HEADER, encode(&name));
    }
    headers
}

/// The value of the name header: the tool or prompt name, the resource URI, or the task id.
fn request_name(asked: &str, params: Option<&Raw>) -> Option<String> {
    let key = match asked {
        method::TOOLS_CALL | method::PROMPTS_GET => "name",
        method::RESOURCES_READ => "uri",
        method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL => "taskId",
        _ => return None,
    };
    params?.get(key).ok()??.to_text()
}

/// Adds the headers that a tool's schema asks for.
pub(crate) fn add_params(
    headers: &mut HeaderMap,
    wanted: &[HeaderParam],
    params: Option<&Raw>,
) -> Result<(), Error> {
    let Some(arguments) = params.and_then(|params| params.get("arguments").ok().flatten()) else {
        return Ok(());
    };
    for param in wanted {
        let path: Vec<&str> = param.path.iter().map(String::as_str).collect();
        let Some(value) = arguments.get_path(&path).ok().flatten() else { continue };
        let text = header_text(&value).map_err(|NoHeaderText| Error::HeaderArgument {
            path: path.iter().map(|step| pointer_step(step)).collect(),
        })?;
        if let Some(text) = text {
            headers.insert(param.header.clone(), encode(&text));
        }
    }
    Ok(())
}

/// Escapes one step of a JSON pointer.
fn pointer_step(key: &str) -> String {
    format!("/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// The value is an object or a list and has no header text.
struct NoHeaderText;

/// Converts a scalar to header text. The server checks its type against the schema. `null` has no header.
fn header_text(value: &Raw) -> Result<Option<String>, NoHeaderText> {
    match value.kind() {
        JsonKind::Null => Ok(None),
        JsonKind::String => Ok(value.to_text()),
        JsonKind::Bool => Ok(Some(value.to_string())),
        JsonKind::Number => {
            Ok(Some(whole_number(value.as_str()).unwrap_or_else(|| value.to_string())))
        }
        JsonKind::Object | JsonKind::Array => Err(NoHeaderText),
    }
}

fn whole_number(text: &str) -> Option<String> {
    if text.parse::<i64>().is_ok() {
        return Some(text.to_owned());
    }
    let number: f64 = text.parse().ok()?;
    (number.fract() == 0.0 && number.abs() < 9e15).then(|| format!("{number:.0}"))
}

/// Encodes a header value: as it is where HTTP allows it, else in Base64 between markers.
fn encode(text: &str) -> HeaderValue {
    let visible = text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    let padded = text.trim_matches([' ', '\t']).len() != text.len();
    let marked = text.starts_with("=?base64?") && text.ends_with("?=");
    let plain = visible && !padded && !marked;
    let sent =
        if plain { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) };
    HeaderValue::try_from(sent).unwrap_or(HeaderValue::from_static(""))
}

/// Reads the header annotations of a tool. The error says which rule they break.
pub(crate) fn header_annotations(tool: &Raw) -> Result<Vec<HeaderParam>, String> {
    let Ok(Some(schema)) = tool.get("inputSchema") else {
        return Ok(Vec::new());
    };
    // Most tools have no annotations, and their schemas need not be decoded.
    if memchr::memmem::find(schema.as_str().as_bytes(), HEADER_ANNOTATION.as_bytes()).is_none() {
        return Ok(Vec::new());
    }
    let schema: Value = schema.decode().map_err(|error| error.to_string())?;
    let mut walk = AnnotationWalk::default();
    walk.schema(&schema, &mut Vec::new(), SchemaReach::Static, 0)?;
    Ok(walk.found)
}

#[derive(Default)]
struct AnnotationWalk {
    found: Vec<HeaderParam>,
    names: HashSet<HeaderName>,
}

/// Whether a position in a schema is reached through `properties` alone.
#[derive(Clone, Copy, PartialEq)]
enum SchemaReach {
    Static,
    Dynamic,
}

impl AnnotationWalk {
    fn schema(
        &mut self,
        schema: &Value,
        path: &mut Vec<String>,
        reach: SchemaReach,
        depth: usize,
    ) -> Result<(), String> {
        if depth > MAX_SCHEMA_DEPTH {
            return Err("its schema is nested too deeply".into());
        }
        match schema {
            Value::Object(members) => {
                for (key, value) in members {
                    self.keyword(key, value, schema, path, reach, depth)?;
                }
                Ok(())
            }
            Value::Array(items) => items
                .iter()
                .try_for_each(|item| self.schema(item, path, SchemaReach::Dynamic, depth + 1)),
            _ => Ok(()),
        }
    }

    fn keyword(
        &mut self,
        key: &str,
        value: &Value,
        schema: &Value,
        path: &mut Vec<String>,
        reach: SchemaReach,
        depth: usize,
    ) -> Result<(), String> {
        match (key, value) {
            (HEADER_ANNOTATION, _) => self.annotation(value, schema, path, reach),
            // These members hold data, not schemas.
            ("const" | "default" | "enum" | "example" | "examples", _) => Ok(()),
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    path.push(name.clone());
                    self.schema(property, path, reach, depth + 1)?;
                    path.pop();
                }
                Ok(())
            }
            // The keys of these members are names that the author chose; their values are schemas.
            (
                "$defs" | "definitions" | "patternProperties" | "dependentSchemas",
                Value::Object(map),
            ) => map
                .values()
                .try_for_each(|inner| self.schema(inner, path, SchemaReach::Dynamic, depth + 1)),
            _ => self.schema(value, path, SchemaReach::Dynamic, depth + 1),
        }
    }

    fn annotation(
        &mut self,
        value: &Value,
        schema: &Value,
        path: &[String],
        reach: SchemaReach,
    ) -> Result<(), String> {
        let place = if path.is_empty() { "the root".to_owned() } else { path.join(".") };
        if reach == SchemaReach::Dynamic || path.is_empty() {
            return Err(format!(
                "`{HEADER_ANNOTATION}` stands where no argument can be told apart"
            ));
        }
        let name = value
            .as_str()
            .filter(|name| !name.is_empty())
            .ok_or_else(|| format!("`{HEADER_ANNOTATION}` of `{place}` is not a name"))?;
        let header = HeaderName::try_from(format!("mcp-param-{name}"))
            .map_err(|_| format!("`{HEADER_ANNOTATION}` of `{place}` is not a header name"))?;
        if !is_primitive(schema.get("type")) {
            return Err(format!("`{place}` has a header but is no string, integer or boolean"));
        }
        if !self.names.insert(header.clone()) {
            return Err(format!("two arguments want the header `{header}`"));
        }
        self.found.push(HeaderParam { header, path: path.to_vec() });
        Ok(())
    }
}

fn is_primitive(declared: Option<&Value>) -> bool {
    let allowed = |name: &Value| matches!(name.as_str(), Some("string" | "integer" | "boolean"));
    match declared {
        Some(Value::Array(names)) => {
            names.iter().any(allowed) && names.iter().all(|name| allowed(name) || name == "null")
        }
        Some(name) => allowed(name),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(schema: &str) -> Raw {
        Raw::parse(format!(r#"{{"name":"t","inputSchema":{schema}}}"#)).unwrap()
    }

    #[test]
    fn arguments_become_headers() {
        let tool = tool(
            r#"{"type":"object","properties":{
                "region":{"type":"string","x-mcp-header":"Region"},
                "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},
                "on":{"type":["boolean","null"],"x-mcp-header":"On"},
                "x-mcp-header":{"type":"string","default":{"x-mcp-header":1}}}}"#,
        );
        let wanted = header_annotations(&tool).unwrap();
        let params = Raw::parse(
            r#"{"name":"t","arguments":{"region":" Zürich","deep":{"n":42.0},"on":null}}"#,
        )
        .unwrap();
        let mut headers = standard_headers(Version::LATEST, method::TOOLS_CALL, Some(&params));
        add_params(&mut headers, &wanted, Some(&params)).unwrap();
        let shown = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(shown("mcp-param-region").as_deref(), Some("=?base64?IFrDvHJpY2g=?="));
        assert_eq!(shown("mcp-param-n").as_deref(), Some("42"));
        assert_eq!(shown("mcp-param-on"), None);
        assert_eq!(shown("mcp-name").as_deref(), Some("t"));
        assert_eq!(shown("mcp-method").as_deref(), Some("tools/call"));
        assert_eq!(encode("=?base64?literal?="), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
    }

    #[test]
    fn annotations_that_break_the_rules() {
        for schema in [
            r#"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":5}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"a\nb"}}}"#,
            r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#,
            r#"{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}"#,
            r#"{"properties":{"a":{"x-mcp-header":"A"}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"X"},"b":{"type":"string","x-mcp-header":"x"}}}"#,
            r#"{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}"#,
            r#"{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#,
            r#"{"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}"#,
            r#"{"x-mcp-header":"A","type":"string"}"#,
        ] {
            assert!(header_annotations(&tool(schema)).is_err(), "{schema}");
        }
    }
}
