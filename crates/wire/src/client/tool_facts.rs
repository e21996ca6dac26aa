//! Facts about tools that a call needs: header parameters, and whether a task is required.
//!
//! Used by `exchange_driver` and `request`; filled by `lists` from the tools' definitions. It does
//! not list tools: `exchange_driver` does before the first call.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::headers::HeaderParam;
use crate::json::Raw;

/// The facts about one tool.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolFacts {
    pub(crate) headers: Vec<HeaderParam>,
    pub(crate) needs_task: bool,
}

/// The facts, by tool name.
#[derive(Debug, Default)]
pub(crate) struct ToolFactsCache(Mutex<Option<HashMap<String, Arc<ToolFacts>>>>);

// === impl ToolFactsCache ===

impl ToolFactsCache {
    /// Replaces all facts by those of a complete list.
    pub(crate) fn replace(&self, tools: HashMap<String, Arc<ToolFacts>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(tools);
    }

    /// The facts about a tool; `None` if it was in no list so far.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<ToolFacts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(name).cloned()
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
