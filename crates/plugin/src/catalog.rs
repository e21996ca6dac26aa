//! The catalog of all plugins: the merged lists as clients get them, and which plugin owns each item.
//!
//! Used by `plugins`, `server`, `subscriptions` and `catalog_task`, which rebuilds it. It is not the catalog
//! of all servers (`switchboard_core`).

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use serde_json::{Map, Value};
use switchboard_wire::{client::ListKind, json::Raw, meta::TASKS_EXTENSION, sanitize};

use crate::{
    fault::PluginProblem,
    offer::{OfferedPrompt, OfferedTool, PluginOffer},
    slot::PluginSlot,
};

/// All items of all plugins at one moment.
#[derive(Default)]
pub(crate) struct PluginCatalog {
    tools: HashMap<String, ItemRef>,
    prompts: HashMap<String, ItemRef>,
    resources: HashMap<String, ItemRef>,
    templates: Vec<ItemRef>,
    methods: HashMap<String, ItemRef>,
    lists: [Option<Raw>; 4],
    pub(crate) problems: Vec<PluginProblem>,
    pub(crate) instructions: Option<String>,
    /// Protocol extensions, each with its settings.
    pub(crate) extensions: BTreeMap<String, Map<String, Value>>,
}

/// An item: its slot, its offer and its index among items of its kind.
#[derive(Clone)]
pub(crate) struct ItemRef {
    pub(crate) slot: Arc<PluginSlot>,
    pub(crate) offer: Arc<PluginOffer>,
    at: usize,
}

/// The lists that a client can request, in the order of [`PluginOffer::counts`].
const LIST_KEYS: [(ListKind, &str); 4] = [
    (ListKind::Tools, "tools"),
    (ListKind::Prompts, "prompts"),
    (ListKind::Resources, "resources"),
    (ListKind::Templates, "resourceTemplates"),
];

// === impl ItemRef ===

impl ItemRef {
    pub(crate) fn tool(&self) -> &OfferedTool {
        &self.offer.tools[self.at]
    }

    pub(crate) fn prompt(&self) -> &OfferedPrompt {
        &self.offer.prompts[self.at]
    }
}

// === impl PluginCatalog ===

impl PluginCatalog {
    /// Merges the items of all slots. Of two items with one name, the first plugin's is used.
    pub(crate) fn from_slots(slots: &[Arc<PluginSlot>]) -> Self {
        let mut catalog = Self::default();
        let mut shown: [Vec<Raw>; 4] = Default::default();
        for slot in slots {
            let Some(offer) = slot.offer() else { continue };
            catalog.add(slot, &offer, &mut shown);
        }
        for (at, items) in shown.iter().enumerate() {
            catalog.lists[at] = Some(list_result(LIST_KEYS[at].1, items));
        }
        catalog
    }

    fn add(&mut self, slot: &Arc<PluginSlot>, offer: &Arc<PluginOffer>, shown: &mut [Vec<Raw>; 4]) {
        let place = |at| ItemRef { slot: slot.clone(), offer: offer.clone(), at };
        let problem = |what: String| PluginProblem {
            plugin: sanitize::sanitize_line(&offer.name).into_owned(),
            file: slot.file.clone(),
            what,
        };
        self.problems.extend(offer.problems.iter().cloned().map(problem));
        let mut twice = Vec::new();
        for (at, tool) in offer.tools.iter().enumerate() {
            match take_name(&mut self.tools, &tool.name, || place(at)) {
                None => shown[0].push(tool.shown.clone()),
                Some(by) => twice.push(("tool", tool.name.clone(), by)),
            }
        }
        for (at, prompt) in offer.prompts.iter().enumerate() {
            match take_name(&mut self.prompts, &prompt.name, || place(at)) {
                None => shown[1].push(prompt.shown.clone()),
                Some(by) => twice.push(("prompt", prompt.name.clone(), by)),
            }
        }
        for (at, resource) in offer.resources.iter().enumerate() {
            match take_name(&mut self.resources, &resource.uri, || place(at)) {
                None => shown[2].push(resource.shown.clone()),
                Some(by) => twice.push(("resource", resource.uri.clone(), by)),
            }
        }
        for (at, template) in offer.templates.iter().enumerate() {
            self.templates.push(place(at));
            shown[3].push(template.shown.clone());
        }
        for (id, settings) in &offer.extensions {
            self.extensions.entry(id.clone()).or_insert_with(|| settings.clone());
        }
        for method in &offer.methods {
            self.methods.entry(method.clone()).or_insert_with(|| place(0));
        }
        self.problems.extend(twice.into_iter().map(|(kind, name, by)| {
            let name = sanitize::sanitize_line(&name).into_owned();
            problem(format!("{kind} `{name}` is hidden by plugin `{by}`, which offers it too"))
        }));
        if let Some(instructions) = &offer.instructions {
            let so_far = self.instructions.get_or_insert_default();
            if !so_far.is_empty() {
                so_far.push('\n');
            }
            so_far.push_str(instructions);
        }
    }

    /// The result of a list request.
    pub(crate) fn list(&self, list: ListKind) -> Raw {
        let at = LIST_KEYS.iter().position(|(known, _)| *known == list).unwrap_or_default();
        self.lists[at].clone().unwrap_or_else(|| list_result(LIST_KEYS[at].1, &[]))
    }

    /// The lists that differ from `before`.
    pub(crate) fn differences(&self, before: &Self) -> Vec<ListKind> {
        let differs = |list: &ListKind| self.list(*list) != before.list(*list);
        let lists = LIST_KEYS.iter().map(|(list, _)| *list).filter(differs);
        // A change of templates is announced as a change of resources.
        let mut lists: Vec<ListKind> = lists
            .map(|list| if list == ListKind::Templates { ListKind::Resources } else { list })
            .collect();
        lists.dedup();
        lists
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&ItemRef> {
        self.tools.get(name)
    }

    pub(crate) fn prompt(&self, name: &str) -> Option<&ItemRef> {
        self.prompts.get(name)
    }

    /// Finds the owner of a resource, by URI or by a matching template.
    pub(crate) fn resource(&self, uri: &str) -> Option<&ItemRef> {
        let made = || {
            let makes =
                |place: &&ItemRef| place.offer.templates[place.at].matcher.read(uri).is_some();
            self.templates.iter().find(makes)
        };
        self.resources.get(uri).or_else(made)
    }

    /// Finds the owner of a template, or else of a resource with that URI.
    pub(crate) fn template(&self, template: &str) -> Option<&ItemRef> {
        let is_it = |place: &&ItemRef| place.offer.templates[place.at].uri == template;
        self.templates.iter().find(is_it).or_else(|| self.resource(template))
    }

    /// Whether any plugin declares tasks.
    pub(crate) fn has_tasks(&self) -> bool {
        self.extensions.contains_key(TASKS_EXTENSION)
    }

    pub(crate) fn method(&self, name: &str) -> Option<&ItemRef> {
        self.methods.get(name)
    }
}

/// Claims a name for an item, or reports the plugin that has it.
fn take_name(
    names: &mut HashMap<String, ItemRef>,
    name: &str,
    place: impl FnOnce() -> ItemRef,
) -> Option<String> {
    if let Some(first) = names.get(name) {
        return Some(sanitize::sanitize_line(&first.offer.name).into_owned());
    }
    names.insert(name.to_owned(), place());
    None
}

fn list_result(key: &str, items: &[Raw]) -> Raw {
    Raw::object([(key, Raw::array(items))])
}
