//! What a person is asked to approve: all of it, as it stands in the file, with what cannot be seen written out.

use serde_json::Value;

use super::page::Page;
use super::text::Tone;
use crate::show;
use crate::ui::app::Model;

/// What would run, and what has changed since it was approved last.
pub(super) fn page(model: &Model, name: &str, page: &mut Page) -> String {
    let title = format!("approve {}?", show::word(name));
    let Some(case) = model.known.approvals.iter().find(|case| case.name == name) else {
        page.text("Nothing of that name awaits approval any more.", Tone::Faint);
        return title;
    };
    let said = format!(
        "The {} comes from the project's own files. Once approved, exactly this may run:",
        case.kind
    );
    page.text(&said, Tone::Plain);
    page.gap();
    if let Some(runs) = runs(&case.content) {
        page.text(&format!("  {runs}"), Tone::Strong);
        page.gap();
    }
    if !case.changes.is_empty() {
        page.heading("Changed since you approved it");
    }
    for change in &case.changes {
        let said =
            |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), show::inline);
        let text = format!("{} → {}", said(&change.before), said(&change.after));
        page.toned(&show::bare(&change.field), text, Tone::Warn);
    }
    page.gap();
    page.text(&show::block(&case.content), Tone::Accent);
    page.gap();
    let origin = case.at.get("origin").and_then(Value::as_str).unwrap_or_default();
    let line = case.at.get("line").and_then(Value::as_u64).unwrap_or_default();
    page.fact("Name", show::word(&case.name));
    page.fact("File", show::word(&format!("{origin}:{line}")));
    title
}

/// A command with its arguments, or an address; nothing for what neither runs nor connects.
fn runs(content: &Value) -> Option<String> {
    match (content.as_str(), content["url"].as_str()) {
        (Some(line), _) => Some(show::word(line)),
        (_, Some(url)) if show::transport(content) != "stdio" => Some(show::bare(url)),
        _ => content["command"].is_string().then(|| show::command_line(content)),
    }
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
