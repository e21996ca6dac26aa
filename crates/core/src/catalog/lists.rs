//! All lists of one server, parsed, as an immutable value.
//!
//! Made by `engine::supervisor::parse`; used by `catalog::compose`. When one list is read again, a new value replaces
//! the old one and shares the other lists. It does not keep the lists as the server sent them (`connection::lists`
//! does).

use std::sync::Arc;

use switchboard_config::ToolFilter;
use switchboard_wire::client::{FetchedList, ListKind};
use switchboard_wire::json::Raw;

use super::{ParsedList, Prompt, Resource, ResourceTemplate, Tool, text};
use crate::connection::ALL_LISTS;
use crate::problem::EngineProblem;

/// The members of a list beside its items, as the server sent them.
pub type ListMembers = Arc<[(String, Raw)]>;

/// The lists of one server.
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
    /// The server's instructions, at most 2,048 characters.
    pub instructions: Option<String>,
    /// The members beside the items of each list, in the order of [`ALL_LISTS`].
    pub members: [ListMembers; ALL_LISTS.len()],
    problems: ListProblems,
}

/// The problems of each list, so that a new list replaces only its own.
#[derive(Debug, Clone, Default)]
struct ListProblems {
    tools: Vec<EngineProblem>,
    prompts: Vec<EngineProblem>,
    resources: Vec<EngineProblem>,
    templates: Vec<EngineProblem>,
}

// === impl ServerLists ===

impl ServerLists {
    /// Returns these lists with other tools.
    #[must_use]
    pub fn with_tools(&self, tools: ParsedList<Tool>) -> Self {
        let mut lists = self.clone();
        (lists.tools, lists.problems.tools) = (tools.items, tools.problems);
        lists
    }

    /// Returns these lists with other prompts.
    #[must_use]
    pub fn with_prompts(&self, prompts: ParsedList<Prompt>) -> Self {
        let mut lists = self.clone();
        (lists.prompts, lists.problems.prompts) = (prompts.items, prompts.problems);
        lists
    }

    /// Returns these lists with other resources.
    #[must_use]
    pub fn with_resources(&self, resources: ParsedList<Resource>) -> Self {
        let mut lists = self.clone();
        (lists.resources, lists.problems.resources) = (resources.items, resources.problems);
        lists
    }

    /// Returns these lists with other templates.
    #[must_use]
    pub fn with_templates(&self, templates: ParsedList<ResourceTemplate>) -> Self {
        let mut lists = self.clone();
        (lists.templates, lists.problems.templates) = (templates.items, templates.problems);
        lists
    }

    /// Returns these lists with other instructions, sanitized and cut.
    #[must_use]
    pub fn with_instructions(&self, instructions: Option<&str>) -> Self {
        let shown = instructions.map(text::block).filter(|text| !text.is_empty());
        Self { instructions: shown, ..self.clone() }
    }

    /// Returns these lists with the members that `listing` has beside the items of a list.
    #[must_use]
    pub fn with_members(&self, list: ListKind, listing: &FetchedList) -> Self {
        let mut lists = self.clone();
        let members = listing
            .other_members
            .iter()
            .filter_map(|(name, value)| value.as_ref().map(|value| (name.clone(), value.clone())));
        for (kind, kept) in ALL_LISTS.into_iter().zip(&mut lists.members) {
            if kind == list {
                *kept = members.clone().collect();
            }
        }
        lists
    }

    /// Returns the problems of all lists.
    pub fn problems(&self) -> impl Iterator<Item = &EngineProblem> {
        let ListProblems { tools, prompts, resources, templates } = &self.problems;
        [tools, prompts, resources, templates].into_iter().flatten()
    }

    /// Returns the problems for an entry that shows only the tools of `filter`, without those of other tools.
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

    /// Returns the estimated number of tokens that a model spends on all the tools.
    pub fn cost(&self) -> usize {
        self.tools.iter().map(|tool| tool.cost).sum()
    }
}
