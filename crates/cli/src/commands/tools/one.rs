//! One tool: description, input and output as text.
//!
//! Used by `commands::tools`. Schemas are described by `schema`.

use std::sync::Arc;

use switchboard_core::catalog::ListedTool;
use switchboard_wire::json::Raw;
use switchboard_wire::sanitize;

use super::{ToolOutput, hints, schema};
use crate::commands::example;
use crate::printer::{BOLD, DIM, Printer};
use crate::report::Failure;
use crate::show;

pub(super) fn print(listed: &Arc<ListedTool>, printer: &Printer) -> Result<(), Failure> {
    if printer.is_json() {
        return printer.json(&ToolOutput::of(listed));
    }
    let tool = &listed.tool;
    let title = tool.title.as_deref().map(|title| format!("  {title}")).unwrap_or_default();
    printer.line(format_args!("{BOLD}{}{BOLD:#}{}", listed.name, sanitize::sanitize_line(&title)));
    let hints = Some(hints(listed)).filter(|hints| !hints.is_empty());
    let cost = format!("about {} tokens", show::group_thousands(tool.cost));
    let facts: Vec<_> = [Some(format!("of {}", show::word(listed.server()))), hints, Some(cost)]
        .into_iter()
        .flatten()
        .collect();
    printer.line(format_args!("{DIM}  {}{DIM:#}", facts.join(" · ")));
    if let Some(description) = &tool.description {
        printer.line("");
        sanitize::sanitize_block(description)
            .lines()
            .for_each(|line| printer.line(format!("  {line}")));
    }
    section("takes", Some(&tool.input_schema), printer);
    section("returns", tool.output_schema.as_ref(), printer);
    printer.line(format_args!("\n{BOLD}call it{BOLD:#}\n  {}", example::example_call(listed)));
    Ok(())
}

fn section(title: &str, schema: Option<&Raw>, printer: &Printer) {
    let Some(schema) = schema else { return };
    printer.line(format_args!("\n{BOLD}{title}{BOLD:#}"));
    let rows = schema::rows(&schema.decode().unwrap_or_default());
    if rows.is_empty() {
        printer.line("  no arguments");
    }
    let names = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).min(40);
    let kinds = rows.iter().map(|row| row.kind.chars().count()).max().unwrap_or(0).min(40);
    for row in &rows {
        let line = format!(
            "  {BOLD}{:names$}{BOLD:#}  {:kinds$}  {}",
            row.name,
            row.kind,
            show::dim(&row.about)
        );
        printer.line(line.trim_end());
    }
}
