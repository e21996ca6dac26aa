//! A plugin: all of its items, and the dispatch of requests to them.
//!
//! Used by plugin authors through `plugin!`, and by `export` and the host's built-in plugins.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{Context, Failure, Item, Result, item::Completer};

/// A custom method.
type Method = Box<dyn Fn(Value, &Context) -> Result<Value> + Send + Sync>;

/// Called when a resource gets its first subscriber or loses its last.
type SubscriptionListener = Box<dyn Fn(&str, bool) + Send + Sync>;

/// A plugin with all its items.
pub struct Plugin {
    name: String,
    version: String,
    instructions: Option<String>,
    items: Vec<Item>,
    methods: Vec<(String, Method)>,
    extensions: Map<String, Value>,
    subscribed: Option<SubscriptionListener>,
}

#[derive(Deserialize)]
struct NameParams {
    name: String,
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct UriParams {
    uri: String,
}

#[derive(Deserialize)]
struct CompletionParams {
    r#ref: CompletionTarget,
    argument: CompletionArgument,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum CompletionTarget {
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
}

#[derive(Deserialize)]
struct CompletionArgument {
    name: String,
    value: String,
}

// === impl Plugin ===

impl Plugin {
    /// A plugin without items.
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            instructions: None,
            items: Vec::new(),
            methods: Vec::new(),
            extensions: Map::new(),
            subscribed: None,
        }
    }

    /// Adds an item.
    #[must_use]
    pub fn with(mut self, item: Item) -> Self {
        self.items.push(item);
        self
    }

    /// Sets the instructions for the model.
    #[must_use]
    pub fn instructions(mut self, text: &str) -> Self {
        self.instructions = Some(text.to_owned());
        self
    }

    /// Adds a custom method, which gets the request's parameters.
    #[must_use]
    pub fn method(
        mut self,
        name: &str,
        answer: impl Fn(Value, &Context) -> Result<Value> + Send + Sync + 'static,
    ) -> Self {
        self.methods.push((name.to_owned(), Box::new(answer)));
        self
    }

    /// Declares a protocol extension with its settings, an object. Its methods are custom methods of the
    /// plugin, except those of `io.modelcontextprotocol/tasks`, which the host implements; see
    /// [`Context::become_task`].
    #[must_use]
    pub fn extension(mut self, id: &str, settings: Value) -> Self {
        self.extensions.insert(id.to_owned(), settings);
        self
    }

    /// Sets the listener for resource subscriptions.
    #[must_use]
    pub fn on_subscribe(mut self, hear: impl Fn(&str, bool) + Send + Sync + 'static) -> Self {
        self.subscribed = Some(Box::new(hear));
        self
    }

    /// The plugin's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The plugin's version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The plugin's description, in the form of interface version 2.
    pub fn describe(&self) -> Value {
        let list = |kind: fn(&Item) -> Option<&Value>| -> Vec<&Value> {
            self.items.iter().filter(|item| item.is_there()).filter_map(kind).collect()
        };
        let mut described = json!({
            "tools": list(Item::as_tool),
            "prompts": list(Item::as_prompt),
            "resources": list(Item::as_resource),
            "resourceTemplates": list(Item::as_template),
            "methods": self.methods.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "completions": self.items.iter().any(Item::completes),
            "extensions": self.extensions,
        });
        if let Some(instructions) = &self.instructions {
            described["instructions"] = json!(instructions);
        }
        described
    }

    /// Answers a request.
    pub fn handle(&self, method: &str, params: Value, cx: &Context) -> Result<Value> {
        match method {
            "tools/call" => self.call(params, cx),
            "prompts/get" => self.prompt(params, cx),
            "resources/read" => self.read(params, cx),
            "completion/complete" => self.complete(params, cx),
            _ => match self.methods.iter().find(|(name, _)| name == method) {
                Some((_, answer)) => answer(params, cx),
                None => Err(Failure::unknown_method(method)),
            },
        }
    }

    pub(crate) fn subscribed(&self, uri: &str, on: bool) {
        if let Some(hear) = &self.subscribed {
            hear(uri, on);
        }
    }

    fn call(&self, params: Value, cx: &Context) -> Result<Value> {
        let NameParams { name, arguments } = read_params(params)?;
        let arguments = Value::Object(arguments.unwrap_or_default());
        let called = self.items.iter().find_map(|item| item.call(&name, &arguments, cx));
        called.unwrap_or_else(|| Err(Failure::invalid(format!("there is no tool `{name}`"))))
    }

    fn prompt(&self, params: Value, cx: &Context) -> Result<Value> {
        let NameParams { name, arguments } = read_params(params)?;
        let arguments = Value::Object(arguments.unwrap_or_default());
        let got = self.items.iter().find_map(|item| item.get(&name, &arguments, cx));
        got.unwrap_or_else(|| Err(Failure::invalid(format!("there is no prompt `{name}`"))))
    }

    fn read(&self, params: Value, cx: &Context) -> Result<Value> {
        let UriParams { uri } = read_params(params)?;
        // A resource with this URI takes precedence over a template that matches it.
        let named = self.items.iter().find_map(|item| item.read(&uri, cx));
        let made = || self.items.iter().find_map(|item| item.read_made(&uri, cx));
        named.or_else(made).unwrap_or_else(|| {
            Err(Failure::Rpc {
                code: -32002,
                message: format!("there is no resource `{uri}`"),
                data: Some(json!({ "uri": uri })),
            })
        })
    }

    fn complete(&self, params: Value, cx: &Context) -> Result<Value> {
        let CompletionParams { r#ref, argument } = read_params(params)?;
        let completer = self.items.iter().find_map(|item| match &r#ref {
            CompletionTarget::Prompt { name } => item.completer_of_prompt(name),
            CompletionTarget::Resource { uri } => item.completer_of_template(uri),
        });
        let mut values = completer
            .map(|complete: &Completer| complete(&argument.name, &argument.value, cx))
            .unwrap_or_default();
        let total = values.len();
        values.truncate(MAX_COMPLETION_VALUES);
        Ok(json!({ "completion": {
            "values": values, "total": total, "hasMore": total > MAX_COMPLETION_VALUES,
        } }))
    }
}

/// The most values that MCP allows in one answer.
const MAX_COMPLETION_VALUES: usize = 100;

fn read_params<T: for<'de> Deserialize<'de>>(params: Value) -> Result<T> {
    serde_json::from_value(params).map_err(Failure::invalid)
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin")
            .field("name", &self.name)
            .field("items", &self.items)
            .finish_non_exhaustive()
    }
}
