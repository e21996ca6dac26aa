//! One thing a plugin offers: what clients see of it, and the function behind it.

use std::fmt;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::{
    Contents, Context, Failure, IntoContents, IntoMessages, IntoToolResult, Message, Result,
    ToolResult, uri::UriTemplate,
};

type Function = Box<dyn Fn(Value, &Context) -> Result<Value> + Send + Sync>;

/// What a value could become: of which argument, how far it is typed.
pub(crate) type Completer = fn(&str, &str, &Context) -> Vec<String>;

/// A tool, a prompt, a resource or a template.
pub struct Item {
    kind: ItemKind,
    /// What clients see.
    shown: Value,
    function: Function,
    completer: Option<Completer>,
    is_there: fn() -> bool,
}

#[derive(Debug)]
enum ItemKind {
    Tool,
    Prompt,
    Resource,
    Template(UriTemplate),
}

/// What an item is called, and what is said of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct ItemInfo {
    /// Its name.
    pub name: &'static str,
    /// Its name for people.
    pub title: Option<&'static str>,
    /// What it is.
    pub description: &'static str,
}

/// Hints on what a tool does, which a client may decide by.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolHints {
    /// It changes nothing.
    pub read_only: bool,
    /// It may destroy something.
    pub destructive: bool,
    /// Twice is the same as once.
    pub idempotent: bool,
    /// It reaches out into the world.
    pub open_world: bool,
}

/// Arguments, made of a function's parameters by its attribute.
pub trait Arguments: DeserializeOwned + JsonSchema {}

impl<T: DeserializeOwned + JsonSchema> Arguments for T {}

// === impl Item ===

impl Item {
    /// A tool.
    pub fn tool<A: Arguments, R: IntoToolResult>(
        named: ItemInfo,
        note: ToolHints,
        function: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let mut shown = named.show();
        shown["inputSchema"] = schema::<A>();
        if let Some(output) = R::output_schema() {
            shown["outputSchema"] = output;
        }
        let annotations = note.show();
        if annotations.as_object().is_some_and(|hints| !hints.is_empty()) {
            shown["annotations"] = annotations;
        }
        let function = move |arguments: Value, cx: &Context| {
            let arguments = match serde_json::from_value(arguments) {
                Ok(arguments) => arguments,
                Err(error) => return Ok(ToolResult::mistake(error.to_string()).into_value()),
            };
            match function(arguments, cx).into_tool_result() {
                Ok(result) => Ok(result.into_value()),
                // Errors are results: the model reads them and tries something else.
                Err(Failure::Said(text)) => Ok(ToolResult::mistake(text).into_value()),
                Err(failure) => Err(failure),
            }
        };
        Self {
            kind: ItemKind::Tool,
            shown,
            function: Box::new(function),
            completer: None,
            is_there: || true,
        }
    }

    /// A prompt. Its arguments are texts, whatever the function takes.
    pub fn prompt<A: Arguments, R: IntoMessages>(
        named: ItemInfo,
        function: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let mut shown = named.show();
        shown["arguments"] = prompt_arguments(&schema::<A>());
        let description = named.description;
        let function = move |arguments: Value, cx: &Context| {
            let arguments = serde_json::from_value(arguments).map_err(Failure::invalid)?;
            let messages = function(arguments, cx).into_messages()?;
            let messages: Vec<Value> = messages.into_iter().map(Message::into_value).collect();
            Ok(json!({ "description": description, "messages": messages }))
        };
        Self {
            kind: ItemKind::Prompt,
            shown,
            function: Box::new(function),
            completer: None,
            is_there: || true,
        }
    }

    /// A resource.
    pub fn resource<R: IntoContents>(
        named: ItemInfo,
        (uri, mime): (&'static str, &'static str),
        function: impl Fn(&Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let mut shown = named.show();
        shown["uri"] = json!(uri);
        shown["mimeType"] = json!(mime);
        let function = move |_, cx: &Context| Ok(contents(function(cx).into_contents(uri, mime)?));
        Self {
            kind: ItemKind::Resource,
            shown,
            function: Box::new(function),
            completer: None,
            is_there: || true,
        }
    }

    /// A template of resources. The names in it are the function's arguments.
    pub fn template<A: Arguments, R: IntoContents>(
        named: ItemInfo,
        (template, mime): (&'static str, &'static str),
        function: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let mut shown = named.show();
        shown["uriTemplate"] = json!(template);
        shown["mimeType"] = json!(mime);
        let function = move |mut values: Value, cx: &Context| {
            let uri = values.as_object_mut().and_then(|values| values.remove(URI));
            let uri = uri.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
            let arguments = serde_json::from_value(values).map_err(Failure::invalid)?;
            Ok(contents(function(arguments, cx).into_contents(&uri, mime)?))
        };
        let kind = ItemKind::Template(UriTemplate::new(template));
        Self { kind, shown, function: Box::new(function), completer: None, is_there: || true }
    }

    /// With somebody who completes its arguments.
    #[must_use]
    pub fn completed_by(mut self, completer: fn(&str, &str, &Context) -> Vec<String>) -> Self {
        self.completer = Some(completer);
        self
    }

    /// Offered only while this says so. Whoever changes what it says tells clients with [`Context::list_changed`].
    #[must_use]
    pub fn while_true(mut self, is_there: fn() -> bool) -> Self {
        self.is_there = is_there;
        self
    }

    /// With `_meta`, `icons` or anything else clients are to see.
    #[must_use]
    pub fn showing(mut self, key: &str, value: Value) -> Self {
        self.shown[key] = value;
        self
    }

    pub(crate) fn as_tool(&self) -> Option<&Value> {
        matches!(self.kind, ItemKind::Tool).then_some(&self.shown)
    }

    pub(crate) fn as_prompt(&self) -> Option<&Value> {
        matches!(self.kind, ItemKind::Prompt).then_some(&self.shown)
    }

    pub(crate) fn as_resource(&self) -> Option<&Value> {
        matches!(self.kind, ItemKind::Resource).then_some(&self.shown)
    }

    pub(crate) fn as_template(&self) -> Option<&Value> {
        matches!(self.kind, ItemKind::Template(_)).then_some(&self.shown)
    }

    pub(crate) fn is_there(&self) -> bool {
        (self.is_there)()
    }

    pub(crate) fn completes(&self) -> bool {
        self.completer.is_some()
    }

    pub(crate) fn call(
        &self,
        name: &str,
        arguments: &Value,
        cx: &Context,
    ) -> Option<Result<Value>> {
        let is_meant = matches!(self.kind, ItemKind::Tool) && self.shown["name"] == name;
        is_meant.then(|| (self.function)(arguments.clone(), cx))
    }

    pub(crate) fn get(&self, name: &str, arguments: &Value, cx: &Context) -> Option<Result<Value>> {
        let is_meant = matches!(self.kind, ItemKind::Prompt) && self.shown["name"] == name;
        is_meant.then(|| (self.function)(arguments.clone(), cx))
    }

    pub(crate) fn read(&self, uri: &str, cx: &Context) -> Option<Result<Value>> {
        let is_meant = matches!(self.kind, ItemKind::Resource) && self.shown["uri"] == uri;
        is_meant.then(|| (self.function)(Value::Null, cx))
    }

    pub(crate) fn read_made(&self, uri: &str, cx: &Context) -> Option<Result<Value>> {
        let ItemKind::Template(template) = &self.kind else { return None };
        let values = template.read(uri)?;
        let values = values.into_iter().chain([(URI.to_owned(), uri.to_owned())]);
        let values: Map<String, Value> =
            values.map(|(name, value)| (name, Value::String(value))).collect();
        Some((self.function)(Value::Object(values), cx))
    }

    pub(crate) fn completer_of_prompt(&self, name: &str) -> Option<&Completer> {
        let is_meant = matches!(self.kind, ItemKind::Prompt) && self.shown["name"] == name;
        self.completer.as_ref().filter(|_| is_meant)
    }

    pub(crate) fn completer_of_template(&self, template: &str) -> Option<&Completer> {
        let is_meant =
            matches!(self.kind, ItemKind::Template(_)) && self.shown["uriTemplate"] == template;
        self.completer.as_ref().filter(|_| is_meant)
    }
}

/// Where a template's function finds the whole URI; no name in a template can be this.
const URI: &str = "\0uri";

fn contents(contents: Vec<Contents>) -> Value {
    let contents: Vec<Value> = contents.into_iter().map(Contents::into_value).collect();
    json!({ "contents": contents })
}

/// Clients are given what they can use: no definitions to look up, no word on the dialect.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        // A tool without parameters is an object with none.
        object.entry("type").or_insert_with(|| json!("object"));
        object.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

fn prompt_arguments(schema: &Value) -> Value {
    let required = schema["required"].as_array();
    let is_required = |name: &String| required.is_some_and(|all| all.contains(&json!(name)));
    let properties = schema["properties"].as_object().into_iter().flatten();
    let arguments = properties.map(|(name, property)| {
        let mut argument = json!({ "name": name, "required": is_required(name) });
        if let Some(description) = property.get("description") {
            argument["description"] = description.clone();
        }
        argument
    });
    Value::Array(arguments.collect())
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item")
            .field("kind", &self.kind)
            .field("shown", &self.shown)
            .finish_non_exhaustive()
    }
}

// === impl ItemInfo ===

impl ItemInfo {
    fn show(&self) -> Value {
        let mut shown = json!({ "name": self.name });
        if let Some(title) = self.title {
            shown["title"] = json!(title);
        }
        if !self.description.is_empty() {
            shown["description"] = json!(self.description);
        }
        shown
    }
}

// === impl ToolHints ===

impl ToolHints {
    fn show(self) -> Value {
        let hints = [
            ("readOnlyHint", self.read_only),
            ("destructiveHint", self.destructive),
            ("idempotentHint", self.idempotent),
            ("openWorldHint", self.open_world),
        ];
        let given = hints.into_iter().filter(|(_, given)| *given);
        Value::Object(given.map(|(name, _)| (name.to_owned(), true.into())).collect())
    }
}
