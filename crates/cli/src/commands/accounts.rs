//! `switchboard accounts`: who is signed in to which server, the person who runs the hub and the principals of `serve`.
//!
//! Used by `commands::run`. `hub::list_accounts` reads the store. It shows no token; `login` and `logout` change
//! accounts.

use serde_json::json;
use switchboard_core::principal::LOCAL_PRINCIPAL;
use switchboard_hub::AccountInfo;
use switchboard_wire::sanitize;

use crate::printer::{DIM, Printer};
use crate::report::Failure;
use crate::show::{self, moment};
use crate::surroundings::{self, Caller};

pub(super) fn run(caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let accounts = switchboard_hub::list_accounts(&*caller.sign_ins());
    let accounts = accounts.map_err(|error| Failure::new("cannot read the sign-ins", error))?;
    if printer.is_json() {
        return printer.json(&json!({ "accounts": accounts }));
    }
    if accounts.is_empty() {
        printer.done("No sign-ins. Sign in with `switchboard login <server>`.");
        return Ok(());
    }
    let rows = accounts.iter().map(account_row);
    let head = ["SERVER", "WHO", "AT", "SCOPES", "EXPIRES"].map(str::to_owned);
    for (number, row) in show::columns(std::iter::once(head).chain(rows)).iter().enumerate() {
        match number {
            0 => printer.line(format_args!("{DIM}{row}{DIM:#}")),
            _ => printer.line(row),
        }
    }
    Ok(())
}

fn account_row(account: &AccountInfo) -> [String; 5] {
    let expires = match account.expires_at {
        None => "-".to_owned(),
        Some(_) if account.renewable => "renewed by itself".to_owned(),
        Some(at) if at <= surroundings::now() => format!("{} (over)", moment(at)),
        Some(at) => moment(at),
    };
    let scopes = if account.scopes.is_empty() { "-".to_owned() } else { account.scopes.join(" ") };
    let who = if account.principal == LOCAL_PRINCIPAL { "you" } else { &account.principal };
    [&account.server, who, &account.issuer, &scopes, &expires]
        .map(|text| sanitize::sanitize_line(text).into_owned())
}
