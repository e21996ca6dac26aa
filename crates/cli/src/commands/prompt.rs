//! `switchboard prompt`: gets one prompt with its arguments, and prints its messages.
//!
//! Used by `commands::run`; `complete` uses its argument parsing. It does not list prompts (`prompts` does).

use switchboard_config::command_line;
use switchboard_core::Request;
use switchboard_core::catalog::{ListedPrompt, Prompt};
use switchboard_wire::json::Raw;
use switchboard_wire::sanitize;

use super::content::{self, ResultPart};
use super::follow::follow;
use super::lookup;
use crate::args;
use crate::command_engine::{self, CommandEngine};
use crate::printer::{BOLD, Printer, escaped};
use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;

pub(super) async fn run(
    prompt: &args::Prompt,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let given = pairs(&prompt.arguments)?;
    command_engine::with_servers(caller, printer, async |hub: &CommandEngine| {
        printer.notices(&command_engine::not_numbers(&hub.desired, caller));
        show(&prompt.name, &given, hub, printer).await
    })
    .await
}

async fn show(
    name: &str,
    given: &[(String, String)],
    hub: &CommandEngine,
    printer: &Printer,
) -> Result<(), Failure> {
    let listed: ListedPrompt = lookup::find(hub, name, printer).await?;
    check(&listed, given)?;
    let request = Request::prompt(&listed.name, &object(given));
    let outcome = follow(hub, request, &listed.name, printer).await;
    let outcome = outcome.map_err(|error| {
        command_engine::call_failed(&format!("cannot fill in `{}`", listed.name), &error, hub)
    })?;
    if printer.is_json() {
        printer.line(escaped(outcome.result.as_str()));
        return Ok(());
    }
    let messages = outcome.result.get("messages").ok().flatten();
    for (number, message) in messages.iter().flat_map(Raw::elements).enumerate() {
        if number > 0 {
            printer.line("");
        }
        let role = message.get("role").ok().flatten().and_then(|role| role.to_text());
        let role = role.unwrap_or_else(|| "unknown".to_owned());
        printer.line(format_args!("{BOLD}{}{BOLD:#}", sanitize::sanitize_line(&role)));
        let block = message.get("content").ok().flatten().unwrap_or_else(Raw::null);
        content::print_among(&[ResultPart::of_block(&block)], printer)?;
    }
    Ok(())
}

/// Parses words of the form `key=value`.
pub(super) fn pairs(words: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let pair = |word: &String| match word.split_once('=').filter(|(key, _)| !key.is_empty()) {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(Failure::usage(format!("`{word}` is not an argument"), "write `key=value`")),
    };
    words.iter().map(pair).collect()
}

/// The pairs as an object of strings: prompts take only text.
pub(super) fn object(pairs: &[(String, String)]) -> Raw {
    Raw::object(pairs.iter().map(|(key, value)| (key, Raw::string(value))))
}

/// Checks for missing and unknown arguments before anything is sent.
fn check(listed: &ListedPrompt, given: &[(String, String)]) -> Result<(), Failure> {
    let prompt = &listed.prompt;
    let has = |name: &str| given.iter().any(|(key, _)| key == name);
    let missing = prompt.arguments.iter().filter(|argument| argument.required);
    let missing = missing
        .filter(|argument| !has(&argument.name))
        .map(|argument| format!("`{}` is missing", sanitize::sanitize_line(&argument.name)));
    let is_known = |key: &str| prompt.arguments.iter().any(|argument| argument.name == key);
    let unknown = given.iter().filter(|(key, _)| !is_known(key));
    let unknown = unknown.map(|(key, _)| format!("it has no argument `{key}`"));
    let wrong: Vec<_> = missing.chain(unknown).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let message = format!("invalid arguments for `{}`", listed.name);
    let words = std::iter::once(lookup::path(listed)).chain(blanks(prompt));
    let such = format!("such as `{}`", command_line("prompt", words));
    Err(Failure::plain(FailureKind::Usage, message).with_causes(wrong).with_hint(such))
}

fn blanks(prompt: &Prompt) -> impl Iterator<Item = String> {
    let required = prompt.arguments.iter().filter(|argument| argument.required);
    required.map(|argument| format!("{}=TEXT", argument.name))
}
