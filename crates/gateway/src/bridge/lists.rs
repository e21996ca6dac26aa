//! The lists a client sees.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use switchboard_core::catalog::{Catalog, Style};
use switchboard_core::results::Spill;
use switchboard_wire::Version;
use switchboard_wire::client::List;
use switchboard_wire::json::{Edit, Raw, quote};
use switchboard_wire::server::Repeated;

use super::own;
use crate::front::Part;

/// What a list is made of.
pub(super) struct Seen<'a> {
    pub(super) catalog: &'a Arc<Catalog>,
    pub(super) names: Style,
    pub(super) part: &'a Part,
    /// The client's.
    pub(super) version: Version,
    /// Whether any call of a server may become a task.
    pub(super) makes_tasks: &'a dyn Fn(&str) -> bool,
    /// Whether tools are looked for, so that only those that are always loaded are listed.
    pub(super) is_searched: bool,
    pub(super) spill: Spill,
}

/// Lists that were made already, of one catalog. Many clients ask for the same one, and it may be long.
#[derive(Default)]
pub(super) struct Made(Mutex<Option<Lists>>);

struct Lists {
    catalog: Arc<Catalog>,
    /// By what tells them apart; names and limits are the same for all clients of a bridge.
    lists: HashMap<(List, Part, bool, bool), Repeated>,
}

// === impl Made ===

impl Made {
    /// The list, made if need be.
    pub(super) fn list(&self, seen: &Seen<'_>, list: List) -> Repeated {
        let which = (list, seen.part.clone(), seen.is_searched, seen.tells_of_tasks());
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lists = match made.take() {
            Some(lists) if Arc::ptr_eq(&lists.catalog, seen.catalog) => lists,
            _ => Lists { catalog: Arc::clone(seen.catalog), lists: HashMap::new() },
        };
        let lists = &mut made.insert(lists).lists;
        lists.entry(which).or_insert_with(|| Repeated::new(seen.list(list))).clone()
    }
}

// === impl Seen ===

impl Seen<'_> {
    fn list(&self, list: List) -> Raw {
        match list {
            List::Tools => self.tools(),
            List::Prompts => self.prompts(),
            List::Resources => self.resources(),
            List::Templates => self.templates(),
        }
    }

    fn tools(&self) -> Raw {
        let tools = self.catalog.named(self.names).tools();
        let shown = tools
            .filter(|(_, listed)| self.has(listed.server()))
            .filter(|(_, listed)| !(self.is_searched && listed.deferred))
            .map(|(name, listed)| self.with_tasks(listed.server(), named(&listed.tool.item, name)));
        list("tools", shown.chain(own::definitions(self.is_searched, self.spill)))
    }

    fn prompts(&self) -> Raw {
        let prompts = self.catalog.named(self.names).prompts();
        let shown = prompts.filter(|(_, listed)| self.has(listed.server()));
        list("prompts", shown.map(|(name, listed)| named(&listed.prompt.item, name)))
    }

    fn resources(&self) -> Raw {
        let resources = self.catalog.resources().iter();
        let shown = resources.filter(|listed| self.has(listed.server.as_str()));
        list("resources", shown.map(|listed| listed.resource.item.clone()))
    }

    fn templates(&self) -> Raw {
        let templates = self.catalog.templates().iter();
        let shown = templates.filter(|listed| self.has(listed.server.as_str()));
        list("resourceTemplates", shown.map(|listed| listed.template.item.clone()))
    }

    /// Clients of the version that has tasks in its own words call only what says so as one. Of a modern server any
    /// call may become a task.
    fn with_tasks(&self, server: &str, tool: Raw) -> Raw {
        if !self.tells_of_tasks() || !(self.makes_tasks)(server) {
            return tool;
        }
        let support = Edit::set(&["execution", "taskSupport"], r#""optional""#);
        tool.with(&[support]).unwrap_or(tool)
    }

    fn tells_of_tasks(&self) -> bool {
        self.version == Version::V2025_11_25
    }

    fn has(&self, server: &str) -> bool {
        self.part.has(server)
    }
}

/// An item under the name it is shown by; everything else as its server sent it.
fn named(item: &Raw, name: &str) -> Raw {
    let name = quote(name);
    item.with(&[Edit::set(&["name"], &name)]).unwrap_or_else(|_| item.clone())
}

fn list(member: &str, items: impl Iterator<Item = Raw>) -> Raw {
    let mut text = format!(r#"{{"{member}":["#);
    for (at, item) in items.enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(item.as_str());
    }
    text.push_str("]}");
    // Items are JSON that was checked when it came in.
    Raw::parse(text).unwrap_or_else(|_| Raw::empty_object())
}
