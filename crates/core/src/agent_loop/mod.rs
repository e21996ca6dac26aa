//! An API for agent loops: the catalog as tool definitions for a model, and tool calls in, tool results out.
//!
//! Used by programs that embed the engine; see `examples/agent_loop.rs`. A [`Toolbox`] speaks the two formats of
//! model endpoints, the Messages of Anthropic and the chat completions of `OpenAI`. Within one turn of a model,
//! tools that only read run side by side and all others in the order the model gave them; nothing else in the
//! engine makes calls wait for one another.
//!
//! It does not talk to models.

mod anthropic;
mod openai;
mod search;
mod turn;

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use switchboard_wire::json::Raw;

use crate::catalog::instructions::{self, InstructionDigests};
use crate::dispatch::{PendingQuestion, builtin_definitions};
use crate::engine::{Caller, Engine};

pub use search::SEARCH_TOOL_NAME;

/// Gives a model the tools of a workspace.
#[derive(Clone)]
pub struct Toolbox {
    engine: Engine,
    caller: Caller,
    offer: ToolOffer,
    /// Deferred tools that a search has found. The model is shown them from then on.
    found: Arc<Mutex<BTreeSet<String>>>,
    /// Digests of the instructions that the model has read.
    read: Arc<Mutex<InstructionDigests>>,
    ask: Arc<dyn Fn(PendingQuestion) + Send + Sync>,
}

/// Which tools a model is shown from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolOffer {
    /// Every tool.
    All,
    /// The tools that ask to be always loaded, and a search tool to find the others.
    Search,
}

/// A tool definition for a model.
#[derive(Debug, Clone)]
pub(crate) struct ToolDefinition {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) input_schema: Raw,
}

// === impl Toolbox ===

impl Toolbox {
    /// Makes a toolbox of every tool that `caller` may see and that is not for apps only. It cancels questions, until a handler is set.
    pub fn new(engine: Engine, caller: Caller) -> Self {
        Self {
            engine,
            caller,
            offer: ToolOffer::All,
            found: Arc::default(),
            read: Arc::default(),
            ask: Arc::new(drop),
        }
    }

    /// Sets which tools the model is shown from the start.
    #[must_use]
    pub fn with_offer(mut self, offer: ToolOffer) -> Self {
        self.offer = offer;
        self
    }

    /// Hands questions to `ask`, which may answer them at any time. `ask` must not block.
    #[must_use]
    pub fn with_question_handler(
        mut self,
        ask: impl Fn(PendingQuestion) + Send + Sync + 'static,
    ) -> Self {
        self.ask = Arc::new(ask);
        self
    }

    /// Returns the instructions for a system prompt: the prompt of the workspace's agent, and the instructions of
    /// all servers as a section.
    pub fn instructions(&self) -> String {
        let snapshot = self.engine.snapshot_for(self.caller.principal());
        let (section, digests) = match &snapshot {
            None => (None, InstructionDigests::default()),
            Some(snapshot) => {
                let advice = snapshot.catalog.instructions();
                (instructions::instructions_section(&advice), InstructionDigests::of(&advice))
            }
        };
        *self.read.lock() = digests;
        let prompt = self.caller.applied().desired.agent_prompt().map(str::to_owned);
        instructions::append_to_prompt(prompt, section).unwrap_or_default()
    }

    /// Returns the servers' instructions that changed since the model read them last. Sent as a message of its own,
    /// the change leaves a cached system prompt valid.
    pub fn changed_instructions(&self) -> Option<String> {
        let snapshot = self.engine.snapshot_for(self.caller.principal())?;
        let mut read = self.read.lock();
        let changes = instructions::changes_since(&read, &snapshot.catalog.instructions());
        let text = changes.to_text();
        *read = changes.digests;
        text
    }

    /// Returns the definitions of the tools that the model is shown, in a stable order.
    pub(crate) fn definitions(&self) -> Vec<ToolDefinition> {
        let Some(snapshot) = self.engine.snapshot_for(self.caller.principal()) else {
            return Vec::new();
        };
        let found = self.found.lock();
        let is_shown = |name: &str, deferred: bool| {
            self.offer == ToolOffer::All || !deferred || found.contains(name)
        };
        let mut definitions: Vec<ToolDefinition> = snapshot
            .catalog
            .tools()
            .iter()
            .filter(|listed| listed.is_for_models())
            .filter(|listed| is_shown(&listed.name, listed.deferred))
            .map(|listed| ToolDefinition {
                name: listed.name.clone(),
                description: listed.tool.description.clone().unwrap_or_default(),
                input_schema: listed.tool.input_schema.clone(),
            })
            .collect();
        if self.offer == ToolOffer::Search {
            definitions.push(search::definition());
        }
        if !snapshot.catalog.resources().is_empty() || !snapshot.catalog.templates().is_empty() {
            definitions.extend(builtin_definitions().iter().filter_map(ToolDefinition::of));
        }
        definitions
    }
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Toolbox").field("offer", &self.offer).finish_non_exhaustive()
    }
}

// === impl ToolDefinition ===

impl ToolDefinition {
    /// Reads a tool definition in the form of `tools/list`.
    fn of(tool: &Raw) -> Option<Self> {
        let text = |key| tool.get(key).ok().flatten().and_then(|value| value.to_text());
        Some(Self {
            name: text("name")?,
            description: text("description").unwrap_or_default(),
            input_schema: tool.get("inputSchema").ok()??,
        })
    }
}
