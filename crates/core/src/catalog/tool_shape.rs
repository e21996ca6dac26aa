//! Repairs a tool's definition so that clients on SDKs accept it: `inputSchema`, `outputSchema`, `execution`.
//!
//! Used by `catalog::tool`. A client on an SDK checks every tool of a list against the MCP schema of its version,
//! and one invalid tool costs the client the whole list, good servers included. Those schemas concern few members,
//! all at the top level of the definition and of its two JSON schemas. Only these are repaired; everything below
//! passes unchanged.

use switchboard_wire::json::{JsonEdit, JsonKind, JsonMembers, Raw};

use super::item_fault::{ItemFault, ItemWarning};
use super::item_reader::no_key_twice;

/// Returns `inputSchema` in the form that every version requires: an object with the `type` `object`. Adds a
/// warning for each change.
pub(super) fn input_schema(sent: Option<&Raw>, changed: &mut Vec<ItemWarning>) -> Raw {
    let any = || Raw::object([("type", Raw::string("object"))]);
    let schema = match object_schema(sent, "inputSchema") {
        Ok(schema) => schema,
        Err(fault) => {
            changed.push(ItemWarning::AnyArguments(fault));
            return any();
        }
    };
    let mut edits = Vec::new();
    if !is_of_objects(&schema) {
        changed.push(ItemWarning::TypeAdded);
        edits.push(JsonEdit::set(&["type"], r#""object""#));
    }
    if !names_its_dialect(&schema) {
        let fault = ItemFault::NotText("$schema");
        changed.push(ItemWarning::Dropped { member: "inputSchema.$schema", fault });
        edits.push(JsonEdit::remove(&["$schema"]));
    }
    schema.overwrite(&edits)
}

/// Returns `inputSchema` in the form that versions before 2026-07-28 require, where it differs: `properties` are
/// schemas that are objects, and `required` is a list of names.
pub(super) fn legacy_input_schema(schema: &Raw, changed: &mut Vec<ItemWarning>) -> Option<Raw> {
    let (properties, required) = (legacy_properties(schema), legacy_required(schema));
    let mut edits = Vec::new();
    match &properties {
        Demand::Met => {}
        Demand::Broken => edits.push(JsonEdit::remove(&["properties"])),
        Demand::Rewritten(json) => edits.push(JsonEdit::set(&["properties"], json)),
    }
    if required == Demand::Broken {
        edits.push(JsonEdit::remove(&["required"]));
    }
    let was = [(&properties, "properties"), (&required, "required")];
    let broken = was.into_iter().filter(|(demand, _)| **demand != Demand::Met);
    changed.extend(broken.map(|(_, member)| ItemWarning::LegacyInput(member)));
    (!edits.is_empty()).then(|| schema.clone().overwrite(&edits))
}

/// Returns `outputSchema`, if clients of 2026-07-28 can use it: an object that compiles.
pub(super) fn output_schema(
    sent: &Raw,
    compile: impl Fn(&Raw) -> Result<(), String>,
) -> Result<Raw, ItemFault> {
    const MEMBER: &str = "outputSchema";
    let schema = object_schema(Some(sent), MEMBER)?;
    if !names_its_dialect(&schema) {
        return Err(ItemFault::NotText("$schema"));
    }
    compile(&schema).map_err(|reason| ItemFault::Schema { member: MEMBER, reason })?;
    Ok(schema)
}

/// Whether clients of versions before 2026-07-28 can use an `outputSchema` too.
pub(super) fn is_legacy_output_schema(schema: &Raw) -> bool {
    is_of_objects(schema)
        && legacy_properties(schema) == Demand::Met
        && legacy_required(schema) == Demand::Met
}

/// Whether `execution` has a valid `taskSupport`, or none.
pub(super) fn is_execution(value: &Raw) -> bool {
    let support = value.get("taskSupport");
    let known =
        |text: &Raw| matches!(text.as_str(), r#""forbidden""# | r#""optional""# | r#""required""#);
    value.kind() == JsonKind::Object && support.is_ok_and(|found| found.as_ref().is_none_or(known))
}

/// Whether a member of a schema meets the requirements of a version.
#[derive(Debug, PartialEq, Eq)]
enum Demand {
    Met,
    /// The member has no meaning, and is left out.
    Broken,
    /// The member is replaced by this equivalent.
    Rewritten(String),
}

fn object_schema(sent: Option<&Raw>, member: &'static str) -> Result<Raw, ItemFault> {
    let schema = sent.filter(|schema| schema.kind() != JsonKind::Null);
    let schema = schema.ok_or(ItemFault::Missing(member))?;
    if schema.kind() != JsonKind::Object {
        return Err(ItemFault::MemberNotAnObject(member));
    }
    no_key_twice(schema)?;
    Ok(schema.clone())
}

fn is_of_objects(schema: &Raw) -> bool {
    matches!(schema.peek_path(&["type"]), Ok(Some(r#""object""#)))
}

fn names_its_dialect(schema: &Raw) -> bool {
    member(schema, "$schema").is_none_or(|dialect| dialect.kind() == JsonKind::String)
}

fn legacy_properties(schema: &Raw) -> Demand {
    let Some(properties) = member(schema, "properties") else { return Demand::Met };
    if properties.kind() != JsonKind::Object {
        return Demand::Broken;
    }
    if properties.members().all(|property| property.value.starts_with('{')) {
        return Demand::Met;
    }
    let as_objects = JsonMembers::of(properties.as_str()).map(|property| {
        let schema = match property.value {
            object if object.starts_with('{') => object,
            "false" => r#"{"not":{}}"#,
            // `true` allows every value, and so does a value that is no schema.
            _ => "{}",
        };
        format!("{}:{schema}", property.key)
    });
    Demand::Rewritten(format!("{{{}}}", as_objects.collect::<Vec<_>>().join(",")))
}

fn legacy_required(schema: &Raw) -> Demand {
    let Some(required) = member(schema, "required") else { return Demand::Met };
    let is_met = required.kind() == JsonKind::Array
        && required.elements().all(|name| name.kind() == JsonKind::String);
    if is_met { Demand::Met } else { Demand::Broken }
}

/// Reads a member of an object. Duplicate keys were refused before, or do not matter.
fn member(object: &Raw, key: &str) -> Option<Raw> {
    object.get(key).ok().flatten()
}
