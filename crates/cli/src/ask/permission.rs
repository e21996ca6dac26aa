//! A permission question on the command line: whether a tool may be called, and for how long the answer holds.
//!
//! Used by `ask` for `switchboard answer`. It does not store the answer (the hub does).

use switchboard_core::dispatch::{PermissionQuestion, QuestionAnswer};
use switchboard_core::permission::AnswerLifetime;
use switchboard_wire::sanitize;

use super::keyboard::Keyboard;
use crate::printer::{BOLD, DIM, Printer};
use crate::show;

/// How many characters of the arguments are shown.
const MAX_SHOWN_CHARS: usize = 500;

/// Asks for consent; the end of input cancels.
pub(super) async fn ask(
    consent: &PermissionQuestion,
    keyboard: &Keyboard,
    printer: &Printer,
) -> QuestionAnswer {
    let arguments = sanitize::sanitize_line(consent.arguments.as_str());
    printer.raw(format_args!(
        "May {BOLD}{}{BOLD:#} be called? {DIM}{}{DIM:#}\n{}\n",
        sanitize::sanitize_line(&consent.tool),
        sanitize::sanitize_line(&consent.because.to_string()),
        show::shorten(&arguments, MAX_SHOWN_CHARS)
    ));
    if consent.annotations.is_destructive() {
        printer.raw("It may change or destroy something.\n");
    }
    let question = "This time, for the session, in this project, always, no, or never?";
    let choices = ["t", "s", "p", "a", "no", "never"];
    match keyboard.choose(printer, question, &choices, "no").await.as_deref() {
        Some("t") => QuestionAnswer::Allow(AnswerLifetime::Once),
        Some("s") => QuestionAnswer::Allow(AnswerLifetime::Session),
        Some("p") => QuestionAnswer::Allow(AnswerLifetime::Project),
        Some("a") => QuestionAnswer::Allow(AnswerLifetime::Always),
        Some("never") => QuestionAnswer::Deny(AnswerLifetime::Never),
        Some(_) => QuestionAnswer::Deny(AnswerLifetime::Once),
        None => QuestionAnswer::Cancel,
    }
}
