//! The check of arguments that a tool's schema wants repeated in headers (`x-mcp-header`).
//!
//! Used by `streamable` through `views`, which caches the schemas. The standard headers are checked
//! in `headers`; the client side is in `wire::client::headers`.

use std::{collections::HashMap, sync::Arc};

use http::{HeaderMap, HeaderName};
use parking_lot::Mutex;
use serde_json::Value;
use switchboard_wire::{
    Version,
    envelope::{Id, Request, ResponseOutcome, RpcMessage},
    json::{JsonKind, Raw},
    link::pair::link_pair,
    meta::{self, method},
    server::{HandlerSession, ServerHandler},
};
use tokio::sync::OnceCell;

use super::headers::{mismatch, single_value};
use crate::face::refusal::HttpRefusal;

const HEADER_ANNOTATION: &str = "x-mcp-header";
/// The most pages of a tool list that are read.
const MAX_PAGES: usize = 1000;
/// The number of kinds of clients whose tools are cached at once.
const MAX_KINDS: usize = 8;
/// The deepest schema level that is searched.
const MAX_DEPTH: usize = 64;

/// An argument that is repeated in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MirroredArgument {
    header: HeaderName,
    path: Vec<String>,
}

type ByTool = HashMap<String, Vec<MirroredArgument>>;

/// The header arguments of the tools of one view, found out once for each kind of client and again after each change.
/// Clients with other capabilities may see other tools.
#[derive(Debug, Default)]
pub(super) struct MirroredHeaders(Mutex<HashMap<String, Arc<OnceCell<ByTool>>>>);

// === impl MirroredHeaders ===

impl MirroredHeaders {
    /// Drops the cached arguments, since the tools have changed.
    pub(super) fn forget(&self) {
        self.0.lock().clear();
    }

    /// Checks the headers of a `tools/call`.
    pub(super) async fn check<V: ServerHandler>(
        &self,
        view: &Arc<V>,
        headers: &HeaderMap,
        request: &Request,
    ) -> Result<(), HttpRefusal> {
        let Some(params) = request.params() else {
            return Ok(());
        };
        let capabilities = params.get_path(&["_meta", meta::CLIENT_CAPABILITIES]).ok().flatten();
        let capabilities = capabilities.unwrap_or_else(Raw::empty_object);
        let cell = self.tools_of_kind(capabilities.as_str());
        let by_tool = match cell.get() {
            Some(by_tool) => by_tool,
            None => Box::pin(cell.get_or_init(|| list_mirrored(view, &capabilities))).await,
        };
        let name = params.get("name").ok().flatten().and_then(|name| name.to_text());
        let wanted = name.and_then(|name| by_tool.get(&name));
        let arguments = params.get("arguments").ok().flatten();
        wanted
            .into_iter()
            .flatten()
            .try_for_each(|mirrored| mirrored.check(headers, arguments.as_ref()))
    }

    /// The cached header arguments for clients with these capabilities, empty until they are found out.
    fn tools_of_kind(&self, capabilities: &str) -> Arc<OnceCell<ByTool>> {
        let mut kinds = self.0.lock();
        if let Some(known) = kinds.get(capabilities) {
            return Arc::clone(known);
        }
        if kinds.len() >= MAX_KINDS {
            kinds.clear();
        }
        Arc::clone(kinds.entry(capabilities.to_owned()).or_default())
    }
}

// === impl MirroredArgument ===

impl MirroredArgument {
    fn check(&self, headers: &HeaderMap, arguments: Option<&Raw>) -> Result<(), HttpRefusal> {
        let name = &self.header;
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let value = arguments.and_then(|arguments| arguments.get_path(&path).ok().flatten());
        // A client cannot repeat an object or a list in a header; the call itself refuses those.
        let value = value.filter(|value| {
            !matches!(value.kind(), JsonKind::Null | JsonKind::Object | JsonKind::Array)
        });
        match (single_value(headers, name)?, value) {
            (None, None) => Ok(()),
            (Some(said), Some(value)) if is_same_value(&said, &value) => Ok(()),
            (None, Some(_)) => Err(mismatch(format!("the header `{name}` is missing"))),
            (Some(_), _) => Err(mismatch(format!("the header `{name}` is not what the body says"))),
        }
    }
}

/// Compares numbers by value, other scalars as text.
fn is_same_value(said: &str, value: &Raw) -> bool {
    match value.kind() {
        JsonKind::String => value.to_text().as_deref() == Some(said),
        JsonKind::Number => {
            let numbers = (said.parse::<f64>(), value.as_str().parse::<f64>());
            said == value.as_str()
                || matches!(numbers, (Ok(said), Ok(value)) if said.to_bits() == value.to_bits())
        }
        _ => value.as_str() == said,
    }
}

/// Lists the header arguments of every tool that a view shows to clients with these capabilities.
async fn list_mirrored<V: ServerHandler>(view: &Arc<V>, capabilities: &Raw) -> ByTool {
    let mut by_tool = ByTool::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let Some(page) = page(view, capabilities, cursor.as_ref()).await else {
            break;
        };
        let tools = page.get("tools").ok().flatten();
        for tool in tools.iter().flat_map(Raw::elements) {
            let name = tool.get("name").ok().flatten().and_then(|name| name.to_text());
            if let (Some(name), Some(wanted)) = (name, mirrored_arguments(&tool)) {
                by_tool.insert(name, wanted);
            }
        }
        match page.get("nextCursor").ok().flatten() {
            Some(next) if Some(&next) != cursor.as_ref() => cursor = Some(next),
            _ => break,
        }
    }
    by_tool
}

/// One page of the list, as a modern client with these capabilities would get it.
async fn page<V: ServerHandler>(
    view: &Arc<V>,
    capabilities: &Raw,
    cursor: Option<&Raw>,
) -> Option<Raw> {
    let cursor = cursor.map(|cursor| format!(r#""cursor":{cursor},"#)).unwrap_or_default();
    let params = Raw::parse(format!(
        r#"{{{cursor}"_meta":{{"{}":"{}","{}":{capabilities}}}}}"#,
        meta::PROTOCOL_VERSION,
        Version::LATEST,
        meta::CLIENT_CAPABILITIES
    ));
    let request = Request::new(&Id::number(1), method::TOOLS_LIST, Some(&params.ok()?));
    let (_, (writer, _)) = link_pair();
    let session = HandlerSession::new(Arc::clone(view), writer);
    match session.answer(Ok(RpcMessage::Request(request))).await?.outcome() {
        ResponseOutcome::Result(page) => Some(page),
        ResponseOutcome::Error(error) => {
            // Without the list, the check is left to the server behind.
            tracing::debug!(%error, "the tools cannot be listed, so headers go unchecked");
            None
        }
    }
}

/// The mirrored arguments of one tool; most have none.
fn mirrored_arguments(tool: &Raw) -> Option<Vec<MirroredArgument>> {
    let schema = tool.get("inputSchema").ok()??;
    memchr::memmem::find(schema.as_str().as_bytes(), HEADER_ANNOTATION.as_bytes())?;
    let mut found = Vec::new();
    walk(&schema.decode().ok()?, &mut Vec::new(), &mut found);
    (!found.is_empty()).then_some(found)
}

/// Searches `properties` only: other keywords do not lead to a definite argument.
fn walk(schema: &Value, path: &mut Vec<String>, found: &mut Vec<MirroredArgument>) {
    if path.len() > MAX_DEPTH {
        return;
    }
    let name = schema.get(HEADER_ANNOTATION).and_then(Value::as_str).filter(|_| !path.is_empty());
    let header = name.and_then(|name| HeaderName::try_from(format!("mcp-param-{name}")).ok());
    found.extend(header.map(|header| MirroredArgument { header, path: path.clone() }));
    for (name, property) in
        schema.get("properties").and_then(Value::as_object).into_iter().flatten()
    {
        path.push(name.clone());
        walk(property, path, found);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn tool() -> Vec<MirroredArgument> {
        let tool = r#"{"name":"t","inputSchema":{"properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "deep":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}},
            "items":{"items":{"x-mcp-header":"Never"}}}}}"#;
        mirrored_arguments(&Raw::parse(tool).unwrap()).unwrap()
    }

    #[test]
    fn headers_and_arguments_agree_or_not() {
        for (headers, arguments, expected) in [
            (&[][..], "{}", true),
            (&[], r#"{"region":null}"#, true),
            (&[("mcp-param-region", "here")], r#"{"region":"here"}"#, true),
            (&[("mcp-param-region", "=?base64?aGVyZQ==?=")], r#"{"region":"here"}"#, true),
            (&[("mcp-param-n", "42")], r#"{"deep":{"n":42.0}}"#, true),
            (&[("mcp-param-other", "x")], "{}", true),
            (&[("mcp-param-region", "7")], r#"{"region":7}"#, true),
            (&[("mcp-param-n", "true")], r#"{"deep":{"n":true}}"#, true),
            (&[], r#"{"region":{"a":1}}"#, true),
            (&[], r#"{"region":["here"]}"#, true),
            (&[], r#"{"region":"here"}"#, false),
            (&[("mcp-param-region", "there")], r#"{"region":"here"}"#, false),
            (&[("mcp-param-region", "Here")], r#"{"region":"here"}"#, false),
            (&[("mcp-param-region", "here")], "{}", false),
            (&[("mcp-param-n", "43")], r#"{"deep":{"n":42}}"#, false),
            (&[("mcp-param-region", "=?base64?*?=")], r#"{"region":"here"}"#, false),
        ] {
            let headers = headers.iter().map(|(name, value)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            });
            let headers: HeaderMap = headers.collect();
            let arguments_raw = Raw::parse(arguments).unwrap();
            let checked = tool()
                .iter()
                .try_for_each(|mirrored| mirrored.check(&headers, Some(&arguments_raw)));
            assert_eq!(checked.is_ok(), expected, "{headers:?} {arguments}");
        }
    }
}
