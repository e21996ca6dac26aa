//! The contents of a catalog, and lookup by name, address and words.
//!
//! Used by `dispatch`, the gateway, the commands and the terminal UI. Composing a catalog is in `catalog::compose`.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use switchboard_wire::client::ListKind;
use switchboard_wire::json::Raw;

use super::{
    CatalogNames, ItemLabel, ListMembers, NameStyle, Prompt, Resource, ResourceTemplate,
    ServerName, Tool, ToolHit, catalog_names::Lookups, search::SearchIndex,
};
use crate::connection::ALL_LISTS;
use crate::dispatch::builtin_tools;
use crate::problem::EngineProblem;

/// The tools, prompts and resources of all servers, as one view shows them. Immutable: a change makes a new
/// catalog.
#[derive(Debug, Default)]
pub struct Catalog {
    pub(super) tools: Vec<Arc<ListedTool>>,
    pub(super) prompts: Vec<ListedPrompt>,
    pub(super) resources: Vec<ListedResource>,
    pub(super) templates: Vec<ListedTemplate>,
    pub(super) servers: Vec<VisibleServer>,
    pub(super) problems: Vec<EngineProblem>,
    pub(super) places: CatalogIndex,
    pub(super) styles: [OnceLock<Lookups>; NameStyle::ALL.len()],
    pub(super) index: OnceLock<(Vec<Arc<ListedTool>>, SearchIndex)>,
}

/// A tool under its full name.
#[derive(Debug, Clone)]
pub struct ListedTool {
    /// The full name.
    pub name: String,
    /// The full name, neither cut nor marked: matchers of hooks are written against it.
    pub full_name: String,
    /// The parts that its names are made of.
    pub label: ItemLabel,
    /// The tool.
    pub tool: Arc<Tool>,
    /// Whether the tool may be left out of a list until a search finds it.
    ///
    /// Every tool may, unless the server's entry or the tool itself says that it is always loaded, or the tool says
    /// that it must not be deferred.
    pub deferred: bool,
}

/// A prompt under its full name.
#[derive(Debug, Clone)]
pub struct ListedPrompt {
    /// The full name.
    pub name: String,
    /// The parts that its names are made of.
    pub label: ItemLabel,
    /// The prompt.
    pub prompt: Arc<Prompt>,
}

/// A resource and its server.
#[derive(Debug, Clone)]
pub struct ListedResource {
    /// The server.
    pub server: Arc<ServerName>,
    /// The resource.
    pub resource: Arc<Resource>,
}

/// A resource template and its server.
#[derive(Debug, Clone)]
pub struct ListedTemplate {
    /// The server.
    pub server: Arc<ServerName>,
    /// The template.
    pub template: Arc<ResourceTemplate>,
}

/// A server that is not hidden.
#[derive(Debug)]
pub(super) struct VisibleServer {
    pub(super) name: Arc<ServerName>,
    pub(super) instructions: Option<String>,
    /// The members beside the items of each list, in the order of [`ALL_LISTS`].
    pub(super) members: [ListMembers; ALL_LISTS.len()],
}

/// The indexes of tools and resources by the names that their servers gave them.
#[derive(Debug, Default)]
pub(super) struct CatalogIndex {
    /// Tools, by server and then by name.
    pub(super) tools: HashMap<String, HashMap<String, usize>>,
    /// Resources, by URI; the first server that lists a URI owns it.
    pub(super) resources: HashMap<String, usize>,
}

// === impl Catalog ===

impl Catalog {
    /// Returns the tools, in the order of the servers and of their lists.
    pub fn tools(&self) -> &[Arc<ListedTool>] {
        &self.tools
    }

    /// Returns the tool of exactly this full name.
    pub fn tool(&self, name: &str) -> Option<&Arc<ListedTool>> {
        self.names(NameStyle::Full).tool(name)
    }

    /// Returns a server's tool by the name that the server gave it.
    pub fn tool_of(&self, server: &str, tool: &str) -> Option<&Arc<ListedTool>> {
        self.places.tools.get(server)?.get(tool).map(|place| &self.tools[*place])
    }

    /// Returns the prompts, in the order of the servers and of their lists.
    pub fn prompts(&self) -> &[ListedPrompt] {
        &self.prompts
    }

    /// Returns the prompt of exactly this full name.
    pub fn prompt(&self, name: &str) -> Option<&ListedPrompt> {
        self.names(NameStyle::Full).prompt(name)
    }

    /// Returns the resources, in the order of the servers and of their lists.
    pub fn resources(&self) -> &[ListedResource] {
        &self.resources
    }

    /// Returns the templates, in the order of the servers and of their lists.
    pub fn templates(&self) -> &[ListedTemplate] {
        &self.templates
    }

    /// Returns the tools and prompts under names of another style.
    pub fn names(&self, style: NameStyle) -> CatalogNames<'_> {
        let lookups = self.styles[style as usize].get_or_init(|| Lookups::of(self, style));
        CatalogNames::new(self, lookups)
    }

    /// Returns the server of a resource: the first that lists it, else the first with a matching template, else the
    /// server that last mentioned it, if that server is shown.
    pub fn owner(&self, uri: &str, mentioned_by: Option<&str>) -> Option<&str> {
        let listed = self.places.resources.get(uri).map(|place| &self.resources[*place].server);
        let fits = |listed: &&ListedTemplate| listed.template.uri_template.matches(uri);
        let owner =
            listed.or_else(|| self.templates.iter().find(fits).map(|listed| &listed.server));
        let mentioned = || self.servers().find(|server| Some(*server) == mentioned_by);
        owner.map(|server| server.as_str()).or_else(mentioned)
    }

    /// Returns the servers that list a resource, else those with a matching template. A read goes to the first.
    pub fn owners(&self, uri: &str) -> Vec<&str> {
        let listing = self.resources.iter().filter(|listed| listed.resource.uri == uri);
        let mut owners: Vec<&str> = listing.map(|listed| listed.server.as_str()).collect();
        if owners.is_empty() {
            let fits = |listed: &&ListedTemplate| listed.template.uri_template.matches(uri);
            let fitting = self.templates.iter().filter(fits);
            owners.extend(fitting.map(|listed| listed.server.as_str()));
        }
        owners.dedup();
        owners
    }

    /// Whether a server lists a resource or a template.
    pub(crate) fn has_resources(&self, server: &str) -> bool {
        let resources = self.resources.iter().map(|listed| &listed.server);
        let templates = self.templates.iter().map(|listed| &listed.server);
        resources.chain(templates).any(|owner| owner.as_str() == server)
    }

    /// Returns the servers that are not hidden, in order.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().map(|server| server.name.as_str())
    }

    /// Returns the members that a server's list has beside its items.
    pub fn list_members(&self, server: &str, list: ListKind) -> &[(String, Raw)] {
        let shown = self.servers.iter().find(|shown| shown.name.as_str() == server);
        let at = ALL_LISTS.iter().position(|kind| *kind == list);
        match (shown, at) {
            (Some(shown), Some(at)) => &shown.members[at],
            _ => &[],
        }
    }

    /// Returns the instructions of servers, in order.
    pub fn instructions(&self) -> Vec<(&str, &str)> {
        let servers = self.servers.iter();
        servers
            .filter_map(|server| Some((server.name.as_str(), server.instructions.as_deref()?)))
            .collect()
    }

    /// Returns the estimated number of tokens that each server's tools take in a model's full list.
    pub fn cost(&self) -> Vec<(&str, usize)> {
        let mut costs: HashMap<&str, usize> = HashMap::new();
        for listed in self.tools.iter().filter(|listed| listed.is_for_models()) {
            *costs.entry(listed.server()).or_default() += listed.tool.cost;
        }
        self.servers().map(|server| (server, costs.get(server).copied().unwrap_or(0))).collect()
    }

    /// Returns the problems with items of servers that are not hidden.
    pub fn problems(&self) -> &[EngineProblem] {
        &self.problems
    }

    /// Returns the full names of up to three tools that the mistyped `name` may mean, closest first.
    pub fn suggest(&self, name: &str) -> Vec<String> {
        self.names(NameStyle::Full).suggest_tools(name, None)
    }

    /// Returns the `limit` tools that match `query` best, best first, built-in tools included, tools for apps only not.
    /// [`Self::tool_or_builtin`] finds them by name.
    pub fn search(&self, query: &str, limit: usize) -> Vec<ToolHit> {
        let (tools, index) = self.index.get_or_init(|| {
            let found = self.tools.iter().filter(|listed| listed.is_for_models());
            let tools: Vec<_> = found.chain(self.builtin_tools()).cloned().collect();
            let index = SearchIndex::of(&tools);
            (tools, index)
        });
        index.search(tools, query, limit)
    }

    /// Returns the tool of this full name, or a built-in tool.
    pub fn tool_or_builtin(&self, name: &str) -> Option<&Arc<ListedTool>> {
        let own = || self.builtin_tools().iter().find(|listed| listed.name == name);
        self.tool(name).or_else(own)
    }

    /// Returns the built-in tools to list and read resources, where there are resources. They are not part of the
    /// list, but found by a search.
    pub fn builtin_tools(&self) -> &'static [Arc<ListedTool>] {
        if self.resources.is_empty() && self.templates.is_empty() { &[] } else { builtin_tools() }
    }
}

// === impl ListedTool ===

impl ListedTool {
    pub(super) fn new(label: ItemLabel, tool: Arc<Tool>, deferred: bool) -> Self {
        Self {
            name: label.name(NameStyle::Full),
            full_name: label.full_name(),
            label,
            tool,
            deferred,
        }
    }

    /// Makes a built-in tool, which has its name alone in every style.
    pub(crate) fn built_in(label: ItemLabel, tool: Arc<Tool>) -> Self {
        Self { name: tool.name.clone(), full_name: tool.name.clone(), label, tool, deferred: true }
    }

    /// The tool's server, as configured.
    pub fn server(&self) -> &str {
        self.label.server().as_str()
    }

    /// Whether models may call the tool. If not, it is for apps only, and no list or search shows it to a model.
    pub fn is_for_models(&self) -> bool {
        self.tool.ui.visibility.model
    }
}

// === impl ListedPrompt ===

impl ListedPrompt {
    /// The prompt's server, as configured.
    pub fn server(&self) -> &str {
        self.label.server().as_str()
    }
}
