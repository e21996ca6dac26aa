//! `switchboard logout`: revokes and deletes the tokens of one server, or of all.
//!
//! Used by `commands::run`, and by `token` for a principal that loses its last token. Revocation is in `auth`.

use serde::Serialize;
use switchboard_auth::{Error, SignIn, SignInRecord, SignInStore as _, SignInStoreError, sign_out};
use switchboard_wire::http::HttpPoolOptions;
use switchboard_wire::sanitize;

use super::login;
use crate::args::Logout;
use crate::notice::Notice;
use crate::printer::{BOLD, Printer};
use crate::report::Failure;
use crate::show;
use crate::surroundings::Caller;

/// One ended sign-in; an element of `--json`.
#[derive(Debug, Serialize)]
struct EndedSignIn {
    server: String,
    issuer: Option<String>,
    /// Why the authorization server may still accept the tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub(super) async fn run(
    logout: &Logout,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let store = caller.sign_ins();
    let failed = |error: SignInStoreError| Failure::new("cannot read the sign-ins", error);
    let mut ended = Vec::new();
    let mut unopened = 0;
    for key in store.keys().map_err(failed)? {
        let record = match store.load(&key) {
            Ok(record) => record,
            // Once the key is private again, it opens all sign-ins, and their tokens can be revoked.
            Err(error @ SignInStoreError::KeyExposed { .. }) => return Err(failed(error)),
            Err(error @ SignInStoreError::KeyDamaged { .. }) if !logout.all => {
                return Err(failed(error).with_hint(
                    "`switchboard login <server>` makes a new key; `switchboard logout --all` forgets every sign-in",
                ));
            }
            // Sign-ins that cannot be opened can still be deleted, but not by name.
            Err(_) => None,
        };
        if !logout.means(record.as_ref()) {
            continue;
        }
        let record = record.unwrap_or_default();
        let Some(sign_in) =
            SignIn::from_record(&key, &record, store.clone(), HttpPoolOptions::default())
        else {
            store.remove(&key).map_err(failed)?;
            unopened += 1;
            continue;
        };
        let outcome = sign_out(&sign_in).await;
        let failed = |error: Error| Failure::new("cannot delete a sign-in", &error);
        if let Some(revoked) = outcome.map_err(failed)? {
            ended.push(EndedSignIn::new(&record, revoked));
        }
    }
    if let (true, Some(server)) = (ended.is_empty(), &logout.server) {
        login::find_server(server, &caller.workspace.desired())?;
    }
    print_ended(&ended, unopened, printer)
}

/// Signs a principal out of identity providers, whose ID tokens open every server of the organisation.
pub(super) async fn end_provider_sign_ins(principal: &str, caller: &Caller) -> Result<(), Failure> {
    let store = caller.sign_ins();
    let failed = |error: Error| Failure::new("cannot delete a sign-in", &error);
    for key in store.keys().map_err(|error| failed(error.into()))? {
        let Some(record) = store.load(&key).map_err(|error| failed(error.into()))? else {
            continue;
        };
        let has_id_token = record.account.as_ref().is_some_and(|it| it.id_token.is_some());
        if !has_id_token || record.principal.as_deref() != Some(principal) {
            continue;
        }
        let network = HttpPoolOptions::default();
        if let Some(sign_in) = SignIn::from_record(&key, &record, store.clone(), network) {
            sign_out(&sign_in).await.map_err(failed)?;
        }
    }
    Ok(())
}

/// `unopened` counts the sign-ins that were removed although they could not be opened.
fn print_ended(ended: &[EndedSignIn], unopened: usize, printer: &Printer) -> Result<(), Failure> {
    if unopened > 0 {
        let sign_ins = show::count(unopened, "sign-in");
        printer.notices(&[Notice::warning(format!(
            "removed {sign_ins} that could not be opened; the tokens could not be revoked"
        ))]);
    }
    if printer.is_json() {
        return printer.json(&serde_json::json!({ "signedOut": ended }));
    }
    if ended.is_empty() && unopened == 0 {
        printer.done("You were not signed in.");
    }
    for one in ended {
        printer.done(format_args!("Signed out of {BOLD}{}{BOLD:#}.", show::word(&one.server)));
        if let Some(problem) = &one.problem {
            let said = format!("`{}` may still accept the tokens: {problem}", one.server);
            printer.notices(&[Notice::warning(said)]);
        }
    }
    Ok(())
}

// === impl Logout ===

impl Logout {
    fn means(&self, record: Option<&SignInRecord>) -> bool {
        let Some(record) = record else { return self.all };
        let is_meant = self.all || Some(&record.server) == self.server.as_ref();
        is_meant && record.principal == self.principal
    }
}

// === impl EndedSignIn ===

impl EndedSignIn {
    fn new(record: &SignInRecord, revoked: Result<(), Error>) -> Self {
        let issuer = record.account.as_ref();
        Self {
            server: record.server.clone(),
            issuer: issuer.map(|account| sanitize::sanitize_line(&account.issuer).into_owned()),
            problem: revoked.err().map(|error| error.error_chain()),
        }
    }
}
