//! `switchboard doctor auth`: checks every step of a sign-in to one server, and shows where it fails.
//!
//! Used by `commands::doctor`. The checks are in `auth`; it does not sign in.

use serde_json::json;
use switchboard_auth::{SignIn, SignInCheck, SignInFinding, examine_sign_in, redact_url};

use super::super::login::{pool_options, subject};
use super::super::xaa::provider;
use crate::printer::{BOLD, DIM, GREEN, Printer, RED, YELLOW};
use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;
use crate::{hint, show, wait};

pub(super) async fn run(name: &str, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let desired = caller.workspace.desired();
    let (subject, network) = (subject(name, &desired)?, pool_options(name, &desired)?);
    let organisation = provider(caller)?;
    let sign_in =
        SignIn::new(subject, caller.sign_ins(), network).with_identity_provider(organisation);
    let hops =
        wait::wait_with_text(printer, "checking the sign-in", examine_sign_in(&sign_in)).await;
    if printer.is_json() {
        let hops: Vec<_> = hops.iter().map(as_json).collect();
        let url = redact_url(sign_in.target().url.as_str());
        printer.json(&json!({ "server": name, "url": url, "steps": hops }))?;
    } else {
        for hop in &hops {
            print(hop, printer);
        }
    }
    verdict(name, &hops, printer)
}

fn as_json(hop: &SignInCheck) -> serde_json::Value {
    json!({
        "step": hop.step.word(), "finding": hop.finding.word(),
        "asked": hop.request, "came": hop.response, "means": hop.means,
    })
}

fn print(hop: &SignInCheck, printer: &Printer) {
    let (style, symbol) = match hop.finding {
        SignInFinding::Good => (GREEN, "✔"),
        SignInFinding::SignIn => (YELLOW, "!"),
        SignInFinding::Broken => (RED, "✘"),
    };
    printer
        .line(format_args!("{style}{symbol}{style:#} {BOLD}{}{BOLD:#}: {}", hop.step, hop.means));
    printer.line(format_args!("    {DIM}check: {}{DIM:#}", hop.request));
    for line in &hop.response {
        printer.line(format_args!("    {DIM}found: {line}{DIM:#}"));
    }
}

/// The verdict: the first broken step, or else the first step that needs an action.
fn verdict(name: &str, hops: &[SignInCheck], printer: &Printer) -> Result<(), Failure> {
    let first = |finding| hops.iter().find(|hop| hop.finding == finding);
    if let Some(hop) = first(SignInFinding::Broken) {
        let message = format!("signing in to `{name}` fails at {}", hop.step);
        return Err(Failure::plain(FailureKind::Failed, message).with_causes([hop.means.clone()]));
    }
    if let Some(hop) = first(SignInFinding::SignIn) {
        let message = format!("sign-in needed for `{name}`");
        let failure = Failure::plain(FailureKind::NeedsAuthentication, message);
        return Err(failure.with_causes([hop.means.clone()]).with_hint(hint::sign_in(name)));
    }
    let name = show::word(name);
    printer.done(format_args!("\n{GREEN}✔{GREEN:#} Signing in to {name} works."));
    Ok(())
}
