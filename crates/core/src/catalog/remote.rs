//! A catalog as JSON for another process, and back. Each name means one item on both sides.
//!
//! Used by `remote::snapshot`, the hub's admin interface and the terminal UI.

use std::{collections::HashMap, sync::Arc};

use serde::{Deserialize, Serialize};
use switchboard_wire::{client::FetchedList, json::Raw};

use super::{
    Catalog, ItemLabel, ListMembers, ListedPrompt, ListedResource, ListedTemplate, ListedTool,
    NameStyle, ServerName,
    contents::{CatalogIndex, VisibleServer},
    parse_prompts, parse_resources, parse_templates, parse_tools,
};
use crate::connection::ALL_LISTS;
use crate::schema;

/// A [`Catalog`] as JSON.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteCatalog {
    /// The servers that are not hidden, in order.
    pub servers: Vec<RemoteCatalogServer>,
    /// Their tools.
    pub tools: Vec<RemoteCatalogItem>,
    /// Their prompts.
    pub prompts: Vec<RemoteCatalogItem>,
    /// Their resources.
    pub resources: Vec<RemoteCatalogItem>,
    /// Their resource templates.
    pub templates: Vec<RemoteCatalogItem>,
}

/// A server that is not hidden.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteCatalogServer {
    /// The server's name, as configured.
    pub name: String,
    /// The name as it stands in tool names and rules.
    pub normal: String,
    /// Whether another server could be mistaken for this one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub crowded: bool,
    /// The server's instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// A tool, prompt, resource or template.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteCatalogItem {
    /// The full name; absent for resources and templates, which have a URI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The server's name.
    pub server: String,
    /// The estimated number of tokens that a model spends on a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<usize>,
    /// Whether a tool may be left out of a list until a search finds it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deferred: bool,
    /// Whether another item of the list is reduced to an equal text.
    #[serde(default, skip_serializing_if = "is_false")]
    pub twin: bool,
    /// The item as its server sent it, with sanitized texts.
    pub item: Raw,
}

/// `serde` passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(flag: &bool) -> bool {
    !flag
}

// === impl RemoteCatalog ===

impl RemoteCatalog {
    /// Converts a catalog.
    pub fn from_catalog(catalog: &Catalog) -> Self {
        let server = |shown: &VisibleServer| RemoteCatalogServer {
            name: shown.name.as_str().to_owned(),
            normal: shown.name.normal().to_owned(),
            crowded: shown.name.is_crowded(),
            instructions: shown.instructions.clone(),
        };
        let tool = |listed: &Arc<ListedTool>| RemoteCatalogItem {
            cost: Some(listed.tool.cost),
            deferred: listed.deferred,
            ..RemoteCatalogItem::with_label(&listed.label, &listed.tool.item)
        };
        Self {
            servers: catalog.servers.iter().map(server).collect(),
            tools: catalog.tools.iter().map(tool).collect(),
            prompts: (catalog.prompts.iter())
                .map(|listed| RemoteCatalogItem::with_label(&listed.label, &listed.prompt.item))
                .collect(),
            resources: (catalog.resources.iter())
                .map(|listed| RemoteCatalogItem::of(&listed.server, &listed.resource.item))
                .collect(),
            templates: (catalog.templates.iter())
                .map(|listed| RemoteCatalogItem::of(&listed.server, &listed.template.item))
                .collect(),
        }
    }

    /// Converts to a catalog. Items that cannot be parsed are left out; they were parsed before they were sent.
    pub fn into_catalog(self) -> Catalog {
        let name = |told: &RemoteCatalogServer| {
            ServerName::from_remote(told.name.clone(), told.normal.clone(), told.crowded)
        };
        let names: HashMap<String, Arc<ServerName>> =
            self.servers.iter().map(|told| (told.name.clone(), name(told))).collect();
        let mut catalog = Catalog::default();
        for told in &self.tools {
            let Some(server) = names.get(&told.server) else { continue };
            let read = parse_tools(&told.server, &told.listing(), &schema::check_schema);
            catalog.tools.extend(read.items.into_iter().map(|tool| {
                let label = ItemLabel::for_single_item(server, &tool.name, told.twin);
                Arc::new(ListedTool::new(label, tool, told.deferred))
            }));
        }
        for told in &self.prompts {
            let Some(server) = names.get(&told.server) else { continue };
            let read = parse_prompts(&told.server, &told.listing());
            catalog.prompts.extend(read.items.into_iter().map(|prompt| {
                let label = ItemLabel::for_single_item(server, &prompt.name, told.twin);
                ListedPrompt { name: label.name(NameStyle::Full), label, prompt }
            }));
        }
        for told in &self.resources {
            let Some(server) = names.get(&told.server) else { continue };
            let read = parse_resources(&told.server, &told.listing());
            let listed = |resource| ListedResource { server: server.clone(), resource };
            catalog.resources.extend(read.items.into_iter().map(listed));
        }
        for told in &self.templates {
            let Some(server) = names.get(&told.server) else { continue };
            let read = parse_templates(&told.server, &told.listing());
            let listed = |template| ListedTemplate { server: server.clone(), template };
            catalog.templates.extend(read.items.into_iter().map(listed));
        }
        let shown = |told: RemoteCatalogServer| {
            let name = names.get(&told.name)?.clone();
            // Only the gateway, which is beside the engine, shows them.
            let members = <[ListMembers; ALL_LISTS.len()]>::default();
            Some(VisibleServer { name, instructions: told.instructions, members })
        };
        catalog.servers = self.servers.into_iter().filter_map(shown).collect();
        catalog.places = CatalogIndex::of(&catalog);
        catalog
    }
}

// === impl RemoteCatalogItem ===

impl RemoteCatalogItem {
    fn of(server: &ServerName, item: &Raw) -> Self {
        Self {
            name: None,
            server: server.as_str().to_owned(),
            cost: None,
            deferred: false,
            twin: false,
            item: item.clone(),
        }
    }

    fn with_label(label: &ItemLabel, item: &Raw) -> Self {
        Self {
            name: Some(label.name(NameStyle::Full)),
            twin: label.has_twin(),
            ..Self::of(label.server(), item)
        }
    }

    /// A list of this item alone, for the parsers of lists.
    fn listing(&self) -> FetchedList {
        FetchedList { items: vec![self.item.clone()], ..FetchedList::default() }
    }
}

#[cfg(test)]
mod tests {
    use switchboard_config::{Scope, ToolFilter};

    use super::*;
    use crate::catalog::{CatalogMember, CatalogView, ConfiguredServer, ServerLists};

    fn raw(text: &str) -> Raw {
        Raw::parse(text.to_owned()).unwrap()
    }

    fn listing(items: &[&str]) -> FetchedList {
        FetchedList {
            items: items.iter().map(|item| raw(item)).collect(),
            ..FetchedList::default()
        }
    }

    #[test]
    fn what_is_told_means_the_same_there() {
        let tool = |name: &str| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
        let names = ["plain", "a.b", "a/b", "only__hidden", &"long".repeat(20)];
        let items: Vec<String> = names.map(tool).into();
        let items: Vec<&str> = items.iter().map(String::as_str).collect();
        let lists = ServerLists::default()
            .with_tools(parse_tools("one", &listing(&items), &schema::check_schema))
            .with_prompts(parse_prompts("one", &listing(&[r#"{"name":"p q"}"#])))
            .with_resources(parse_resources("one", &listing(&[r#"{"uri":"a:b","name":"r"}"#])))
            .with_templates(parse_templates(
                "one",
                &listing(&[r#"{"uriTemplate":"f:///{x}","name":"t"}"#]),
            ))
            .with_instructions(Some("Ask nicely."));
        let scope = Scope::User;
        // A hidden tool still decides the name of its twin.
        let filter = ToolFilter { allow: None, deny: vec!["a.b".into()] };
        let member = CatalogMember {
            server: "one",
            scope,
            lists: Arc::new(lists),
            filter: &filter,
            always_load: false,
        };
        let configured = ["one", "one__more"].map(|name| ConfiguredServer { name, scope });
        let catalog = Catalog::compose(&configured, &[member], &CatalogView::everything());
        assert_eq!(catalog.tools().len(), 4);

        let text = serde_json::to_string(&RemoteCatalog::from_catalog(&catalog)).unwrap();
        let there = serde_json::from_str::<RemoteCatalog>(&text).unwrap().into_catalog();
        assert_eq!(format!("{:?}", there.tools), format!("{:?}", catalog.tools));
        assert_eq!(format!("{:?}", there.prompts), format!("{:?}", catalog.prompts));
        assert_eq!(format!("{:?}", there.resources), format!("{:?}", catalog.resources));
        assert_eq!(format!("{:?}", there.templates), format!("{:?}", catalog.templates));
        assert_eq!(there.instructions(), catalog.instructions());
        for listed in catalog.tools() {
            assert_eq!(there.tool(&listed.name).unwrap().tool.name, listed.tool.name);
        }
        assert_eq!(there.owner("f:///y", None), Some("one"));
    }
}
