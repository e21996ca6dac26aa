//! A JSON Schema as a graph: which schema leads to which, with references resolved within the document.
//!
//! Used by `schema::effort` (references make a small document unfold to any size) and `schema::portable`. It does
//! not know what keywords mean (`schema::keywords` lists those that hold schemas).

use std::collections::HashMap;

use serde_json::{Map, Value};
use url::Url;

use super::{
    SchemaError,
    keywords::{AppliesTo, subschemas},
};

/// The base URL of a document without an id.
const NAMELESS_BASE_URL: &str = "json-schema:///";
/// The keywords that refer to another schema.
const REFERENCE_KEYWORDS: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// All schemas of a document; the first is the root.
#[derive(Debug)]
pub(super) struct SchemaGraph {
    pub(super) nodes: Vec<SchemaNode>,
    /// Whether the validator can apply one schema to a value more than once.
    pub(super) unfolds: bool,
}

/// One schema and its edges.
#[derive(Debug, Default)]
pub(super) struct SchemaNode {
    pub(super) here: Vec<usize>,
    pub(super) members: HashMap<String, Vec<usize>>,
    pub(super) every_member: Vec<usize>,
    pub(super) every_item: Vec<usize>,
    /// The schema has an `unevaluated…` keyword, for which the validator visits its neighbours again.
    pub(super) asks_again: bool,
}

/// The named schemas of the document.
struct SchemaNames<'s> {
    /// Schemas with an id, by that id.
    resources: HashMap<String, &'s Value>,
    /// Anchors, by the id of their resource and their name.
    anchors: HashMap<(String, String), &'s Value>,
}

/// A schema, and the base URL of its references.
#[derive(Clone)]
struct SchemaLocation<'s> {
    schema: &'s Value,
    base: Url,
}

/// The graph under construction.
struct GraphBuilder<'s> {
    names: SchemaNames<'s>,
    known: HashMap<usize, usize>,
    waiting: Vec<(usize, SchemaLocation<'s>)>,
    graph: SchemaGraph,
    /// The schema of each node.
    schemas: Vec<&'s Value>,
}

// === impl SchemaGraph ===

impl SchemaGraph {
    /// Reads `schema`. A reference that leads out of the document is an error.
    pub(super) fn of(schema: &Value) -> Result<Self, SchemaError> {
        Self::with_schemas(schema).map(|(graph, _)| graph)
    }

    /// Like [`Self::of`], with the JSON of each node, which is no schema where a reference leads to another kind of
    /// value.
    pub(super) fn with_schemas(schema: &Value) -> Result<(Self, Vec<&Value>), SchemaError> {
        let root = SchemaLocation { schema, base: nameless()? }.with_own_id();
        let mut names = SchemaNames { resources: HashMap::new(), anchors: HashMap::new() };
        names.resources.insert(plain(&root.base), schema);
        names.collect(&root);
        if names.resources.len() > 1 && has_dynamic(schema) {
            return Err(SchemaError::Dynamic);
        }
        let graph = Self { nodes: Vec::new(), unfolds: false };
        let (known, waiting, schemas) = (HashMap::new(), Vec::new(), Vec::new());
        let mut builder = GraphBuilder { names, known, waiting, graph, schemas };
        builder.node(root);
        while let Some((at, place)) = builder.waiting.pop() {
            builder.read(at, &place)?;
        }
        Ok((builder.graph, builder.schemas))
    }

    /// Whether a schema leads back to itself for one value, so that a check of that value never ends.
    pub(super) fn loops(&self) -> bool {
        let mut ways_in = vec![0_usize; self.nodes.len()];
        for target in self.nodes.iter().flat_map(|node| &node.here) {
            ways_in[*target] += 1;
        }
        // Removes each node that no other leads to; the nodes on a loop remain.
        let mut free: Vec<_> = (0..ways_in.len()).filter(|at| ways_in[*at] == 0).collect();
        let mut taken = 0;
        while let Some(at) = free.pop() {
            taken += 1;
            for target in &self.nodes[at].here {
                ways_in[*target] -= 1;
                if ways_in[*target] == 0 {
                    free.push(*target);
                }
            }
        }
        taken < self.nodes.len()
    }
}

// === impl SchemaNames ===

impl<'s> SchemaNames<'s> {
    fn collect(&mut self, place: &SchemaLocation<'s>) {
        let Value::Object(map) = place.schema else { return };
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(Value::String(name)) = map.get(keyword) {
                self.anchors.insert((plain(&place.base), name.clone()), place.schema);
            }
        }
        // Draft 7 has no anchors; an id that is only a fragment serves as one.
        if let Some(name) = id_of(place.schema).and_then(|id| id.strip_prefix('#')) {
            self.anchors.insert((plain(&place.base), name.to_owned()), place.schema);
        }
        for below in subschemas(map) {
            let inner =
                SchemaLocation { schema: below.schema, base: place.base.clone() }.with_own_id();
            if inner.base != place.base {
                self.resources.insert(plain(&inner.base), inner.schema);
            }
            self.collect(&inner);
        }
    }

    /// Resolves `reference`, written inside `from`.
    fn resolve(
        &self,
        from: &SchemaLocation<'s>,
        reference: &str,
    ) -> Result<SchemaLocation<'s>, SchemaError> {
        let target = from.base.join(reference).map_err(|_| missing_reference(reference))?;
        let fragment = target.fragment().unwrap_or_default().to_owned();
        let base = without_fragment(target);
        let Some(schema) = self.resources.get(base.as_str()).copied() else {
            return Err(SchemaError::Remote(shown(reference)));
        };
        if fragment.is_empty() {
            return Ok(SchemaLocation { schema, base });
        }
        let fragment = percent_decoded(&fragment);
        if !fragment.starts_with('/') {
            let found = self.anchors.get(&(plain(&base), fragment)).copied();
            return found
                .map(|schema| SchemaLocation { schema, base })
                .ok_or_else(|| missing_reference(reference));
        }
        let mut place = SchemaLocation { schema, base };
        for step in fragment.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let inner = match place.schema {
                Value::Object(map) => map.get(&step),
                Value::Array(list) => step.parse().ok().and_then(|at: usize| list.get(at)),
                _ => None,
            };
            let schema = inner.ok_or_else(|| missing_reference(reference))?;
            place = SchemaLocation { schema, ..place }.with_own_id();
        }
        Ok(place)
    }
}

// === impl SchemaLocation ===

impl SchemaLocation<'_> {
    /// The location with the schema's own id as base.
    fn with_own_id(mut self) -> Self {
        let id = id_of(self.schema).filter(|id| !id.starts_with('#'));
        if let Some(base) = id.and_then(|id| self.base.join(id).ok()) {
            self.base = without_fragment(base);
        }
        self
    }
}

// === impl GraphBuilder ===

impl<'s> GraphBuilder<'s> {
    /// The number of the node for the schema at `place`; its edges are read later.
    fn node(&mut self, place: SchemaLocation<'s>) -> usize {
        let next = self.graph.nodes.len();
        let at = *self.known.entry(std::ptr::from_ref(place.schema).addr()).or_insert(next);
        if at == next {
            self.graph.nodes.push(SchemaNode::default());
            self.schemas.push(place.schema);
            self.waiting.push((at, place));
        }
        at
    }

    fn read(&mut self, at: usize, place: &SchemaLocation<'s>) -> Result<(), SchemaError> {
        let Value::Object(map) = place.schema else { return Ok(()) };
        for keyword in REFERENCE_KEYWORDS {
            if let Some(Value::String(reference)) = map.get(keyword) {
                let target = self.names.resolve(place, reference)?;
                let target = self.node(target);
                self.graph.nodes[at].here.push(target);
                self.graph.unfolds = true;
            }
        }
        if map.contains_key("unevaluatedProperties") || map.contains_key("unevaluatedItems") {
            self.graph.nodes[at].asks_again = true;
            self.graph.unfolds = true;
        }
        for below in subschemas(map) {
            let inner =
                SchemaLocation { schema: below.schema, base: place.base.clone() }.with_own_id();
            let inner = self.node(inner);
            let node = &mut self.graph.nodes[at];
            match (below.applies, below.name) {
                (AppliesTo::Value, _) => node.here.push(inner),
                (AppliesTo::Member, Some(name)) => {
                    node.members.entry(name.to_owned()).or_default().push(inner);
                }
                (AppliesTo::Member | AppliesTo::EveryMember, _) => node.every_member.push(inner),
                (AppliesTo::EveryItem, _) => node.every_item.push(inner),
                // Still read: a broken reference below makes the schema invalid.
                (AppliesTo::Nowhere, _) => {}
            }
        }
        Ok(())
    }
}

fn id_of(schema: &Value) -> Option<&str> {
    schema.get("$id").and_then(Value::as_str)
}

/// Whether a schema has references that depend on how it was reached. Within one resource they are plain
/// references; across several, their targets multiply with every path.
fn has_dynamic(schema: &Value) -> bool {
    let Value::Object(map) = schema else { return false };
    let here = |map: &Map<String, Value>| {
        map.contains_key("$dynamicRef") || map.contains_key("$recursiveRef")
    };
    here(map) || subschemas(map).iter().any(|below| has_dynamic(below.schema))
}

fn nameless() -> Result<Url, SchemaError> {
    Url::parse(NAMELESS_BASE_URL).map_err(|error| SchemaError::Invalid(error.to_string()))
}

fn without_fragment(mut url: Url) -> Url {
    url.set_fragment(None);
    url
}

fn plain(url: &Url) -> String {
    url.as_str().to_owned()
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn missing_reference(reference: &str) -> SchemaError {
    SchemaError::Unresolved(shown(reference))
}

/// A reference, shortened for messages.
fn shown(reference: &str) -> String {
    super::mistake::shortened(reference)
}
