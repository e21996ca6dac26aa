//! The lists a client sees.

use std::sync::Arc;

use switchboard_core::Snapshot;
use switchboard_core::catalog::Style;
use switchboard_core::results::Spill;
use switchboard_wire::Version;
use switchboard_wire::client::List;
use switchboard_wire::json::{Edit, Raw, quote};
use switchboard_wire::meta;

use super::own;
use crate::front::Part;

/// What a list is made of.
pub(super) struct Seen<'a> {
    pub(super) snapshot: &'a Arc<Snapshot>,
    pub(super) names: Style,
    pub(super) part: &'a Part,
    /// The client's.
    pub(super) version: Version,
    /// Whether tools are looked for, so that only those that are always loaded are listed.
    pub(super) is_searched: bool,
    pub(super) spill: Spill,
}

// === impl Seen ===

impl Seen<'_> {
    pub(super) fn list(&self, list: List) -> Raw {
        match list {
            List::Tools => self.tools(),
            List::Prompts => self.prompts(),
            List::Resources => self.resources(),
            List::Templates => self.templates(),
        }
    }

    fn tools(&self) -> Raw {
        let tools = self.snapshot.catalog.named(self.names).tools();
        let shown = tools
            .filter(|(_, listed)| self.has(listed.server()))
            .filter(|(_, listed)| !(self.is_searched && listed.deferred))
            .map(|(name, listed)| self.with_tasks(listed.server(), named(&listed.tool.item, name)));
        list("tools", shown.chain(own::definitions(self.is_searched, self.spill)))
    }

    fn prompts(&self) -> Raw {
        let prompts = self.snapshot.catalog.named(self.names).prompts();
        let shown = prompts.filter(|(_, listed)| self.has(listed.server()));
        list("prompts", shown.map(|(name, listed)| named(&listed.prompt.item, name)))
    }

    fn resources(&self) -> Raw {
        let resources = self.snapshot.catalog.resources().iter();
        let shown = resources.filter(|listed| self.has(listed.server.as_str()));
        list("resources", shown.map(|listed| listed.resource.item.clone()))
    }

    fn templates(&self) -> Raw {
        let templates = self.snapshot.catalog.templates().iter();
        let shown = templates.filter(|listed| self.has(listed.server.as_str()));
        list("resourceTemplates", shown.map(|listed| listed.template.item.clone()))
    }

    /// Clients of the version that has tasks in its own words call only what says so as one. Of a modern server any
    /// call may become a task.
    fn with_tasks(&self, server: &str, tool: Raw) -> Raw {
        let makes_tasks = || {
            let view = self.snapshot.server(server);
            let facts = view.and_then(|view| view.facts.as_ref());
            facts.is_some_and(|facts| facts.offers(&["extensions", meta::TASKS_EXTENSION]))
        };
        if self.version != Version::V2025_11_25 || !makes_tasks() {
            return tool;
        }
        let support = Edit::set(&["execution", "taskSupport"], r#""optional""#);
        tool.with(&[support]).unwrap_or(tool)
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
