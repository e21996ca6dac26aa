//! The lists that a client sees: tools, prompts, resources and templates, under the names of the client.
//!
//! Used by `view` through the cache of an `audience`. It does not compose the catalog (`core::catalog`).

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use switchboard_core::catalog::{Catalog, ListedResource, NameStyle};
use switchboard_core::results::SpillMode;
use switchboard_wire::client::ListKind;
use switchboard_wire::json::{JsonEdit, Raw, quote};
use switchboard_wire::server::PrerenderedResult;
use switchboard_wire::{Era, Version};

use super::{gateway_tools, owners};
use crate::view_provider::ViewSelection;

/// The facts that a list depends on.
pub(super) struct ListContext<'a> {
    pub(super) catalog: &'a Arc<Catalog>,
    pub(super) names: NameStyle,
    pub(super) part: &'a ViewSelection,
    /// The client's version.
    pub(super) version: Version,
    /// Whether any call of a server may become a task.
    pub(super) makes_tasks: &'a dyn Fn(&str) -> bool,
    /// Whether tools are searched for, so that only tools that are always loaded are listed.
    pub(super) is_searched: bool,
    pub(super) spill: SpillMode,
}

/// The most catalogs with cached lists: clients of different kinds take turns.
const MAX_CATALOGS: usize = 4;

/// Rendered lists of the last requested catalogs. Many clients ask for one list, and it may be long.
#[derive(Default)]
pub(super) struct ListCache(Mutex<VecDeque<CachedLists>>);

/// The key of a list within one catalog; names and limits are equal for all clients of a bridge.
#[derive(PartialEq, Eq, Hash)]
struct ListKey {
    list: ListKind,
    part: ViewSelection,
    era: Era,
    is_searched: bool,
    tells_of_tasks: bool,
}

struct CachedLists {
    catalog: Arc<Catalog>,
    lists: HashMap<ListKey, PrerenderedResult>,
}

// === impl ListCache ===

impl ListCache {
    /// Returns the list from the cache, or builds it.
    pub(super) fn list(&self, seen: &ListContext<'_>, list: ListKind) -> PrerenderedResult {
        let which = ListKey {
            list,
            part: seen.part.clone(),
            era: seen.version.era(),
            is_searched: seen.is_searched,
            tells_of_tasks: seen.shows_task_support(),
        };
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = made.iter().position(|lists| Arc::ptr_eq(&lists.catalog, seen.catalog));
        let new = || CachedLists { catalog: Arc::clone(seen.catalog), lists: HashMap::new() };
        let mut lists = known.and_then(|at| made.remove(at)).unwrap_or_else(new);
        let entry = lists.lists.entry(which);
        let list = entry.or_insert_with(|| PrerenderedResult::new(seen.list(list))).clone();
        made.push_front(lists);
        made.truncate(MAX_CATALOGS);
        list
    }
}

// === impl ListContext ===

impl ListContext<'_> {
    fn list(&self, list: ListKind) -> Raw {
        match list {
            ListKind::Tools => self.tools(),
            ListKind::Prompts => self.prompts(),
            ListKind::Resources => self.resources(),
            ListKind::Templates => self.templates(),
        }
    }

    fn tools(&self) -> Raw {
        let by_name = self.catalog.names(self.names);
        let shown = by_name
            .tools()
            .filter(|(_, listed)| self.has(listed.server()))
            .filter(|(_, listed)| !(self.is_searched && listed.deferred))
            .map(|(name, listed)| {
                let item = listed.tool.item_for(self.version);
                self.with_tasks(listed.server(), renamed_item(item, name))
            });
        let own = gateway_tools::definitions(self.is_searched, self.spill, by_name);
        list_result("tools", shown.chain(self.resource_tools()).chain(own))
    }

    /// The engine's tools for resources, if there are resources and all tools are listed. They follow the servers'
    /// tools.
    fn resource_tools(&self) -> impl Iterator<Item = Raw> {
        let resources = self.catalog.resources().iter().map(|listed| &listed.server);
        let templates = self.catalog.templates().iter().map(|listed| &listed.server);
        let is_needed =
            !self.is_searched && resources.chain(templates).any(|server| self.has(server.as_str()));
        let named = self.catalog.names(self.names);
        let ours = self.catalog.builtin_tools().iter().filter(move |_| is_needed);
        ours.filter(move |tool| named.tool(&tool.name).is_none()).map(|tool| tool.tool.item.clone())
    }

    fn prompts(&self) -> Raw {
        let prompts = self.catalog.names(self.names).prompts();
        let shown = prompts.filter(|(_, listed)| self.has(listed.server()));
        list_result("prompts", shown.map(|(name, listed)| renamed_item(&listed.prompt.item, name)))
    }

    fn resources(&self) -> Raw {
        let resources = self.catalog.resources().iter();
        let shown = resources.filter(|listed| self.has(listed.server.as_str()));
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for listed in shown.clone() {
            *counts.entry(&listed.resource.uri).or_default() += 1;
        }
        let item = |listed: &ListedResource| {
            let (server, item) = (listed.server.as_str(), listed.resource.item.clone());
            if counts[&*listed.resource.uri] > 1 { owners::tag_server(item, server) } else { item }
        };
        list_result("resources", shown.map(item))
    }

    fn templates(&self) -> Raw {
        let templates = self.catalog.templates().iter();
        let shown = templates.filter(|listed| self.has(listed.server.as_str()));
        list_result("resourceTemplates", shown.map(|listed| listed.template.item.clone()))
    }

    /// Adds `taskSupport` for 2025-11-25 clients, which call only tools with that member as tasks. Any call of a
    /// modern server may become a task.
    fn with_tasks(&self, server: &str, tool: Raw) -> Raw {
        if !self.shows_task_support() || !(self.makes_tasks)(server) {
            return tool;
        }
        let support = JsonEdit::set(&["execution", "taskSupport"], r#""optional""#);
        tool.with_edits(&[support]).unwrap_or(tool)
    }

    fn shows_task_support(&self) -> bool {
        self.version == Version::V2025_11_25
    }

    fn has(&self, server: &str) -> bool {
        self.part.has(server)
    }
}

/// An item under its displayed name; all other members stay unchanged.
fn renamed_item(item: &Raw, name: &str) -> Raw {
    let name = quote(name);
    item.with_edits(&[JsonEdit::set(&["name"], &name)]).unwrap_or_else(|_| item.clone())
}

fn list_result(member: &str, items: impl Iterator<Item = Raw>) -> Raw {
    let mut text = format!(r#"{{"{member}":["#);
    for (at, item) in items.enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(item.as_str());
    }
    text.push_str("]}");
    // Items are valid JSON, checked on arrival.
    Raw::parse(text).unwrap_or_else(|_| Raw::empty_object())
}
