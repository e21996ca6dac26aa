//! Tests of JSON Schemas and arguments, valid, odd and hostile.

mod coerce;
mod hostile;
mod messages;
mod portable;

use switchboard_core::schema::SchemaValidator;
use switchboard_wire::json::Raw;

fn raw(text: impl Into<String>) -> Raw {
    Raw::parse(text.into()).unwrap()
}

/// What is said about `arguments`; nothing if they fit.
fn said(schema: &str, arguments: &str) -> Vec<String> {
    let validator =
        SchemaValidator::compile(&raw(schema)).unwrap_or_else(|bad| panic!("{schema}: {bad}"));
    match validator.validate(&raw(arguments)) {
        Ok(()) => Vec::new(),
        Err(invalid) => invalid.problems.iter().map(ToString::to_string).collect(),
    }
}
