//! For agent loops: the catalog as tool definitions, and tool calls in, tool results out.
//!
//! A [`Toolbox`] speaks the two shapes that model endpoints use, the Messages of Anthropic and the chat completions of `OpenAI`.
//! Within one turn of a model, tools that only read run side by side and all others in the order the model gave them.
//! Nothing else in the engine makes calls wait for one another.
//!
//! This module refuses to know how a model is reached.

mod anthropic;
mod openai;
mod search;
mod turn;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

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
    /// Tools that a search has found, which are shown from then on.
    found: Arc<Mutex<BTreeSet<String>>>,
    /// The instructions that the model has read.
    read: Arc<Mutex<InstructionDigests>>,
    ask: Arc<dyn Fn(PendingQuestion) + Send + Sync>,
}

/// Which tools a model is shown from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolOffer {
    /// All of them.
    All,
    /// Those that ask to be always loaded, and a tool to find the others with.
    Search,
}

/// A tool as a model is told of it.
#[derive(Debug, Clone)]
pub(crate) struct ToolDefinition {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) input_schema: Raw,
}

// === impl Toolbox ===

impl Toolbox {
    /// Every tool that `caller` may see. Questions that come up are cancelled.
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

    /// Shows this many of the tools.
    #[must_use]
    pub fn with_offer(mut self, offer: ToolOffer) -> Self {
        self.offer = offer;
        self
    }

    /// Hands questions to `ask`, which answers them whenever it can. It must not block.
    #[must_use]
    pub fn with_question_handler(
        mut self,
        ask: impl Fn(PendingQuestion) + Send + Sync + 'static,
    ) -> Self {
        self.ask = Arc::new(ask);
        self
    }

    /// What the model is to know from the start, for a system prompt: the prompt of the workspace's agent, and the advice
    /// of all servers as a section.
    pub fn instructions(&self) -> String {
        let snapshot = self.engine.snapshot_for(self.caller.principal());
        let (section, digests) = match &snapshot {
            None => (None, InstructionDigests::default()),
            Some(snapshot) => {
                let advice = snapshot.catalog.instructions();
                (instructions::instructions_section(&advice), InstructionDigests::of(&advice))
            }
        };
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = digests;
        let prompt = self.caller.applied().desired.agent_prompt().map(str::to_owned);
        instructions::append_to_prompt(prompt, section).unwrap_or_default()
    }

    /// What of the servers' advice has changed since the model read it last. Told in a message of its own, it leaves a
    /// system prompt that is cached as it is.
    pub fn changed_instructions(&self) -> Option<String> {
        let snapshot = self.engine.snapshot_for(self.caller.principal())?;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = instructions::changes_since(&read, &snapshot.catalog.instructions());
        let text = changes.to_text();
        *read = changes.digests;
        text
    }

    /// What the model is told of, in a stable order.
    pub(crate) fn definitions(&self) -> Vec<ToolDefinition> {
        let Some(snapshot) = self.engine.snapshot_for(self.caller.principal()) else {
            return Vec::new();
        };
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let is_shown = |name: &str, deferred: bool| {
            self.offer == ToolOffer::All || !deferred || found.contains(name)
        };
        let mut definitions: Vec<ToolDefinition> = snapshot
            .catalog
            .tools()
            .iter()
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
    /// From a tool as a server lists it.
    fn of(tool: &Raw) -> Option<Self> {
        let text = |key| tool.get(key).ok().flatten().and_then(|value| value.to_text());
        Some(Self {
            name: text("name")?,
            description: text("description").unwrap_or_default(),
            input_schema: tool.get("inputSchema").ok()??,
        })
    }
}
