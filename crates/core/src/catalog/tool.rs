//! A tool of a server: its definition, checked and sanitized.
//!
//! Made from `tools/list` by `engine::supervisor::parse`; used by `catalog::compose`, `dispatch` and the gateway. It
//! does not decide whether a tool may be called (`permission` does) or under which name it is shown
//! (`catalog::names`).

use std::sync::OnceLock;

use switchboard_wire::{
    Era, Version,
    client::FetchedList,
    json::{JsonEdit, Raw},
};

use super::{
    ToolAnnotations,
    item_fault::{ItemFault, ItemWarning},
    item_reader::{ItemReader, MemberPath},
    item_shape,
    parsed_list::{self, ListItem, ParsedList},
    text, tool_shape,
    tool_ui::ToolUi,
};
use crate::schema::{self, SchemaError, SchemaValidator};

/// How many characters of a result a tool may ask for.
const MAX_RESULT_CHARS: usize = 500_000;

/// Checks whether a schema can be used; the error says why not.
pub type SchemaCheck<'a> = &'a dyn Fn(&Raw) -> Result<(), String>;

/// A tool.
#[derive(Debug)]
pub struct Tool {
    /// The server's name for the tool; not sanitized, so never shown as it is.
    pub name: String,
    /// The title for people.
    pub title: Option<String>,
    /// The description, at most 2,048 characters.
    pub description: Option<String>,
    /// The schema of the arguments.
    pub input_schema: Raw,
    /// The schema of structured results.
    pub output_schema: Option<Raw>,
    /// The server's hints about the effects of the tool.
    pub annotations: ToolAnnotations,
    /// The server's wishes on how to treat the tool.
    pub meta: ToolMeta,
    /// The tool's description for MCP Apps.
    pub ui: ToolUi,
    /// The item as sent, with sanitized texts, and without members for which clients of the newest version refuse a
    /// whole list.
    pub item: Raw,
    /// The item for clients before 2026-07-28, where it has to differ.
    legacy_item: Option<Raw>,
    /// Faults of the tool; it is still listed.
    pub imperfections: Vec<ItemWarning>,
    /// The estimated number of tokens that a model spends on the definition.
    pub cost: usize,
    /// The validator of the arguments, compiled at the first call.
    validator: OnceLock<Result<SchemaValidator, SchemaError>>,
}

/// A server's wishes on how to treat a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolMeta {
    /// Words for searches.
    pub search_hint: Option<String>,
    /// Whether the tool may be left out of the list until a search finds it.
    pub defer_loading: Option<bool>,
    /// The tool is always in the list.
    pub always_load: bool,
    /// How long results may be, at most 500,000 characters.
    pub max_result_chars: Option<usize>,
    /// A person has to agree to every call.
    pub requires_user_interaction: bool,
}

/// Parses the tools of a list. `check` says whether a schema can be used.
pub fn parse_tools(
    server: &str,
    listing: &FetchedList,
    check: SchemaCheck<'_>,
) -> ParsedList<Tool> {
    parsed_list::parse_list(server, listing, |item| Tool::parse(item, check))
}

// === impl Tool ===

impl Tool {
    /// Parses one tool. Only a tool without a usable name is refused; `check` says whether a schema can be used.
    pub fn parse(item: &Raw, check: SchemaCheck<'_>) -> Result<Self, ItemFault> {
        let mut reader = ItemReader::of(item)?;
        let name = reader.identity("name")?;
        let input_schema = input_schema(item, &mut reader, check)?;
        let output_schema = output_schema(&mut reader, check);
        let description = reader.optional(&["description"], ItemReader::block);
        let title = reader.optional(&["title"], ItemReader::line);
        let title = title.or(annotations(&mut reader));
        let meta = item_shape::common_members(&mut reader);
        let ui = if meta.is_some() { ToolUi::read(&mut reader) } else { ToolUi::default() };
        reader.optional(&["execution"], |reader, path| reader.fit(path, tool_shape::is_execution));
        let mut imperfections = std::mem::take(reader.imperfections());
        let item = reader.finish()?;
        let legacy_item =
            legacy_item(&item, &input_schema, output_schema.as_ref(), &mut imperfections);
        Ok(Self {
            cost: cost(&name, description.as_deref(), &input_schema),
            annotations: ToolAnnotations::from_tool(&item),
            meta: ToolMeta::of(meta.as_ref()),
            ui,
            item,
            legacy_item,
            name,
            title,
            description,
            input_schema,
            output_schema,
            imperfections,
            validator: OnceLock::new(),
        })
    }

    /// Returns the definition for clients of this version.
    pub fn item_for(&self, version: Version) -> &Raw {
        match (version.era(), &self.legacy_item) {
            (Era::Legacy, Some(item)) => item,
            _ => &self.item,
        }
    }

    /// Returns the validator of the arguments.
    pub fn validator(&self) -> Result<&SchemaValidator, &SchemaError> {
        self.validator.get_or_init(|| SchemaValidator::compile(&self.input_schema)).as_ref()
    }

    /// Returns the names of the parameters, in the order written.
    pub fn parameters(&self) -> Vec<String> {
        let properties = self.input_schema.get("properties").ok().flatten();
        let keys = |properties: Raw| {
            let keys = properties.members().filter_map(|member| {
                switchboard_wire::json::decode_string(member.key).map(String::from)
            });
            keys.collect()
        };
        properties.map(keys).unwrap_or_default()
    }
}

impl ListItem for Tool {
    const NOUN: &'static str = "tool";
    const KEY: &'static str = "name";

    fn key(&self) -> &str {
        &self.name
    }

    fn imperfections(&self) -> &[ItemWarning] {
        &self.imperfections
    }
}

fn input_schema(
    item: &Raw,
    reader: &mut ItemReader<'_>,
    check: SchemaCheck<'_>,
) -> Result<Raw, ItemFault> {
    const MEMBER: &str = "inputSchema";
    let sent = item.get(MEMBER)?;
    let schema = tool_shape::input_schema(sent.as_ref(), reader.imperfections());
    if let Err(reason) = check(&schema) {
        reader.imperfections().push(ItemWarning::Unchecked(reason));
    }
    if sent.is_none_or(|sent| sent.as_str() != schema.as_str()) {
        reader.replace(&[MEMBER], schema.to_string());
    }
    Ok(schema)
}

fn output_schema(reader: &mut ItemReader<'_>, check: SchemaCheck<'_>) -> Option<Raw> {
    // SDKs compile the schema when they read the list, with validators of their own.
    let compile = |schema: &Raw| check(schema).and_then(|()| schema::check_portable(schema));
    reader.optional(&["outputSchema"], |reader, path| {
        let sent = reader.present(path)?;
        sent.map(|sent| tool_shape::output_schema(&sent, compile)).transpose()
    })
}

/// Removes annotations that do not have the form of the protocol, and returns their title.
fn annotations(reader: &mut ItemReader<'_>) -> Option<String> {
    const HINTS: [MemberPath; 4] = [
        &["annotations", "readOnlyHint"],
        &["annotations", "destructiveHint"],
        &["annotations", "idempotentHint"],
        &["annotations", "openWorldHint"],
    ];
    reader.optional(&["annotations"], ItemReader::object)?;
    for hint in HINTS {
        reader.optional(hint, ItemReader::flag);
    }
    reader.optional(&["annotations", "title"], ItemReader::line)
}

/// The definition for clients before 2026-07-28, where it has to differ.
fn legacy_item(
    item: &Raw,
    input: &Raw,
    output: Option<&Raw>,
    imperfections: &mut Vec<ItemWarning>,
) -> Option<Raw> {
    let input = tool_shape::legacy_input_schema(input, imperfections);
    let mut edits = Vec::new();
    if let Some(input) = &input {
        edits.push(JsonEdit::set(&["inputSchema"], input.as_str()));
    }
    if output.is_some_and(|schema| !tool_shape::is_legacy_output_schema(schema)) {
        imperfections.push(ItemWarning::LegacyOutput);
        edits.push(JsonEdit::remove(&["outputSchema"]));
    }
    (!edits.is_empty()).then(|| item.clone().overwrite(&edits))
}

fn cost(name: &str, description: Option<&str>, schema: &Raw) -> usize {
    let description = description.map_or(0, |text| text.chars().count());
    text::tokens(name.chars().count() + description + text::compact_length(schema))
}

// === impl ToolMeta ===

impl ToolMeta {
    fn of(meta: Option<&Raw>) -> Self {
        let is_set = |key| flag(meta, key) == Some(true);
        let hint = member(meta, "anthropic/searchHint").and_then(|hint| hint.to_text());
        let limit = member(meta, "anthropic/maxResultSizeChars");
        Self {
            search_hint: hint.map(|hint| text::line(&hint)).filter(|hint| !hint.is_empty()),
            defer_loading: flag(meta, "anthropic/deferLoading"),
            always_load: is_set("anthropic/alwaysLoad"),
            max_result_chars: limit.and_then(|limit| limit.decode::<u64>().ok()).map(|limit| {
                usize::try_from(limit).map_or(MAX_RESULT_CHARS, |n| n.min(MAX_RESULT_CHARS))
            }),
            requires_user_interaction: is_set("anthropic/requiresUserInteraction"),
        }
    }
}

fn flag(object: Option<&Raw>, key: &str) -> Option<bool> {
    member(object, key).and_then(|value| value.decode().ok())
}

/// Reads a member of an object that has no key twice.
fn member(object: Option<&Raw>, key: &str) -> Option<Raw> {
    object.and_then(|object| object.get(key).ok().flatten())
}
