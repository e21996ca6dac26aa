//! `switchboard token`: creates, lists and revokes tokens for clients of `serve`.
//!
//! Used by `commands::run`; `access` uses its failure texts. Tokens are stored by `gateway::tokens`.

use std::path::Path;

use serde_json::{Value, json};
use switchboard_gateway::tokens::{ClientToken, TokenStore, TokenStoreError};
use switchboard_wire::sanitize;

use super::logout;
use crate::args::{self, CreateToken};
use crate::printer::{BOLD, DIM, Printer};
use crate::report::{Failure, FailureKind};
use crate::show::{self, moment};
use crate::surroundings::{self, Caller};

pub(super) async fn run(
    token: &args::Token,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let store = TokenStore::new(&caller.surroundings.state_dir);
    let done = match token {
        args::Token::Create(create) => self::create(create, &store, printer),
        args::Token::List => list(&store, printer),
        args::Token::Revoke { which } => revoke(which, &store, caller, printer).await,
    };
    done.map_err(|error| match error {
        TokenProblem::Store(error) => failed(&error, store.path()),
        TokenProblem::Printing(failure) => failure,
    })
}

/// Errors of this command.
enum TokenProblem {
    Store(TokenStoreError),
    Printing(Failure),
}

fn create(create: &CreateToken, store: &TokenStore, printer: &Printer) -> Result<(), TokenProblem> {
    let now = surroundings::now();
    let expires = create.expires.map(|span| now.saturating_add(span.as_secs()));
    let created = store.create(create.to_new_token(expires), now)?;
    if printer.is_json() {
        let mut shown = token_json(&created.token, now);
        shown["token"] = json!(created.secret.reveal());
        return Ok(printer.json(&shown)?);
    }
    printer.line(created.secret.reveal());
    let ClientToken { id, name, .. } = &created.token;
    let until = match expires {
        Some(expires) => format!("valid until {}", moment(expires)),
        None => "valid until it is revoked".to_owned(),
    };
    printer.done(format_args!("\nThis is token {BOLD}{name}{BOLD:#} ({id}), {until}."));
    printer.done(
        "It is shown only now. A client sends it with every request:\n\n  Authorization: Bearer <token>",
    );
    printer.done(format_args!("\n{}", acts_as(&created.token)));
    Ok(())
}

/// The principal whose sign-ins the client of a token uses.
fn acts_as(token: &ClientToken) -> String {
    if token.is_mine {
        return "Its client acts as you, with your sign-ins and headers.".to_owned();
    }
    format!(
        "Its client acts as `{}`, with sign-ins of its own; `--me` makes one that acts as you.",
        sanitize::sanitize_line(token.principal().id())
    )
}

fn list(store: &TokenStore, printer: &Printer) -> Result<(), TokenProblem> {
    let (tokens, now) = (store.list()?, surroundings::now());
    if printer.is_json() {
        let tokens: Vec<_> = tokens.iter().map(|token| token_json(token, now)).collect();
        return Ok(printer.json(&json!({ "tokens": tokens }))?);
    }
    if tokens.is_empty() {
        printer.done("No tokens. `switchboard token create` creates one.");
        return Ok(());
    }
    let rows = tokens.iter().map(|token| {
        let expires = match token.expires {
            None => "-".to_owned(),
            Some(expires) if token.is_good(now) => moment(expires),
            Some(expires) => format!("{} (over)", moment(expires)),
        };
        let used = token.used.map_or_else(|| "never".to_owned(), moment);
        let person = match &token.user {
            _ if token.is_mine => "you".to_owned(),
            Some(name) => name.clone(),
            None => "-".to_owned(),
        };
        let groups = if token.groups.is_empty() { "-".to_owned() } else { token.groups.join(" ") };
        [token.name.clone(), token.id.clone(), person, groups, moment(token.created), expires, used]
    });
    let head = ["NAME", "ID", "USER", "GROUPS", "CREATED", "EXPIRES", "USED"].map(str::to_owned);
    for (number, row) in show::columns(std::iter::once(head).chain(rows)).iter().enumerate() {
        match number {
            0 => printer.line(format_args!("{DIM}{row}{DIM:#}")),
            _ => printer.line(row),
        }
    }
    Ok(())
}

async fn revoke(
    which: &str,
    store: &TokenStore,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), TokenProblem> {
    let token = store.revoke(which)?;
    let principal = token.principal();
    if printer.is_json() {
        printer.json(&json!({ "revoked": token_json(&token, surroundings::now()) }))?;
    } else {
        printer.done(format_args!("Token {BOLD}{}{BOLD:#} ({}) is revoked.", token.name, token.id));
    }
    let is_last = store.list()?.iter().all(|other| other.principal().id() != principal.id());
    if is_last && !principal.is_local() {
        logout::end_provider_sign_ins(principal.id(), caller).await?;
    }
    Ok(())
}

fn token_json(token: &ClientToken, now: u64) -> Value {
    let ClientToken { id, name, user, is_mine, groups, created, expires, used } = token;
    let mut shown =
        json!({ "id": id, "name": name, "created": created, "good": token.is_good(now) });
    if let Some(user) = user {
        shown["user"] = json!(user);
    }
    if *is_mine {
        shown["me"] = json!(true);
    }
    if !groups.is_empty() {
        shown["groups"] = json!(groups);
    }
    for (key, value) in [("expires", expires), ("used", used)] {
        if let Some(value) = value {
            shown[key] = json!(value);
        }
    }
    shown
}

/// The failure for an error of the token store.
pub(crate) fn failed(error: &TokenStoreError, file: &Path) -> Failure {
    let path = file.display();
    match error {
        TokenStoreError::File(error @ switchboard_config::Error::State { .. }) => {
            Failure::new("the tokens cannot be read, so no client can connect with one", error)
                .with_hint(format!("repair `{path}`, or move it away and create new tokens"))
        }
        TokenStoreError::File(error) => Failure::new("cannot read the tokens", error),
        error @ (TokenStoreError::Name { .. }
        | TokenStoreError::Person { .. }
        | TokenStoreError::Groups) => Failure::plain(FailureKind::Usage, error.to_string()),
        error @ TokenStoreError::Exists { .. } => {
            Failure::plain(FailureKind::Failed, error.to_string()).with_hint(
                "choose another name, or revoke that token with `switchboard token revoke`",
            )
        }
        TokenStoreError::NoSuch { which } => {
            let message = format!("there is no token `{}`", sanitize::sanitize_line(which));
            Failure::plain(FailureKind::Failed, message).with_hint("see `switchboard token list`")
        }
        error => Failure::new("cannot change the tokens", error),
    }
}

// === impl TokenProblem ===

impl From<TokenStoreError> for TokenProblem {
    fn from(error: TokenStoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Failure> for TokenProblem {
    fn from(failure: Failure) -> Self {
        Self::Printing(failure)
    }
}
