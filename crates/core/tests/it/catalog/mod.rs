//! Tests of the catalog: from the lists of servers to the view of a client.
mod composing;
mod finding;
mod items;
mod naming;
mod telling;
mod templates;

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_config::{Scope, ToolFilter};
use switchboard_core::catalog::{
    self, Catalog, CatalogMember, CatalogView, ConfiguredServer, ServerLists,
};
use switchboard_wire::{client::FetchedList, json::Raw};

/// Everything passes.
#[expect(clippy::unnecessary_wraps, reason = "the form of a check")]
fn any_schema(_: &Raw) -> Result<(), String> {
    Ok(())
}

/// A list of items, as JSON.
fn listing(items: &[Value]) -> FetchedList {
    let items = items.iter().map(|item| Raw::from_value(item).unwrap()).collect();
    FetchedList { items, ..FetchedList::default() }
}

/// The smallest tool there is.
fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

/// Lists with nothing but these tools.
fn with_tools(tools: &[Value]) -> ServerLists {
    ServerLists::default().with_tools(catalog::parse_tools("server", &listing(tools), &any_schema))
}

fn named(names: &[&str]) -> ServerLists {
    with_tools(&names.iter().map(|name| tool(name)).collect::<Vec<_>>())
}

const NO_FILTER: &ToolFilter = &ToolFilter { allow: None, deny: Vec::new() };

fn member(server: &str, lists: ServerLists) -> CatalogMember<'_> {
    let lists = Arc::new(lists);
    CatalogMember { server, scope: Scope::User, lists, filter: NO_FILTER, always_load: false }
}

fn configured<'a>(names: &[&'a str]) -> Vec<ConfiguredServer<'a>> {
    names.iter().map(|name| ConfiguredServer { name, scope: Scope::User }).collect()
}

/// All members, nothing hidden, nothing else configured.
fn compose(members: &[CatalogMember<'_>]) -> Catalog {
    Catalog::compose(&[], members, &CatalogView::everything())
}

fn names(catalog: &Catalog) -> Vec<&str> {
    catalog.tools().iter().map(|listed| &*listed.name).collect()
}
