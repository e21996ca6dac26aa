//! The return types of plugin functions, and their conversion into MCP results.
//!
//! Used by `item`; plugin authors may implement the traits for their own types.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{Content, Contents, Json, Message, Result, ToolResult, item::schema};

/// The return types of a tool.
pub trait IntoToolResult {
    /// The schema of the structured content, if there is any.
    fn output_schema() -> Option<Value> {
        None
    }

    /// Converts into a tool result.
    fn into_tool_result(self) -> Result<ToolResult>;
}

/// The return types of a prompt.
pub trait IntoMessages {
    /// Converts into messages.
    fn into_messages(self) -> Result<Vec<Message>>;
}

/// The return types of a resource.
pub trait IntoContents {
    /// Converts into the resource's contents.
    fn into_contents(self, uri: &str, mime: &str) -> Result<Vec<Contents>>;
}

/// Text, as a `String` or `&str`.
pub trait IntoText: Into<String> {}
impl IntoText for String {}
impl IntoText for &str {}

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> Result<ToolResult> {
        Ok(self)
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<ToolResult> {
        Ok(ToolResult::new([]))
    }
}

impl IntoToolResult for Content {
    fn into_tool_result(self) -> Result<ToolResult> {
        Ok(ToolResult::new([self]))
    }
}

impl IntoToolResult for Vec<Content> {
    fn into_tool_result(self) -> Result<ToolResult> {
        Ok(ToolResult::new(self))
    }
}

impl<T: IntoText> IntoToolResult for T {
    fn into_tool_result(self) -> Result<ToolResult> {
        Ok(ToolResult::new([Content::text(self)]))
    }
}

impl<T: Serialize + JsonSchema> IntoToolResult for Json<T> {
    fn output_schema() -> Option<Value> {
        Some(schema::<T>())
    }

    fn into_tool_result(self) -> Result<ToolResult> {
        Ok(self.into_result()?)
    }
}

impl<T: IntoToolResult> IntoToolResult for Result<T> {
    fn output_schema() -> Option<Value> {
        T::output_schema()
    }

    fn into_tool_result(self) -> Result<ToolResult> {
        self.and_then(T::into_tool_result)
    }
}

impl IntoMessages for Message {
    fn into_messages(self) -> Result<Vec<Message>> {
        Ok(vec![self])
    }
}

impl IntoMessages for Vec<Message> {
    fn into_messages(self) -> Result<Vec<Message>> {
        Ok(self)
    }
}

/// A text becomes a message of the user.
impl<T: IntoText> IntoMessages for T {
    fn into_messages(self) -> Result<Vec<Message>> {
        Ok(vec![Message::user(Content::text(self))])
    }
}

impl<T: IntoMessages> IntoMessages for Result<T> {
    fn into_messages(self) -> Result<Vec<Message>> {
        self.and_then(T::into_messages)
    }
}

impl<T: IntoText> IntoContents for T {
    fn into_contents(self, uri: &str, mime: &str) -> Result<Vec<Contents>> {
        Ok(vec![Contents::text(uri, mime, self)])
    }
}

impl IntoContents for Vec<u8> {
    fn into_contents(self, uri: &str, mime: &str) -> Result<Vec<Contents>> {
        Ok(vec![Contents::blob(uri, mime, self)])
    }
}

impl IntoContents for Vec<Contents> {
    fn into_contents(self, _uri: &str, _mime: &str) -> Result<Vec<Contents>> {
        Ok(self)
    }
}

impl<T: IntoContents> IntoContents for Result<T> {
    fn into_contents(self, uri: &str, mime: &str) -> Result<Vec<Contents>> {
        self.and_then(|inner| inner.into_contents(uri, mime))
    }
}
