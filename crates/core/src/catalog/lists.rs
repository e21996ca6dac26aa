//! Everything one server offers, at one moment.
//!
//! A value: when one list is read again, a new value takes its place that shares the other lists.

use std::sync::Arc;

use switchboard_config::ToolFilter;

use super::{ParsedList, Prompt, Resource, ResourceTemplate, Tool, text};
use crate::problem::EngineProblem;

/// Everything one server offers.
#[derive(Debug, Clone, Default)]
pub struct ServerLists {
    /// Tools, in the order sent.
    pub tools: Vec<Arc<Tool>>,
    /// Prompts, in the order sent.
    pub prompts: Vec<Arc<Prompt>>,
    /// Resources, in the order sent.
    pub resources: Vec<Arc<Resource>>,
    /// Templates of resources, in the order sent.
    pub templates: Vec<Arc<ResourceTemplate>>,
    /// What the server says about using it, at most 2,048 characters.
    pub instructions: Option<String>,
    problems: ListProblems,
}

/// What is wrong with each list, so that a new list brings its own.
#[derive(Debug, Clone, Default)]
struct ListProblems {
    tools: Vec<EngineProblem>,
    prompts: Vec<EngineProblem>,
    resources: Vec<EngineProblem>,
    templates: Vec<EngineProblem>,
}

// === impl ServerLists ===

impl ServerLists {
    /// The same with other tools.
    #[must_use]
    pub fn with_tools(&self, tools: ParsedList<Tool>) -> Self {
        let mut lists = self.clone();
        (lists.tools, lists.problems.tools) = (tools.items, tools.problems);
        lists
    }

    /// The same with other prompts.
    #[must_use]
    pub fn with_prompts(&self, prompts: ParsedList<Prompt>) -> Self {
        let mut lists = self.clone();
        (lists.prompts, lists.problems.prompts) = (prompts.items, prompts.problems);
        lists
    }

    /// The same with other resources.
    #[must_use]
    pub fn with_resources(&self, resources: ParsedList<Resource>) -> Self {
        let mut lists = self.clone();
        (lists.resources, lists.problems.resources) = (resources.items, resources.problems);
        lists
    }

    /// The same with other templates.
    #[must_use]
    pub fn with_templates(&self, templates: ParsedList<ResourceTemplate>) -> Self {
        let mut lists = self.clone();
        (lists.templates, lists.problems.templates) = (templates.items, templates.problems);
        lists
    }

    /// The same with other instructions, cleaned and cut.
    #[must_use]
    pub fn with_instructions(&self, instructions: Option<&str>) -> Self {
        let shown = instructions.map(text::block).filter(|text| !text.is_empty());
        Self { instructions: shown, ..self.clone() }
    }

    /// What is wrong with any of the lists.
    pub fn problems(&self) -> impl Iterator<Item = &EngineProblem> {
        let ListProblems { tools, prompts, resources, templates } = &self.problems;
        [tools, prompts, resources, templates].into_iter().flatten()
    }

    /// The same for an entry that shows only the tools of `filter`: what is wrong with others is no concern of its.
    pub(super) fn problems_within<'l>(
        &'l self,
        filter: &'l ToolFilter,
    ) -> impl Iterator<Item = &'l EngineProblem> {
        let ListProblems { tools, prompts, resources, templates } = &self.problems;
        let is_shown = |problem: &&EngineProblem| {
            problem.item.as_deref().is_none_or(|tool| filter.shows_tool(tool))
        };
        let others = [prompts, resources, templates].into_iter().flatten();
        tools.iter().filter(is_shown).chain(others)
    }

    /// About how many tokens a model spends on all the tools.
    pub fn cost(&self) -> usize {
        self.tools.iter().map(|tool| tool.cost).sum()
    }
}
