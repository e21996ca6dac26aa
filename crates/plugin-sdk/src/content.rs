//! The content of results: text, images, audio, resources and structured values.
//!
//! Used by plugin authors as return values, and by `return_types`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// One content block of a tool result or a prompt message.
#[derive(Debug, Clone, PartialEq)]
pub struct Content(Value);

/// One part of a resource's contents.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents(Value);

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Message(Value);

/// The result of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult(Map<String, Value>);

/// A structured result. Its type becomes the tool's output schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Json<T>(pub T);

// === impl Content ===

impl Content {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self(json!({ "type": "text", "text": text.into() }))
    }

    /// An image.
    pub fn image(bytes: impl AsRef<[u8]>, mime: &str) -> Self {
        Self(json!({ "type": "image", "data": STANDARD.encode(bytes), "mimeType": mime }))
    }

    /// Audio.
    pub fn audio(bytes: impl AsRef<[u8]>, mime: &str) -> Self {
        Self(json!({ "type": "audio", "data": STANDARD.encode(bytes), "mimeType": mime }))
    }

    /// A resource with its contents.
    pub fn resource(Contents(held): Contents) -> Self {
        Self(json!({ "type": "resource", "resource": held }))
    }

    /// A link to a resource.
    pub fn link(uri: &str, name: &str) -> Self {
        Self(json!({ "type": "resource_link", "uri": uri, "name": name }))
    }

    /// Adds annotations such as `audience` and `priority`.
    #[must_use]
    pub fn annotated(mut self, annotations: Value) -> Self {
        self.0["annotations"] = annotations;
        self
    }

    pub(crate) fn into_value(self) -> Value {
        self.0
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

// === impl Contents ===

impl Contents {
    /// Contents of text.
    pub fn text(uri: &str, mime: &str, text: impl Into<String>) -> Self {
        Self(json!({ "uri": uri, "mimeType": mime, "text": text.into() }))
    }

    /// Binary contents.
    pub fn blob(uri: &str, mime: &str, bytes: impl AsRef<[u8]>) -> Self {
        Self(json!({ "uri": uri, "mimeType": mime, "blob": STANDARD.encode(bytes) }))
    }

    pub(crate) fn into_value(self) -> Value {
        self.0
    }
}

// === impl Message ===

impl Message {
    /// A message of the user.
    pub fn user(content: impl Into<Content>) -> Self {
        Self(json!({ "role": "user", "content": content.into().0 }))
    }

    /// A message of the model.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self(json!({ "role": "assistant", "content": content.into().0 }))
    }

    pub(crate) fn into_value(self) -> Value {
        self.0
    }
}

// === impl ToolResult ===

impl ToolResult {
    /// A result of some content blocks.
    pub fn new(content: impl IntoIterator<Item = Content>) -> Self {
        let content: Vec<Value> = content.into_iter().map(Content::into_value).collect();
        Self(Map::from_iter([("content".to_owned(), Value::Array(content))]))
    }

    /// An error result: the call was understood and cannot be done.
    pub fn error(text: impl Into<String>) -> Self {
        let mut result = Self::new([Content::text(text)]);
        result.0.insert("isError".into(), true.into());
        result
    }

    /// Adds the structured form of the content.
    #[must_use]
    pub fn structured(mut self, structure: Value) -> Self {
        self.0.insert("structuredContent".into(), structure);
        self
    }

    pub(crate) fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

impl<T: Serialize + JsonSchema> Json<T> {
    pub(crate) fn into_result(self) -> serde_json::Result<ToolResult> {
        let value = serde_json::to_value(self.0)?;
        Ok(ToolResult::new([Content::text(value.to_string())]).structured(value))
    }
}
