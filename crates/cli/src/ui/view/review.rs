//! What somebody is to agree to, exactly as it would be.

use serde_json::Value;

use super::page::Page;
use super::text::Tone;
use crate::show;
use crate::ui::app::Model;

/// What would run, and what has changed since somebody agreed last.
pub(super) fn page(model: &Model, name: &str, page: &mut Page) -> String {
    let Some(case) = model.known.approvals.iter().find(|case| case.name == name) else {
        page.text("Nothing of that name awaits approval any more.", Tone::Faint);
        return format!("approve {name}?");
    };
    let said = format!(
        "The {} comes from the project's own files. Once approved, exactly this may run:",
        case.kind
    );
    page.text(&said, Tone::Plain);
    page.gap();
    page.text(&format!("  {}", runs(&case.content)), Tone::Strong);
    page.gap();
    if !case.changes.is_empty() {
        page.heading("Changed since you approved it");
    }
    for change in &case.changes {
        let said =
            |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), show::inline);
        let text = format!("{} → {}", said(&change.before), said(&change.after));
        page.toned(&change.field, text, Tone::Warn);
    }
    page.gap();
    page.text(&show::block(&case.content), Tone::Accent);
    page.gap();
    let origin = case.at.get("origin").and_then(Value::as_str).unwrap_or_default();
    let line = case.at.get("line").and_then(Value::as_u64).unwrap_or_default();
    page.fact("File", format!("{origin}:{line}"));
    format!("approve {name}?")
}

/// A command with its arguments, or an address.
fn runs(content: &Value) -> String {
    if let Some(url) = content.get("url").and_then(Value::as_str) {
        return url.to_owned();
    }
    let args = content.get("args").and_then(Value::as_array).into_iter().flatten();
    let words = content.get("command").into_iter().chain(args).filter_map(Value::as_str);
    words.map(show::word).collect::<Vec<_>>().join(" ")
}

/// Whether a server is to be removed.
pub(super) fn removal(server: &str, scope: &str, file: &str, page: &mut Page) -> String {
    page.text(&format!("The entry of {server} is taken out of"), Tone::Plain);
    page.gap();
    page.text(&format!("  {file}"), Tone::Strong);
    page.gap();
    page.fact("Scope", scope);
    page.gap();
    page.text("y removes it, Esc leaves it.", Tone::Faint);
    format!("remove {server}?")
}
