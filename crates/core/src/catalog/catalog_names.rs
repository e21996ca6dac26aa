//! Lookup of tools and prompts by name, in one name style.
//!
//! Used by `catalog::contents`, `dispatch::find` and the gateway. Building the names is in `catalog::names`.

use std::collections::HashMap;
use std::sync::Arc;

use super::{
    Catalog, ItemLabel, ListedPrompt, ListedTool, NameStyle, suggest, suggest::SuggestionCandidate,
};

/// The tools and prompts of a catalog under names of one style.
#[derive(Debug, Clone, Copy)]
pub struct CatalogNames<'c> {
    catalog: &'c Catalog,
    lookups: &'c Lookups,
}

/// The names of one style, both ways.
#[derive(Debug)]
pub(super) struct Lookups {
    tools: Lookup,
    prompts: Lookup,
}

#[derive(Debug)]
struct Lookup {
    /// The name of each item; `None` where two items would share it.
    names: Vec<Option<String>>,
    /// The index of the item with each name. Bare names that had to be reduced are here in the server's spelling
    /// too.
    places: HashMap<String, usize>,
}

/// Returns one name for each label; `None` where two labels would share it, since the name could mean either.
pub(super) fn unique_names<'l>(
    labels: impl Iterator<Item = &'l ItemLabel>,
    style: NameStyle,
) -> Vec<Option<String>> {
    let names: Vec<_> = labels.map(|label| label.name(style)).collect();
    let mut count: HashMap<&str, usize> = HashMap::with_capacity(names.len());
    for name in &names {
        *count.entry(name).or_default() += 1;
    }
    let alone: Vec<_> = names.iter().map(|name| count[&**name] == 1).collect();
    names.into_iter().zip(alone).map(|(name, is_alone)| is_alone.then_some(name)).collect()
}

// === impl CatalogNames ===

impl<'c> CatalogNames<'c> {
    pub(super) fn new(catalog: &'c Catalog, lookups: &'c Lookups) -> Self {
        Self { catalog, lookups }
    }

    /// Returns the tools with their names. A tool that would share its name with another is left out.
    pub fn tools(self) -> impl Iterator<Item = (&'c str, &'c Arc<ListedTool>)> {
        self.lookups.tools.names().zip(&self.catalog.tools).filter_map(named_pair)
    }

    /// Returns the tools that have no name of this style, because another tool would share it.
    pub fn unnamed_tools(self) -> impl Iterator<Item = &'c Arc<ListedTool>> {
        let tools = self.lookups.tools.names().zip(&self.catalog.tools);
        tools.filter(|(name, _)| name.is_none()).map(|(_, listed)| listed)
    }

    /// Returns the tool of exactly this name. Among bare names, the server's own spelling counts too.
    pub fn tool(self, name: &str) -> Option<&'c Arc<ListedTool>> {
        self.lookups.tools.places.get(name).map(|place| &self.catalog.tools[*place])
    }

    /// Returns the name in this style of the tool with the full name `full`.
    pub fn tool_name(self, full: &str) -> Option<&'c str> {
        let place = self.catalog.names(NameStyle::Full).lookups.tools.places.get(full)?;
        self.lookups.tools.names[*place].as_deref()
    }

    /// Returns up to three tools that the mistyped `name` may mean, closest first. With `server`, only tools of
    /// that server: a client that sees one server must not learn the tools of others.
    pub fn suggest_tools(self, name: &str, server: Option<&str>) -> Vec<String> {
        let seen = self.tools().filter(|(_, tool)| {
            tool.is_for_models() && server.is_none_or(|only| only == tool.server())
        });
        let candidate = |(shown, tool): (&'c str, &'c Arc<ListedTool>)| {
            let tool: &'c ListedTool = tool;
            SuggestionCandidate { label: &tool.label, full: &tool.name, shown }
        };
        suggest::closest(&seen.map(candidate).collect::<Vec<_>>(), name)
    }

    /// Like [`Self::suggest_tools`], among prompts.
    pub fn suggest_prompts(self, name: &str, server: Option<&str>) -> Vec<String> {
        let is_seen = |prompt: &ListedPrompt| server.is_none_or(|only| only == prompt.server());
        let seen = self.prompts().filter(|(_, prompt)| is_seen(prompt));
        let candidate = |(shown, prompt): (&'c str, &'c ListedPrompt)| SuggestionCandidate {
            label: &prompt.label,
            full: &prompt.name,
            shown,
        };
        suggest::closest(&seen.map(candidate).collect::<Vec<_>>(), name)
    }

    /// Returns the prompts with their names.
    pub fn prompts(self) -> impl Iterator<Item = (&'c str, &'c ListedPrompt)> {
        self.lookups.prompts.names().zip(&self.catalog.prompts).filter_map(named_pair)
    }

    /// Returns the prompt of exactly this name.
    pub fn prompt(self, name: &str) -> Option<&'c ListedPrompt> {
        self.lookups.prompts.places.get(name).map(|place| &self.catalog.prompts[*place])
    }
}

fn named_pair<'c, T>((name, item): (Option<&'c str>, &'c T)) -> Option<(&'c str, &'c T)> {
    name.map(|name| (name, item))
}

// === impl Lookups ===

impl Lookups {
    pub(super) fn of(catalog: &Catalog, style: NameStyle) -> Self {
        let mut tools = Lookup::of(catalog.tools.iter().map(|listed| &listed.label), style);
        let mut prompts = Lookup::of(catalog.prompts.iter().map(|listed| &listed.label), style);
        if style == NameStyle::Bare {
            tools.add_own_names(catalog.tools.iter().map(|listed| &*listed.tool.name));
            prompts.add_own_names(catalog.prompts.iter().map(|listed| &*listed.prompt.name));
        }
        Self { tools, prompts }
    }
}

// === impl Lookup ===

impl Lookup {
    fn of<'l>(labels: impl Iterator<Item = &'l ItemLabel>, style: NameStyle) -> Self {
        let names = unique_names(labels, style);
        let place =
            |(place, name): (usize, &Option<String>)| name.clone().map(|name| (name, place));
        Self { places: names.iter().enumerate().filter_map(place).collect(), names }
    }

    /// Adds the names that servers gave their items, where a name means one item.
    fn add_own_names<'n>(&mut self, own: impl Iterator<Item = &'n str>) {
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, name) in own.enumerate() {
            by_name.entry(name).or_default().push(place);
        }
        for (name, places) in by_name {
            if let [place] = places[..] {
                self.places.entry(name.to_owned()).or_insert(place);
            }
        }
    }

    fn names(&self) -> impl Iterator<Item = Option<&str>> {
        self.names.iter().map(Option::as_deref)
    }
}
