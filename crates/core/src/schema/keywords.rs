//! Which keywords of JSON Schema hold schemas, and on what those are applied.
//!
//! This is all that is known here about the language; what a keyword *means* is the validator's matter.

use serde_json::{Map, Value};

/// What the schemas under a keyword are applied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applies {
    /// The very value the keyword stands for.
    Here,
    /// The member of that name.
    Member,
    /// Any member.
    EveryMember,
    /// Any element.
    EveryItem,
    /// Nothing by themselves: they wait for a reference.
    Nowhere,
}

/// How schemas stand under a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    One,
    List,
    Map,
    /// One schema, or a list of them (`items` before 2020-12).
    OneOrList,
}

/// Every keyword that holds schemas, in any draft that is honoured.
const KEYWORDS: [(&str, Holds, Applies); 24] = [
    ("allOf", Holds::List, Applies::Here),
    ("anyOf", Holds::List, Applies::Here),
    ("oneOf", Holds::List, Applies::Here),
    ("not", Holds::One, Applies::Here),
    ("if", Holds::One, Applies::Here),
    ("then", Holds::One, Applies::Here),
    ("else", Holds::One, Applies::Here),
    ("dependentSchemas", Holds::Map, Applies::Here),
    ("dependencies", Holds::Map, Applies::Here),
    ("properties", Holds::Map, Applies::Member),
    ("patternProperties", Holds::Map, Applies::EveryMember),
    ("additionalProperties", Holds::One, Applies::EveryMember),
    ("unevaluatedProperties", Holds::One, Applies::EveryMember),
    // It sees names, not values; a member is the nearest thing that is as many.
    ("propertyNames", Holds::One, Applies::EveryMember),
    ("prefixItems", Holds::List, Applies::EveryItem),
    ("items", Holds::OneOrList, Applies::EveryItem),
    ("additionalItems", Holds::One, Applies::EveryItem),
    ("unevaluatedItems", Holds::One, Applies::EveryItem),
    ("contains", Holds::One, Applies::EveryItem),
    ("contentSchema", Holds::One, Applies::Nowhere),
    ("$defs", Holds::Map, Applies::Nowhere),
    ("definitions", Holds::Map, Applies::Nowhere),
    ("extends", Holds::OneOrList, Applies::Here),
    ("disallow", Holds::OneOrList, Applies::Here),
];

/// One schema below another.
pub(super) struct Below<'s> {
    /// Its name, if the keyword holds several by name.
    pub(super) name: Option<&'s str>,
    /// On what it is applied.
    pub(super) applies: Applies,
    /// The schema.
    pub(super) schema: &'s Value,
}

/// The schemas one level below `schema`.
pub(super) fn below(schema: &Map<String, Value>) -> Vec<Below<'_>> {
    let mut found = Vec::new();
    for (keyword, holds, applies) in KEYWORDS {
        let Some(value) = schema.get(keyword) else { continue };
        let one = |name, schema| Below { name, applies, schema };
        match (holds, value) {
            (Holds::List | Holds::OneOrList, Value::Array(list)) => {
                found.extend(list.iter().map(|schema| one(None, schema)));
            }
            (Holds::Map, Value::Object(map)) => {
                found.extend(map.iter().map(|(name, schema)| one(Some(name.as_str()), schema)));
            }
            (Holds::One | Holds::OneOrList, _) => found.push(one(None, value)),
            _ => {}
        }
    }
    found.retain(|below| below.schema.is_object() || below.schema.is_boolean());
    found
}

/// Calls `change` on `schema` and on every schema inside it. Depth is bounded by the caller.
pub(super) fn for_each_mut(schema: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(map) = schema else { return };
    change(map);
    for (keyword, holds, _) in KEYWORDS {
        match (holds, map.get_mut(keyword)) {
            (Holds::List | Holds::OneOrList, Some(Value::Array(list))) => {
                for inner in list {
                    for_each_mut(inner, change);
                }
            }
            (Holds::Map, Some(Value::Object(inner))) => {
                for inner in inner.values_mut() {
                    for_each_mut(inner, change);
                }
            }
            (Holds::One | Holds::OneOrList, Some(inner)) => for_each_mut(inner, change),
            _ => {}
        }
    }
}
