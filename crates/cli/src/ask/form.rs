//! An elicitation form, asked field by field on the command line.
//!
//! Used by `ask` for elicitations with a schema. It does not check values (`ask::field` does).

use switchboard_wire::json::{Raw, decode_string, quote};
use switchboard_wire::sanitize;

use super::PersonReply;
use super::field::{Field, FieldValue};
use super::keyboard::Keyboard;
use crate::printer::{BOLD, CYAN, DIM, Printer};
use crate::show;

/// Asks for all fields of the form, then whether to send it.
pub(super) async fn ask(
    server: &str,
    message: &str,
    schema: &Raw,
    keyboard: &Keyboard,
    printer: &Printer,
) -> PersonReply {
    let server = show::word(server);
    printer.raw(format_args!(
        "{CYAN}{server}{CYAN:#} asks: {}\n{DIM}Ctrl-D cancels{DIM:#}\n",
        sanitize::sanitize_block(message).trim_end()
    ));
    let mut members = Vec::new();
    for field in fields(schema) {
        match fill_in(&field, keyboard, printer).await {
            Some(FieldValue::Value(value)) => {
                members.push(format!("{}:{value}", quote(&field.key)));
            }
            Some(FieldValue::Nothing) => {}
            None => {
                printer.raw("\n");
                return PersonReply::Cancel;
            }
        }
    }
    let question = format!("Send this to {server}?");
    match keyboard.choose(printer, &question, &["y", "n", "q"], "y").await.as_deref() {
        Some("y") => match Raw::parse(format!("{{{}}}", members.join(","))) {
            Ok(content) => PersonReply::Filled(content),
            // Every part is JSON, so this does not happen; if it does, nothing is sent.
            Err(_) => PersonReply::Cancel,
        },
        Some("n") => PersonReply::Decline,
        _ => PersonReply::Cancel,
    }
}

/// The fields of a schema, in its order.
pub(crate) fn fields(schema: &Raw) -> Vec<Field> {
    let properties = schema.get("properties").ok().flatten().unwrap_or_else(Raw::empty_object);
    let required = schema.get("required").ok().flatten();
    let required: Vec<String> = required.and_then(|raw| raw.decode().ok()).unwrap_or_default();
    let field = |key: String| {
        let schema = properties.get(&key).ok().flatten()?;
        Some(Field::new(key.clone(), schema, required.contains(&key)))
    };
    let keys = properties.members().filter_map(|member| decode_string(member.key));
    keys.map(String::from).filter_map(field).collect()
}

/// Asks until the answer fits; `None` if there will be none.
async fn fill_in(field: &Field, keyboard: &Keyboard, printer: &Printer) -> Option<FieldValue> {
    if let Some(description) = &field.description {
        printer.raw(format_args!("{DIM}{description}{DIM:#}\n"));
    }
    for (number, choice) in field.choices.iter().enumerate() {
        printer.raw(format_args!("  {}  {}\n", number + 1, choice.label));
    }
    loop {
        printer.raw(format_args!("{BOLD}{}{BOLD:#} [{}] ", field.title, field.expected()));
        match field.parse(keyboard.line().await?.trim()) {
            Ok(taken) => return Some(taken),
            Err(why) => printer.raw(format_args!("{}\n", sanitize::sanitize_line(&why))),
        }
    }
}
