//! The lists that a client sees: tools, prompts, resources and templates, under the names of the client.
//!
//! Used by `view` through the cache of an `audience`. It does not compose the catalog (`core::catalog`).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use switchboard_core::catalog::{
    Catalog, ListedResource, ListedTemplate, ListedTool, NameStyle, is_ui_uri,
};
use switchboard_core::results::SpillMode;
use switchboard_wire::client::ListKind;
use switchboard_wire::json::{JsonEdit, Raw, quote};
use switchboard_wire::server::PrerenderedResult;
use switchboard_wire::{Era, Version};

use super::apps::UiAddressForm;
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
    /// Whether the client shows MCP Apps, and so lists tools that are for apps only.
    pub(super) shows_apps: bool,
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
    shows_apps: bool,
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
            shows_apps: seen.shows_apps,
        };
        let mut made = self.0.lock();
        if let Some(known) = Self::lists_of(&mut made, seen).lists.get(&which) {
            return known.clone();
        }
        drop(made);
        // Built without the lock: a list of a thousand tools takes a millisecond, and other threads want theirs. Two
        // threads may build the same list; the first one counts.
        let list = PrerenderedResult::new(seen.list(list));
        let mut made = self.0.lock();
        Self::lists_of(&mut made, seen).lists.entry(which).or_insert(list).clone()
    }

    /// The cached lists of a catalog, as those used last.
    fn lists_of<'a>(
        made: &'a mut VecDeque<CachedLists>,
        seen: &ListContext<'_>,
    ) -> &'a mut CachedLists {
        let known = made.iter().position(|lists| Arc::ptr_eq(&lists.catalog, seen.catalog));
        let new = || CachedLists { catalog: Arc::clone(seen.catalog), lists: HashMap::new() };
        let lists = known.and_then(|at| made.remove(at)).unwrap_or_else(new);
        made.truncate(MAX_CATALOGS - 1);
        made.push_front(lists);
        &mut made[0]
    }
}

// === impl ListContext ===

impl ListContext<'_> {
    fn list(&self, list: ListKind) -> Raw {
        let items = match list {
            ListKind::Tools => self.tools(),
            ListKind::Prompts => self.prompts(),
            ListKind::Resources => self.resources(),
            ListKind::Templates => self.templates(),
        };
        self.with_members(list, items)
    }

    /// Adds the members that the server's list has beside its items, where the client sees one server only.
    fn with_members(&self, list: ListKind, result: Raw) -> Raw {
        let mut servers = self.catalog.servers().filter(|server| self.has(server));
        let (Some(only), None) = (servers.next(), servers.next()) else { return result };
        let members = self.catalog.list_members(only, list);
        let paths: Vec<([&str; 1], &Raw)> =
            members.iter().map(|(name, value)| ([name.as_str()], value)).collect();
        let edits: Vec<_> =
            paths.iter().map(|(path, value)| JsonEdit::set(path, value.as_str())).collect();
        result.with_edits(&edits).unwrap_or(result)
    }

    fn tools(&self) -> Raw {
        let by_name = self.catalog.names(self.names);
        let shown = by_name
            .tools()
            .filter(|(_, listed)| self.has(listed.server()))
            .filter(|(_, listed)| self.lists_tool(listed))
            .map(|(name, listed)| {
                let item = renamed_item(listed.tool.item_for(self.version), name);
                let item = self.with_tasks(listed.server(), item);
                self.address_form().translate_tool(item, listed.server())
            });
        let own = gateway_tools::definitions(self.is_searched, self.spill, by_name);
        list_result("tools", shown.chain(self.resource_tools()).chain(own))
    }

    /// Whether a tool is listed. One for apps only is listed for each client that shows apps: the client hides it from
    /// its model, so it need not be searched for.
    fn lists_tool(&self, listed: &ListedTool) -> bool {
        if listed.is_for_models() {
            !(self.is_searched && listed.deferred)
        } else {
            self.shows_apps
        }
    }

    fn address_form(&self) -> UiAddressForm {
        UiAddressForm::of_part(self.part)
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
            if is_ui_uri(&listed.resource.uri) {
                // The address names its server.
                return self.address_form().translate_item(item, server, "uri");
            }
            if counts[&*listed.resource.uri] > 1 { owners::tag_server(item, server) } else { item }
        };
        list_result("resources", shown.map(item))
    }

    fn templates(&self) -> Raw {
        let templates = self.catalog.templates().iter();
        let shown = templates.filter(|listed| self.has(listed.server.as_str()));
        let item = |listed: &ListedTemplate| {
            let (server, item) = (listed.server.as_str(), listed.template.item.clone());
            self.address_form().translate_item(item, server, "uriTemplate")
        };
        list_result("resourceTemplates", shown.map(item))
    }

    /// Adds `taskSupport` for 2025-11-25 clients, which call only tools with that member as tasks. Any call of a
    /// modern server may become a task.
    fn with_tasks(&self, server: &str, tool: Raw) -> Raw {
        if !self.shows_task_support() || !(self.makes_tasks)(server) {
            return tool;
        }
        let support = JsonEdit::set(&["execution", "taskSupport"], r#""optional""#);
        tool.overwrite(&[support])
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
    item.clone().overwrite(&[JsonEdit::set(&["name"], &name)])
}

fn list_result(member: &str, items: impl Iterator<Item = Raw>) -> Raw {
    Raw::object([(member, Raw::array(items))])
}
