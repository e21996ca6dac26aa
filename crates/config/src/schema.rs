//! JSON schemas of `settings.json` and `.mcp.json`, derived from the types that read them.
//!
//! Used by `settings_reference`, and by the test that compares the files in `schema/`.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::Value;

use crate::settings::{ServerEntries, Settings};

/// A `.mcp.json`.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[allow(dead_code, reason = "only its schema is used; the reader takes servers one by one")]
struct McpJson {
    /// Servers, by name.
    mcp_servers: ServerEntries,
}

/// The schema of settings files.
pub fn settings_schema() -> Value {
    finish(generator().into_root_schema_for::<Settings>(), "Switchboard settings")
}

/// The schema of `.mcp.json`.
pub fn mcp_json_schema() -> Value {
    finish(generator().into_root_schema_for::<McpJson>(), "MCP servers of a project")
}

/// A generator for files as they are read, where most members may be left out.
fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_deserialize().into_generator()
}

fn finish(mut schema: Schema, title: &str) -> Value {
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}
