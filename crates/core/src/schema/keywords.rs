//! The JSON Schema keywords that hold schemas, and which values those apply to.
//!
//! Used by `schema`, `schema::graph` and `schema::portable`. The meaning of a keyword is left to the validator.

use serde_json::{Map, Value};

/// The values that the schemas under a keyword apply to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AppliesTo {
    /// The value itself.
    Value,
    /// The member of that name.
    Member,
    /// Every member.
    EveryMember,
    /// Every element.
    EveryItem,
    /// No value: the schemas are there for references.
    Nowhere,
}

/// The form of the schemas under a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeywordShape {
    One,
    List,
    Map,
    /// One schema, or a list (`items` before 2020-12).
    OneOrList,
}

/// Every keyword that holds schemas, of all supported drafts.
const KEYWORDS: [(&str, KeywordShape, AppliesTo); 24] = [
    ("allOf", KeywordShape::List, AppliesTo::Value),
    ("anyOf", KeywordShape::List, AppliesTo::Value),
    ("oneOf", KeywordShape::List, AppliesTo::Value),
    ("not", KeywordShape::One, AppliesTo::Value),
    ("if", KeywordShape::One, AppliesTo::Value),
    ("then", KeywordShape::One, AppliesTo::Value),
    ("else", KeywordShape::One, AppliesTo::Value),
    ("dependentSchemas", KeywordShape::Map, AppliesTo::Value),
    ("dependencies", KeywordShape::Map, AppliesTo::Value),
    ("properties", KeywordShape::Map, AppliesTo::Member),
    ("patternProperties", KeywordShape::Map, AppliesTo::EveryMember),
    ("additionalProperties", KeywordShape::One, AppliesTo::EveryMember),
    ("unevaluatedProperties", KeywordShape::One, AppliesTo::EveryMember),
    // Applies to names, not values; counted as one visit for each member.
    ("propertyNames", KeywordShape::One, AppliesTo::EveryMember),
    ("prefixItems", KeywordShape::List, AppliesTo::EveryItem),
    ("items", KeywordShape::OneOrList, AppliesTo::EveryItem),
    ("additionalItems", KeywordShape::One, AppliesTo::EveryItem),
    ("unevaluatedItems", KeywordShape::One, AppliesTo::EveryItem),
    ("contains", KeywordShape::One, AppliesTo::EveryItem),
    ("contentSchema", KeywordShape::One, AppliesTo::Nowhere),
    ("$defs", KeywordShape::Map, AppliesTo::Nowhere),
    ("definitions", KeywordShape::Map, AppliesTo::Nowhere),
    ("extends", KeywordShape::OneOrList, AppliesTo::Value),
    ("disallow", KeywordShape::OneOrList, AppliesTo::Value),
];

/// A schema below another.
pub(super) struct Subschema<'s> {
    /// The name, where the keyword holds schemas by name.
    pub(super) name: Option<&'s str>,
    /// The values that the schema applies to.
    pub(super) applies: AppliesTo,
    /// The schema.
    pub(super) schema: &'s Value,
}

/// Returns the schemas one level below `schema`.
pub(super) fn subschemas(schema: &Map<String, Value>) -> Vec<Subschema<'_>> {
    let mut found = Vec::new();
    for (keyword, holds, applies) in KEYWORDS {
        let Some(value) = schema.get(keyword) else { continue };
        let one = |name, schema| Subschema { name, applies, schema };
        match (holds, value) {
            (KeywordShape::List | KeywordShape::OneOrList, Value::Array(list)) => {
                found.extend(list.iter().map(|schema| one(None, schema)));
            }
            (KeywordShape::Map, Value::Object(map)) => {
                found.extend(map.iter().map(|(name, schema)| one(Some(name.as_str()), schema)));
            }
            (KeywordShape::One | KeywordShape::OneOrList, _) => found.push(one(None, value)),
            _ => {}
        }
    }
    found.retain(|below| below.schema.is_object() || below.schema.is_boolean());
    found
}

/// Calls `change` on `schema` and on every schema inside. The caller has limited the depth.
pub(super) fn for_each_mut(schema: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(map) = schema else { return };
    change(map);
    for (keyword, holds, _) in KEYWORDS {
        match (holds, map.get_mut(keyword)) {
            (KeywordShape::List | KeywordShape::OneOrList, Some(Value::Array(list))) => {
                for inner in list {
                    for_each_mut(inner, change);
                }
            }
            (KeywordShape::Map, Some(Value::Object(inner))) => {
                for inner in inner.values_mut() {
                    for_each_mut(inner, change);
                }
            }
            (KeywordShape::One | KeywordShape::OneOrList, Some(inner)) => {
                for_each_mut(inner, change);
            }
            _ => {}
        }
    }
}
