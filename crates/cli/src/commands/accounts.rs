//! `switchboard accounts`: who is signed in to which server, the person who runs the hub and the principals of `serve`.
//!
//! Used by `commands::run`. It shows no token; `login` and `logout` change accounts.

use serde_json::{Value, json};
use switchboard_auth::{OAuthAccount, SignInRecord, SignInStore as _, SignInStoreError};
use switchboard_wire::sanitize;

use crate::printer::{DIM, Printer};
use crate::report::Failure;
use crate::show::{self, moment};
use crate::surroundings::{self, Caller};

pub(super) fn run(caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let store = caller.sign_ins();
    let failed = |error: SignInStoreError| Failure::new("cannot read the sign-ins", error);
    let mut records = Vec::new();
    for key in store.keys().map_err(failed)? {
        records.extend(store.load(&key).map_err(failed)?);
    }
    records.sort_by(|one, other| {
        (&one.server, &one.principal).cmp(&(&other.server, &other.principal))
    });
    let accounts: Vec<_> =
        records.iter().filter_map(|record| Some((record, record.account.as_ref()?))).collect();
    if printer.is_json() {
        let accounts: Vec<_> =
            accounts.iter().map(|(record, account)| account_json(record, account)).collect();
        return printer.json(&json!({ "accounts": accounts }));
    }
    if accounts.is_empty() {
        printer.done("No sign-ins. Sign in with `switchboard login <server>`.");
        return Ok(());
    }
    let rows = accounts.iter().map(|(record, account)| account_row(record, account));
    let head = ["SERVER", "WHO", "AT", "SCOPES", "EXPIRES"].map(str::to_owned);
    for (number, row) in show::columns(std::iter::once(head).chain(rows)).iter().enumerate() {
        match number {
            0 => printer.line(format_args!("{DIM}{row}{DIM:#}")),
            _ => printer.line(row),
        }
    }
    Ok(())
}

fn account_row(record: &SignInRecord, account: &OAuthAccount) -> [String; 5] {
    let expires = match account.expires_at {
        None => "-".to_owned(),
        Some(_) if account.refresh.is_some() => "renewed by itself".to_owned(),
        Some(at) if at <= surroundings::now() => format!("{} (over)", moment(at)),
        Some(at) => moment(at),
    };
    let scopes = if account.scopes.is_empty() { "-".to_owned() } else { account.scopes.join(" ") };
    let who = record.principal.as_deref().unwrap_or("you");
    [&record.server, who, &account.issuer, &scopes, &expires]
        .map(|text| sanitize::sanitize_line(text).into_owned())
}

fn account_json(record: &SignInRecord, account: &OAuthAccount) -> Value {
    json!({
        "server": record.server, "url": record.url,
        "principal": record.principal.as_deref().unwrap_or(switchboard_core::principal::LOCAL_PRINCIPAL),
        "issuer": account.issuer, "scopes": account.scopes, "expiresAt": account.expires_at,
        "renewable": account.refresh.is_some(),
    })
}
