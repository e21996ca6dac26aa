//! What has to be known of a tool before it is called.
//!
//! Some parameters of a modern tool travel in headers as well, and some tools can only be called
//! as tasks. Both stand in the tool's definition, so the session keeps what it saw in lists.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

use super::headers::HeaderParam;
use crate::json::Raw;

/// What has to be known of one tool.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolFacts {
    pub(crate) headers: Vec<HeaderParam>,
    pub(crate) needs_task: bool,
}

/// What is known, by tool name.
#[derive(Debug, Default)]
pub(crate) struct ToolFactsCache(Mutex<Option<HashMap<String, Arc<ToolFacts>>>>);

// === impl ToolFactsCache ===

impl ToolFactsCache {
    /// Replaces everything known by what a whole list says.
    pub(crate) fn replace(&self, tools: HashMap<String, Arc<ToolFacts>>) {
        *self.0.lock() = Some(tools);
    }

    /// `None`: the tool was not in a list seen so far.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<ToolFacts>> {
        self.0.lock().as_ref()?.get(name).cloned()
    }
}

// === impl ToolFacts ===

impl ToolFacts {
    /// Whether `execution.taskSupport` is `required`.
    pub(crate) fn needs_task(tool: &Raw) -> bool {
        tool.get_path(&["execution", "taskSupport"])
            .ok()
            .flatten()
            .is_some_and(|support| support.as_str() == "\"required\"")
    }
}
