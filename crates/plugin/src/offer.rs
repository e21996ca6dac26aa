//! The offer of one plugin: its tools, prompts, resources and templates. A bad item is a problem, and the
//! others are used.
//!
//! Used by `slot`, `catalog` and `switchboard plugin check`.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};
use switchboard_core::schema::SchemaValidator;
use switchboard_plugin_sdk::uri::UriTemplate;
use switchboard_wire::{
    json::{JsonKind, Raw},
    sanitize,
};

use crate::{fault::PluginFault, messages::WorkerReady};

/// The items of one plugin, with its name and version.
#[derive(Debug, Default)]
pub struct PluginOffer {
    /// The plugin's name.
    pub name: String,
    /// The plugin's version.
    pub version: String,
    /// The version of the plugin interface.
    pub abi: u32,
    /// Calls may run concurrently.
    pub thread_safe: bool,
    /// Instructions for the model.
    pub instructions: Option<String>,
    /// The problems of single items.
    pub problems: Vec<String>,
    pub(crate) tools: Vec<OfferedTool>,
    pub(crate) prompts: Vec<OfferedPrompt>,
    pub(crate) resources: Vec<OfferedResource>,
    pub(crate) templates: Vec<OfferedTemplate>,
    pub(crate) methods: Vec<String>,
    pub(crate) completions: bool,
    /// Protocol extensions, each with its settings.
    pub(crate) extensions: BTreeMap<String, Map<String, Value>>,
}

#[derive(Debug)]
pub(crate) struct OfferedTool {
    pub(crate) name: String,
    /// The item's JSON for clients.
    pub(crate) shown: Raw,
    pub(crate) validator: SchemaValidator,
}

#[derive(Debug)]
pub(crate) struct OfferedPrompt {
    pub(crate) name: String,
    pub(crate) shown: Raw,
    /// The required arguments.
    pub(crate) required: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct OfferedResource {
    pub(crate) uri: String,
    pub(crate) shown: Raw,
}

#[derive(Debug)]
pub(crate) struct OfferedTemplate {
    pub(crate) uri: String,
    pub(crate) matcher: UriTemplate,
    pub(crate) shown: Raw,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct OfferMessage<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(borrow)]
    prompts: Vec<&'a RawValue>,
    #[serde(borrow)]
    resources: Vec<&'a RawValue>,
    #[serde(borrow)]
    resource_templates: Vec<&'a RawValue>,
    methods: Vec<String>,
    completions: bool,
    extensions: BTreeMap<String, Map<String, Value>>,
    instructions: Option<String>,
}

type ItemErrorText = String;

// === impl PluginOffer ===

impl PluginOffer {
    /// Parses a worker's description of its plugin.
    pub(crate) fn read(ready: &WorkerReady) -> Result<Self, PluginFault> {
        let refused = |why: String| PluginFault::Refused { stage: "list".into(), why };
        let described: OfferMessage<'_> = serde_json::from_str(&ready.described)
            .map_err(|error| refused(format!("what it offers cannot be read: {error}")))?;
        let mut problems = Vec::new();
        let offer = Self {
            name: ready.name.clone(),
            version: ready.version.clone(),
            abi: ready.abi,
            thread_safe: ready.thread_safe,
            instructions: described.instructions,
            tools: parse_items(
                ("tool", &described.tools),
                parse_tool,
                |tool| &tool.name,
                &mut problems,
            ),
            prompts: parse_items(
                ("prompt", &described.prompts),
                parse_prompt,
                |prompt| &prompt.name,
                &mut problems,
            ),
            resources: parse_items(
                ("resource", &described.resources),
                parse_resource,
                |resource| &resource.uri,
                &mut problems,
            ),
            templates: parse_items(
                ("template", &described.resource_templates),
                parse_template,
                |template| &template.uri,
                &mut problems,
            ),
            methods: described.methods,
            completions: described.completions,
            extensions: described.extensions,
            problems: Vec::new(),
        };
        Ok(Self { problems, ..offer })
    }

    /// The numbers of tools, prompts, resources and templates.
    pub fn counts(&self) -> [usize; 4] {
        [self.tools.len(), self.prompts.len(), self.resources.len(), self.templates.len()]
    }

    /// The JSON of each item for clients, in that order of kinds.
    pub fn to_raw_items(&self) -> [Vec<Raw>; 4] {
        [
            self.tools.iter().map(|tool| tool.shown.clone()).collect(),
            self.prompts.iter().map(|prompt| prompt.shown.clone()).collect(),
            self.resources.iter().map(|resource| resource.shown.clone()).collect(),
            self.templates.iter().map(|template| template.shown.clone()).collect(),
        ]
    }
}

/// Parses the items of a kind and returns the valid ones, each name once.
fn parse_items<T>(
    (kind, all): (&str, &[&RawValue]),
    read: fn(&Raw) -> Result<T, ItemErrorText>,
    name: fn(&T) -> &String,
    problems: &mut Vec<String>,
) -> Vec<T> {
    let mut names = HashSet::new();
    let mut kept = Vec::new();
    for (at, item) in all.iter().enumerate() {
        let item = Raw::parse(item.get().to_owned()).map_err(|error| error.to_string());
        match item.and_then(|item| read(&item)) {
            Ok(item) if names.insert(name(&item).clone()) => kept.push(item),
            Ok(item) => {
                let name = sanitize::sanitize_line(name(&item)).into_owned();
                problems.push(format!("{kind} `{name}` is offered twice; the first one counts"));
            }
            Err(wrong) => problems.push(format!("{kind} {} {wrong}", at + 1)),
        }
    }
    kept
}

fn text_member(item: &Raw, key: &str) -> Result<String, ItemErrorText> {
    let value = item.get(key).map_err(|error| error.to_string())?;
    let text = value.and_then(|value| value.to_text()).filter(|text| !text.is_empty());
    text.ok_or_else(|| format!("has no `{key}`"))
}

fn parse_tool(item: &Raw) -> Result<OfferedTool, ItemErrorText> {
    let name = text_member(item, "name")?;
    let said = |wrong: &str| format!("(`{}`) {wrong}", sanitize::sanitize_line(&name));
    let schema = item.get("inputSchema").ok().flatten();
    let schema = schema
        .filter(|schema| schema.kind() == JsonKind::Object)
        .ok_or_else(|| said("has no `inputSchema` that is an object"))?;
    let is_object = |value: Raw| value.as_str() == "\"object\"";
    if !schema.get("type").ok().flatten().is_some_and(is_object) {
        return Err(said("has an `inputSchema` that is not of type `object`"));
    }
    let validator = SchemaValidator::compile(&schema).map_err(|bad| {
        said(&format!(
            "has an `inputSchema` that is no schema: {}",
            sanitize::sanitize_line(&bad.to_string())
        ))
    })?;
    Ok(OfferedTool { name, shown: item.clone(), validator })
}

fn parse_prompt(item: &Raw) -> Result<OfferedPrompt, ItemErrorText> {
    let name = text_member(item, "name")?;
    let arguments: Vec<HashMap<String, Value>> = match item.get("arguments").ok().flatten() {
        None => Vec::new(),
        Some(arguments) => arguments.decode().map_err(|_| {
            format!(
                "(`{}`) has `arguments` that are no list of objects",
                sanitize::sanitize_line(&name)
            )
        })?,
    };
    let required = arguments
        .into_iter()
        .filter(|argument| argument.get("required").and_then(Value::as_bool).unwrap_or_default());
    let required = required
        .filter_map(|argument| argument.get("name").and_then(Value::as_str).map(str::to_owned));
    Ok(OfferedPrompt { required: required.collect(), name, shown: item.clone() })
}

fn parse_resource(item: &Raw) -> Result<OfferedResource, ItemErrorText> {
    text_member(item, "name")?;
    Ok(OfferedResource { uri: text_member(item, "uri")?, shown: item.clone() })
}

fn parse_template(item: &Raw) -> Result<OfferedTemplate, ItemErrorText> {
    text_member(item, "name")?;
    let template = text_member(item, "uriTemplate")?;
    Ok(OfferedTemplate { matcher: UriTemplate::new(&template), uri: template, shown: item.clone() })
}
