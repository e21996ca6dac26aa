//! `switchboard resources`: the resources and templates of all servers.
//!
//! Used by `commands::run`. One resource is read by `read`.

use serde_json::{Value, json};
use switchboard_core::WorkspaceSnapshot;
use switchboard_wire::sanitize;

use super::listing::{ServerListing, with_listing};
use crate::args::OfServer;
use crate::printer::{BOLD, Printer};
use crate::report::Failure;
use crate::show;
use crate::surroundings::Caller;

/// One line of the table.
struct ResourceRow<'a> {
    address: &'a str,
    server: &'a str,
    name: &'a str,
    about: Option<&'a str>,
    mime: Option<&'a str>,
}

pub(super) async fn run(of: &OfServer, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    with_listing(of, caller, printer, async |listing: ServerListing<'_>| print(&listing, printer))
        .await
}

fn print(listing: &ServerListing<'_>, printer: &Printer) -> Result<(), Failure> {
    let (snapshot, notices) = (&listing.snapshot, &listing.notices);
    let is_meant = |owner: &str| listing.includes(owner);
    if printer.is_json() {
        let (resources, templates) = raw_lists(snapshot, is_meant);
        printer.notices(notices);
        return printer.json(&json!({
            "resources": resources, "resourceTemplates": templates, "problems": notices,
        }));
    }
    let resources = resources(snapshot).filter(|row| is_meant(row.server)).collect::<Vec<_>>();
    let templates = templates(snapshot).filter(|row| is_meant(row.server)).collect::<Vec<_>>();
    table(&resources, printer);
    if !templates.is_empty() {
        printer.line(format_args!("\n{BOLD}templates{BOLD:#}"));
        table(&templates, printer);
    }
    if resources.is_empty() && templates.is_empty() {
        printer.done("no resources");
    }
    printer.notices(notices);
    Ok(())
}

fn resources(snapshot: &WorkspaceSnapshot) -> impl Iterator<Item = ResourceRow<'_>> {
    snapshot.catalog.resources().iter().map(|listed| ResourceRow {
        address: &listed.resource.uri,
        server: listed.server.as_str(),
        name: listed.resource.title.as_deref().unwrap_or(&listed.resource.name),
        about: listed.resource.description.as_deref(),
        mime: listed.resource.mime_type.as_deref(),
    })
}

fn templates(snapshot: &WorkspaceSnapshot) -> impl Iterator<Item = ResourceRow<'_>> {
    snapshot.catalog.templates().iter().map(|listed| ResourceRow {
        address: listed.template.uri_template.as_str(),
        server: listed.server.as_str(),
        name: listed.template.title.as_deref().unwrap_or(&listed.template.name),
        about: listed.template.description.as_deref(),
        mime: listed.template.mime_type.as_deref(),
    })
}

/// The resources as the servers sent them, each with its server.
fn raw_lists(
    snapshot: &WorkspaceSnapshot,
    is_meant: impl Fn(&str) -> bool,
) -> (Vec<Value>, Vec<Value>) {
    let resources = snapshot.catalog.resources().iter();
    let resources = resources
        .filter(|listed| is_meant(listed.server.as_str()))
        .map(|listed| json!({ "server": listed.server.as_str(), "item": listed.resource.item }));
    let templates = snapshot.catalog.templates().iter();
    let templates = templates
        .filter(|listed| is_meant(listed.server.as_str()))
        .map(|listed| json!({ "server": listed.server.as_str(), "item": listed.template.item }));
    (resources.collect(), templates.collect())
}

fn table(rows: &[ResourceRow<'_>], printer: &Printer) {
    let width = |text: &str| text.chars().count();
    let addresses = rows.iter().map(|row| width(row.address)).max().unwrap_or(0).min(60);
    let servers = rows.iter().map(|row| width(row.server)).max().unwrap_or(0).min(30);
    for row in rows {
        let first = row.about.and_then(|about| about.lines().next());
        let about: Vec<_> = [Some(row.name), first, row.mime].into_iter().flatten().collect();
        let about = about.join(" · ");
        let about = show::fit_to_width(&sanitize::sanitize_line(&about), addresses + servers + 4);
        let line = format!(
            "{BOLD}{:addresses$}{BOLD:#}  {:servers$}  {}",
            sanitize::sanitize_line(row.address),
            show::word(row.server),
            show::dim(&about)
        );
        printer.line(line.trim_end());
    }
}
