//! Whether a tool may be called, asked of whoever looks after the hub.

use switchboard_core::dispatch::{Consent, Reply};
use switchboard_core::permission::Remember;
use switchboard_wire::sanitize;

use super::keyboard::Keyboard;
use crate::printer::{BOLD, DIM, Printer};
use crate::show;

/// How much of the arguments is shown.
const SHOWN: usize = 500;

/// Asks for consent; the end of input cancels.
pub(super) async fn ask(consent: &Consent, keyboard: &Keyboard, printer: &Printer) -> Reply {
    let arguments = sanitize::line(consent.arguments.as_str());
    printer.raw(format_args!(
        "May {BOLD}{}{BOLD:#} be called? {DIM}{}{DIM:#}\n{}\n",
        sanitize::line(&consent.tool),
        sanitize::line(&consent.because.to_string()),
        show::shortened(&arguments, SHOWN)
    ));
    if consent.annotations.is_destructive() {
        printer.raw("It may change or destroy something.\n");
    }
    let question = "This time, for the session, in this project, always, no, or never?";
    let choices = ["t", "s", "p", "a", "no", "never"];
    match keyboard.choose(printer, question, &choices, "no").await.as_deref() {
        Some("t") => Reply::Allow(Remember::Once),
        Some("s") => Reply::Allow(Remember::Session),
        Some("p") => Reply::Allow(Remember::Project),
        Some("a") => Reply::Allow(Remember::Always),
        Some("never") => Reply::Deny(Remember::Never),
        Some(_) => Reply::Deny(Remember::Once),
        None => Reply::Cancel,
    }
}
