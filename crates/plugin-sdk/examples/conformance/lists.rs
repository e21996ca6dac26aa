//! Lists that change, and a schema that is passed on unchanged.
//!
//! Used by the conformance plugin.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};
use switchboard_plugin_sdk::{Context, Item, ItemInfo, ToolHints, tool};

/// Whether one more tool, or one more prompt, is offered.
static MORE_TOOLS: AtomicBool = AtomicBool::new(false);
static MORE_PROMPTS: AtomicBool = AtomicBool::new(false);

pub(super) fn items() -> Vec<Item> {
    let [tool, prompt] = fleeting();
    vec![
        test_trigger_tool_change::item(),
        test_trigger_prompt_change::item(),
        by_hand(),
        tool,
        prompt,
    ]
}

/// Announces that the tools changed
#[tool]
fn test_trigger_tool_change(cx: &Context) -> &'static str {
    MORE_TOOLS.fetch_xor(true, Ordering::Relaxed);
    cx.list_changed("tools");
    "announced"
}

/// Announces that the prompts changed
#[tool]
fn test_trigger_prompt_change(cx: &Context) -> &'static str {
    MORE_PROMPTS.fetch_xor(true, Ordering::Relaxed);
    cx.list_changed("prompts");
    "announced"
}

/// A tool with a schema written by hand.
fn by_hand() -> Item {
    let named = ItemInfo {
        name: "json_schema_2020_12_tool",
        title: None,
        description: "Has a schema of many keywords",
    };
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": { "$anchor": "addressDef", "type": "object", "properties": {
            "street": { "type": "string" }, "city": { "type": "string" } } } },
        "properties": {
            "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" }, "email": { "type": "string" } },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    });
    let answer = |_: Map<String, Value>, _: &Context| "the schema is what matters";
    Item::tool(named, ToolHints::default(), answer).with_member("inputSchema", schema)
}

/// Items that appear and disappear.
fn fleeting() -> [Item; 2] {
    let named = |name| ItemInfo { name, title: None, description: "There now and then" };
    let tool = Item::tool(
        named("fleeting"),
        ToolHints::default(),
        |_: Map<String, Value>, _: &Context| "there",
    );
    let prompt = Item::prompt(named("fleeting"), |_: Map<String, Value>, _: &Context| "there");
    [
        tool.offered_while(|| MORE_TOOLS.load(Ordering::Relaxed)),
        prompt.offered_while(|| MORE_PROMPTS.load(Ordering::Relaxed)),
    ]
}
