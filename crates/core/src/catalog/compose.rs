//! Composes a catalog from the lists of all servers, for one view.
//!
//! Used by `engine::snapshot::build` and `catalog::remote`. It does not parse lists (`catalog::parsed_list`) and
//! does not decide which items are hidden: a [`CatalogView`] says so.

use std::{collections::HashSet, sync::Arc};

use switchboard_config::{Scope, ToolFilter};

use super::{
    Catalog, ConfiguredServer, ItemLabel, ListedPrompt, ListedResource, ListedTemplate, ListedTool,
    NameCollisions, NameStyle, Prompt, ServerLists, ServerName, Tool, authenticate,
    catalog_names::unique_names,
    contents::{CatalogIndex, VisibleServer},
    text,
};
use crate::problem::{EngineProblem, EngineProblemKind};

/// A server with its lists, in any state.
#[derive(Debug, Clone)]
pub struct CatalogMember<'m> {
    /// The server's name.
    pub server: &'m str,
    /// The scope of the server's entry.
    pub scope: Scope,
    /// The server's lists.
    pub lists: Arc<ServerLists>,
    /// Which of its tools the entry shows.
    pub filter: &'m ToolFilter,
    /// Whether the entry says that its tools are always loaded.
    pub always_load: bool,
}

/// Which servers and tools are shown.
#[derive(Clone, Copy)]
pub struct CatalogView<'v> {
    /// Which tools the agent sees: globs of full names, of the servers' own tool names, or `mcp__<server>` for a
    /// whole server.
    pub agent: Option<&'v ToolFilter>,
    /// Whether a tool is hidden.
    pub hides_tool: &'v dyn Fn(&Tool, &ItemLabel) -> bool,
    /// Whether a whole server is hidden, by its normalised name.
    pub hides_server: &'v dyn Fn(&str) -> bool,
}

/// A member with the names of its items.
struct NamedMember<'a> {
    member: &'a CatalogMember<'a>,
    name: Arc<ServerName>,
}

// === impl Catalog ===

impl Catalog {
    /// Composes what `view` shows of `members`, in their order, highest precedence first.
    ///
    /// Names depend on all `configured` servers, connected or not, and on whole lists, before anything is hidden:
    /// neither a lost connection nor a rule renames a tool.
    pub fn compose(
        configured: &[ConfiguredServer<'_>],
        members: &[CatalogMember<'_>],
        view: &CatalogView<'_>,
    ) -> Self {
        let mut catalog = Self::default();
        for placed in named_members(configured, members) {
            if !(view.hides_server)(placed.name.normal()) {
                catalog.add(&placed, view);
            }
        }
        catalog.withhold_clashes();
        catalog.places = CatalogIndex::of(&catalog);
        catalog
    }

    fn add(&mut self, placed: &NamedMember<'_>, view: &CatalogView<'_>) {
        let NamedMember { member, name } = placed;
        let lists = &member.lists;
        let labels = name.labels(lists.tools.iter().map(|tool| &*tool.name));
        let tools = lists.tools.iter().zip(labels);
        let tools = tools.filter(|(tool, label)| shows(member, view, tool, label));
        self.tools.extend(tools.map(|(tool, label)| Arc::new(list_tool(member, tool, label))));
        let labels = name.labels(lists.prompts.iter().map(|prompt| &*prompt.name));
        let prompts = lists.prompts.iter().zip(labels);
        self.prompts.extend(prompts.map(|(prompt, label)| list_prompt(prompt, label)));
        self.resources.extend(
            lists.resources.iter().map(|resource| ListedResource {
                server: name.clone(),
                resource: resource.clone(),
            }),
        );
        self.templates.extend(
            lists.templates.iter().map(|template| ListedTemplate {
                server: name.clone(),
                template: template.clone(),
            }),
        );
        // Entries that share a connection share its lists, so the problems carry the name of one entry.
        let problems = lists.problems_within(member.filter).cloned();
        self.problems.extend(problems.map(|problem| problem.of_server(member.server)));
        let instructions = lists.instructions.clone();
        let members = lists.members.clone();
        self.servers.push(VisibleServer { name: name.clone(), instructions, members });
    }

    /// Removes items with equal full names, which happens when the hashes of two names are equal.
    fn withhold_clashes(&mut self) {
        let tools = withhold(&mut self.tools, |listed| &listed.label);
        let tools =
            tools.iter().map(|listed| clash_problem(listed.server(), &listed.tool.name, "tool"));
        self.problems.extend(tools);
        let prompts = withhold(&mut self.prompts, |listed| &listed.label);
        let prompts = prompts
            .iter()
            .map(|listed| clash_problem(listed.server(), &listed.prompt.name, "prompt"));
        self.problems.extend(prompts);
    }
}

/// Removes the items that share a full name with another from `items`, and returns them.
fn withhold<T>(items: &mut Vec<T>, label: impl Fn(&T) -> &ItemLabel) -> Vec<T> {
    let mut names = unique_names(items.iter().map(label), NameStyle::Full).into_iter();
    items.extract_if(.., |_| names.next().flatten().is_none()).collect()
}

/// The members in their order, each server once.
fn named_members<'a>(
    configured: &[ConfiguredServer<'_>],
    members: &'a [CatalogMember<'a>],
) -> impl Iterator<Item = NamedMember<'a>> {
    let others = members.iter().map(CatalogMember::configured);
    let neighbours = NameCollisions::among_servers(configured.iter().copied().chain(others));
    let mut seen = HashSet::new();
    members
        .iter()
        .filter(move |member| seen.insert(member.server))
        .map(move |member| NamedMember { member, name: neighbours.server(member.configured()) })
}

fn list_tool(member: &CatalogMember<'_>, tool: &Arc<Tool>, label: ItemLabel) -> ListedTool {
    let meta = &tool.meta;
    let is_loaded = member.always_load || meta.always_load || meta.defer_loading == Some(false);
    ListedTool::new(label, tool.clone(), !is_loaded)
}

fn list_prompt(prompt: &Arc<Prompt>, label: ItemLabel) -> ListedPrompt {
    ListedPrompt { name: label.name(NameStyle::Full), label, prompt: prompt.clone() }
}

fn clash_problem(server: &str, item: &str, noun: &str) -> EngineProblem {
    let message = format!("the {noun} is left out: its name would also mean another {noun}");
    let problem = EngineProblem::new(EngineProblemKind::Quarantined, message).of_server(server);
    problem.of_item(text::line(item))
}

fn shows(
    member: &CatalogMember<'_>,
    view: &CatalogView<'_>,
    tool: &Tool,
    label: &ItemLabel,
) -> bool {
    (member.filter.shows_tool(&tool.name) || authenticate::is_authenticate_tool(tool))
        && !(view.hides_tool)(tool, label)
        && view.agent.is_none_or(|agent| agent_sees(agent, tool, label))
}

/// Whether an agent sees a tool.
fn agent_sees(agent: &ToolFilter, tool: &Tool, label: &ItemLabel) -> bool {
    let server = format!("mcp__{}", label.server().normal());
    agent.shows_any(&[&label.full_name(), &label.name(NameStyle::Full), &tool.name, &server])
}

// === impl CatalogIndex ===

impl CatalogIndex {
    pub(super) fn of(catalog: &Catalog) -> Self {
        let mut places = Self::default();
        for (place, listed) in catalog.tools.iter().enumerate() {
            let tools = places.tools.entry(listed.server().to_owned()).or_default();
            tools.insert(listed.tool.name.clone(), place);
        }
        for (place, listed) in catalog.resources.iter().enumerate() {
            places.resources.entry(listed.resource.uri.clone()).or_insert(place);
        }
        places
    }
}

// === impl CatalogMember ===

impl<'m> CatalogMember<'m> {
    fn configured(&self) -> ConfiguredServer<'m> {
        ConfiguredServer { name: self.server, scope: self.scope }
    }
}

// === impl CatalogView ===

impl CatalogView<'_> {
    /// A view that hides nothing.
    pub fn everything() -> Self {
        Self { agent: None, hides_tool: &|_, _| false, hides_server: &|_| false }
    }
}
