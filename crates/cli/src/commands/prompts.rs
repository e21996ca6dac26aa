//! `switchboard prompts`: the prompts of all servers, with their arguments.
//!
//! Used by `commands::run`. One prompt is fetched by `prompt`.

use serde_json::json;
use switchboard_core::catalog::{ListedPrompt, PromptArgument};
use switchboard_wire::sanitize;

use super::listing::{ServerListing, with_listing};
use crate::args::OfServer;
use crate::printer::{BOLD, Printer};
use crate::report::Failure;
use crate::show;
use crate::surroundings::Caller;

pub(super) async fn run(of: &OfServer, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    with_listing(of, caller, printer, async |listing: ServerListing<'_>| print(&listing, printer))
        .await
}

fn print(listing: &ServerListing<'_>, printer: &Printer) -> Result<(), Failure> {
    let prompts = listing.snapshot.catalog.prompts().iter();
    let prompts: Vec<_> = prompts.filter(|prompt| listing.includes(prompt.server())).collect();
    let notices = &listing.notices;
    if printer.is_json() {
        let prompts: Vec<_> = prompts
            .iter()
            .map(|listed| {
                let (name, item) = (&listed.name, &listed.prompt.item);
                json!({ "name": name, "server": listed.server(), "item": item })
            })
            .collect();
        printer.notices(notices);
        return printer.json(&json!({ "prompts": prompts, "problems": notices }));
    }
    table(&prompts, printer);
    if prompts.is_empty() {
        printer.done("no prompts");
    }
    printer.notices(notices);
    Ok(())
}

fn table(prompts: &[&ListedPrompt], printer: &Printer) {
    let shown: Vec<_> = prompts.iter().map(|prompt| (&prompt.name, blanks(prompt))).collect();
    let width = |text: &str| text.chars().count();
    let names = shown.iter().map(|(name, _)| width(name)).max().unwrap_or(0).min(50);
    let blanks = shown.iter().map(|(_, blanks)| width(blanks)).max().unwrap_or(0).min(40);
    for ((name, wanted), prompt) in shown.iter().zip(prompts) {
        let prompt = &prompt.prompt;
        let first = prompt.description.as_deref().and_then(|text| text.lines().next());
        let about = first.or(prompt.title.as_deref()).unwrap_or_default();
        let about = show::fit_to_width(&sanitize::sanitize_line(about), names + blanks + 4);
        let about = show::dim(&about);
        let line = format!("{BOLD}{name:names$}{BOLD:#}  {wanted:blanks$}  {about}");
        printer.line(line.trim_end());
    }
}

/// The arguments of a prompt, optional ones in brackets.
fn blanks(prompt: &ListedPrompt) -> String {
    let blank = |argument: &PromptArgument| {
        let name = sanitize::sanitize_line(&argument.name);
        if argument.required { format!("{name}=…") } else { format!("[{name}=…]") }
    };
    prompt.prompt.arguments.iter().map(blank).collect::<Vec<_>>().join(" ")
}
