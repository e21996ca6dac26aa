//! A permission question on the command line: whether a tool may be called, and for how long the answer holds.
//!
//! Used by `ask` for `switchboard answer`. It does not store the answer (the hub does).

use switchboard_core::dispatch::{PermissionQuestion, QuestionAnswer};
use switchboard_core::permission::{PermissionAnswer, describe_annotations, permission_sentence};
use switchboard_wire::sanitize;

use super::keyboard::Keyboard;
use crate::printer::{BOLD, DIM, Printer};
use crate::show;

/// How many characters of the arguments are shown.
const MAX_SHOWN_CHARS: usize = 500;

/// The answers, each with what a person types. Only the whole word `never` denies for good.
const CHOICES: [(&str, PermissionAnswer); 6] = [
    ("o", PermissionAnswer::AllowOnce),
    ("s", PermissionAnswer::AllowForSession),
    ("p", PermissionAnswer::AllowInProject),
    ("a", PermissionAnswer::AllowAlways),
    ("d", PermissionAnswer::Deny),
    ("never", PermissionAnswer::DenyAlways),
];

/// Asks for consent; the end of input cancels.
pub(super) async fn ask(
    client: Option<&str>,
    server: &str,
    consent: &PermissionQuestion,
    keyboard: &Keyboard,
    printer: &Printer,
) -> QuestionAnswer {
    let sentence = permission_sentence(client, &consent.tool, server);
    let because = consent.because.to_string();
    let arguments = sanitize::sanitize_line(consent.arguments.as_str());
    printer.raw(format_args!(
        "{BOLD}{sentence}{BOLD:#}\n{DIM}Asked because: {}{DIM:#}\n",
        sanitize::sanitize_line(&because)
    ));
    let claims = describe_annotations(consent.annotations);
    if !claims.is_empty() {
        printer.raw(format_args!("The tool: {claims}\n"));
    }
    printer.raw(format_args!("Arguments: {}\n", show::shorten(&arguments, MAX_SHOWN_CHARS)));
    for (typed, answer) in CHOICES {
        printer.raw(format_args!("  {typed:<5}  {}\n", answer.label()));
    }
    let choices = CHOICES.map(|(typed, _)| typed);
    let typed = keyboard.choose(printer, "Your answer?", &choices, "d").await;
    let chosen = CHOICES.into_iter().find(|(choice, _)| typed.as_deref() == Some(choice));
    chosen.map_or(QuestionAnswer::Cancel, |(_, answer)| answer.into())
}
