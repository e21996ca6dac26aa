//! The window of an item that awaits approval, shown whole as it stands in the file, with invisible characters escaped.
//!
//! Used by `view`. Nothing is redacted or cut: a project could hide a part of a command that way.

use serde_json::Value;

use super::page::Page;
use super::text::Tone;
use crate::show;
use crate::ui::app::Model;

/// The command or URL, the secrets that it gets, all other members, and the changes since the last approval.
pub(super) fn page(model: &Model, name: &str, page: &mut Page) -> String {
    let title = format!("approve {}?", show::word(name));
    let Some(case) = model.known.approvals.iter().find(|case| case.name == name) else {
        page.text("This item no longer awaits approval.", Tone::Faint);
        return title;
    };
    let said = format!(
        "The {} comes from the project's own files. If you approve it, exactly this may run:",
        case.kind
    );
    page.text(&said, Tone::Plain);
    page.gap();
    if let Some(runs) = runs(&case.content) {
        page.text(&format!("  {runs}"), Tone::Strong);
        page.gap();
    }
    if !case.secrets.is_empty() {
        let names: Vec<_> = case.secrets.iter().map(|name| show::word(name)).collect();
        page.toned("Gets secrets", names.join(", "), Tone::Warn);
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

/// The command with arguments, or the URL; `None` for items without either.
fn runs(content: &Value) -> Option<String> {
    match (content.as_str(), content["url"].as_str()) {
        (Some(line), _) => Some(show::word(line)),
        (_, Some(url)) if show::transport(content) != "stdio" => Some(show::bare(url)),
        _ => content["command"].is_string().then(|| show::command_line(content)),
    }
}

/// The confirmation to remove a server.
pub(super) fn removal(server: &str, scope: &str, file: &str, page: &mut Page) -> String {
    page.text(&format!("This removes the entry of {server} from"), Tone::Plain);
    page.gap();
    page.text(&format!("  {file}"), Tone::Strong);
    page.gap();
    page.fact("Scope", scope);
    page.gap();
    page.text("Press y to remove it, Esc to keep it.", Tone::Faint);
    format!("remove {server}?")
}
