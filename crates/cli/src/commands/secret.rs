//! `switchboard secret`: stores, lists, removes and imports secrets. No output shows a value.
//!
//! Used by `commands::run`. Values are kept by `auth::SecretStore`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

use serde_json::{Map, Value, json};
use switchboard_auth::{KeyLocation, SecretStore, SecretStoreError};
use switchboard_config::Desired;
use switchboard_config::secret::{
    SecretText, is_valid_secret_name, secret_names, secret_reference,
};
use switchboard_core::connection::parse_env_text;

use crate::args::{self, SetSecret};
use crate::hint;
use crate::printer::{BOLD, DIM, Printer};
use crate::prompt;
use crate::report::Failure;
use crate::show;
use crate::surroundings::Caller;

/// Longer than any key or certificate.
const MAX_VALUE_BYTES: u64 = 64 * 1024;
/// Longer than any `.env` file.
const MAX_FILE_BYTES: u64 = 1 << 20;

pub(super) fn run(
    secret: &args::Secret,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let store = caller.secret_store();
    match secret {
        args::Secret::Set(set) => self::set(set, &store, printer),
        args::Secret::List => list(&store, caller, printer),
        args::Secret::Remove { name } => remove(name, &store, caller, printer),
        args::Secret::Import { file } => import(file, &store, printer),
    }
}

/// The failure for an error of the secret store.
fn failed(error: &SecretStoreError) -> Failure {
    let failure = Failure::new("cannot use the secret store", error);
    match hint::of_secret_store(error) {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

fn set(set: &SetSecret, store: &SecretStore, printer: &Printer) -> Result<(), Failure> {
    let name = &set.name;
    check_name(name)?;
    let is_piped = set.from_stdin || !std::io::stdin().is_terminal();
    let piped = if is_piped { Some(read_stdin()?) } else { None };
    let value = match piped.filter(|value| set.from_stdin || !value.expose().is_empty()) {
        Some(value) => value,
        None => type_value(name, printer)?,
    };
    if value.expose().is_empty() {
        return Err(Failure::usage("the value is empty", "nothing was stored"));
    }
    let is_new = !store.names().map_err(|error| failed(&error))?.contains(name);
    store.set(&[(name.clone(), value)].into()).map_err(|error| failed(&error))?;
    if printer.is_json() {
        let shown = json!({ "name": name, "replaced": !is_new, "key": key_word(store)? });
        return printer.json(&shown);
    }
    let verb = if is_new { "stored" } else { "replaced" };
    printer.done(format_args!(
        "{verb} {BOLD}{name}{BOLD:#}, sealed with a key in {}; write `{}` in an entry",
        key_place(store)?,
        secret_reference(name)
    ));
    Ok(())
}

fn check_name(name: &str) -> Result<(), Failure> {
    if is_valid_secret_name(name) {
        return Ok(());
    }
    // The word may be the value itself, so it is not shown.
    let hint = "a name is a letter, then letters, digits, `_`, `-` or `.`";
    Err(Failure::usage("this cannot be the name of a secret", hint))
}

fn type_value(name: &str, printer: &Printer) -> Result<SecretText, Failure> {
    if !prompt::is_possible(printer) {
        let hint = format!("pipe the value: `… | switchboard secret set {name} --from-stdin`");
        return Err(Failure::usage("there is no terminal to type the value on", hint));
    }
    let typed = prompt::read_hidden_line(printer, &format!("Value of {name} (not shown):"));
    let typed = typed.map_err(|error| Failure::new("cannot read the value", error))?;
    Ok(SecretText::new(typed))
}

fn read_stdin() -> Result<SecretText, Failure> {
    let text = read_limited(std::io::stdin().lock(), MAX_VALUE_BYTES);
    let text = text.map_err(|error| Failure::new("cannot read the value", error))?;
    Ok(SecretText::new(text.trim_end_matches(['\r', '\n'])))
}

fn read_limited(source: impl std::io::Read, limit: u64) -> std::io::Result<String> {
    let mut text = String::new();
    source.take(limit + 1).read_to_string(&mut text)?;
    if text.len() as u64 > limit {
        return Err(std::io::Error::other(format!("it is longer than {} KiB", limit / 1024)));
    }
    Ok(text)
}

fn list(store: &SecretStore, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let stored: BTreeSet<_> = store.names().map_err(|error| failed(&error))?.into_iter().collect();
    let desired = &caller.first_desired;
    let users = servers_by_secret(desired);
    let providers = &desired.settings.secret_providers;
    let names: BTreeSet<_> = stored.iter().chain(users.keys()).chain(providers.keys()).collect();
    let origin = |name: &String| match (providers.contains_key(name), stored.contains(name)) {
        (true, _) => "provider",
        (false, true) => "store",
        (false, false) => "not set",
    };
    if printer.is_json() {
        let secret = |name: &String| {
            let servers: Vec<_> = users.get(name).into_iter().flatten().collect();
            json!({ "name": name, "from": origin(name), "servers": servers })
        };
        let shown: Vec<_> = names.iter().copied().map(secret).collect();
        return printer.json(&json!({ "secrets": shown }));
    }
    if names.is_empty() {
        printer.done("No secrets. `switchboard secret set NAME` stores one.");
        return Ok(());
    }
    let rows = names.iter().copied().map(|name| {
        let servers: Vec<_> = users.get(name).into_iter().flatten().cloned().collect();
        let servers = if servers.is_empty() { "-".to_owned() } else { servers.join(", ") };
        [name.clone(), origin(name).to_owned(), servers]
    });
    let head = ["NAME", "FROM", "SERVERS"].map(str::to_owned);
    for (number, row) in show::columns(std::iter::once(head).chain(rows)).iter().enumerate() {
        match number {
            0 => printer.line(format_args!("{DIM}{row}{DIM:#}")),
            _ => printer.line(row),
        }
    }
    Ok(())
}

/// The servers that name each secret.
fn servers_by_secret(desired: &Desired) -> BTreeMap<String, BTreeSet<String>> {
    let mut users: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for server in desired.servers.iter().filter(|server| server.scope.is_expanded()) {
        for secret in secret_names(&server.template.to_json()) {
            users.entry(secret).or_default().insert(server.name.clone());
        }
    }
    users
}

fn remove(
    name: &str,
    store: &SecretStore,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    if !store.remove(name).map_err(|error| failed(&error))? {
        let hint = "`switchboard secret list` shows the names";
        return Err(Failure::usage(format!("there is no secret `{name}`"), hint));
    }
    let users = servers_by_secret(&caller.first_desired).remove(name).unwrap_or_default();
    if printer.is_json() {
        return printer.json(&json!({ "removed": name, "servers": users }));
    }
    let users: Vec<_> = users.into_iter().collect();
    let stopped = match users.as_slice() {
        [] => String::new(),
        users => format!("; servers that named it stop: {}", users.join(", ")),
    };
    printer.done(format_args!("removed {BOLD}{name}{BOLD:#}{stopped}"));
    Ok(())
}

fn import(file: &Path, store: &SecretStore, printer: &Printer) -> Result<(), Failure> {
    let text = std::fs::File::open(file).and_then(|file| read_limited(file, MAX_FILE_BYTES));
    let text =
        text.map_err(|error| Failure::new(format!("cannot read `{}`", file.display()), error))?;
    let values = parse_values(&text).map_err(|why| {
        Failure::usage(format!("cannot import `{}`: {why}", file.display()), "nothing was stored")
    })?;
    store.set(&values).map_err(|error| failed(&error))?;
    let names: Vec<_> = values.keys().map(String::as_str).collect();
    if printer.is_json() {
        return printer.json(&json!({ "stored": names, "key": key_word(store)? }));
    }
    printer.done(format_args!(
        "stored {}: {}; the file stays as it is",
        show::count(names.len(), "secret"),
        names.join(", ")
    ));
    Ok(())
}

/// The values of a JSON object, or of lines `KEY=VALUE`. Errors show no value.
fn parse_values(text: &str) -> Result<BTreeMap<String, SecretText>, String> {
    let pairs: Vec<(String, String)> = if text.trim_start().starts_with('{') {
        let members: Map<String, Value> =
            serde_json::from_str(text).map_err(|_| "it is not a JSON object".to_owned())?;
        let pair = |(name, value): (String, Value)| match value {
            Value::String(value) => Ok((name, value)),
            _ => Err(format!("the value of `{name}` is not a text")),
        };
        members.into_iter().map(pair).collect::<Result<_, _>>()?
    } else {
        parse_env_text(text).map_err(|line| format!("line {line} is not `KEY=VALUE`"))?
    };
    let value = |(index, (name, value)): (usize, (String, String))| {
        if !is_valid_secret_name(&name) {
            return Err(format!("name {} cannot be the name of a secret", index + 1));
        }
        Ok((name, SecretText::new(value)))
    };
    let values: BTreeMap<_, _> =
        pairs.into_iter().enumerate().map(value).collect::<Result<_, _>>()?;
    if values.is_empty() { Err("there is nothing in it".to_owned()) } else { Ok(values) }
}

fn key_word(store: &SecretStore) -> Result<&'static str, Failure> {
    Ok(match store.key_location().map_err(|error| failed(&error))? {
        KeyLocation::Keychain => "keychain",
        KeyLocation::File | KeyLocation::NewFile => "file",
    })
}

fn key_place(store: &SecretStore) -> Result<&'static str, Failure> {
    Ok(match store.key_location().map_err(|error| failed(&error))? {
        KeyLocation::Keychain => "your keychain",
        KeyLocation::File | KeyLocation::NewFile => {
            "a private file, because no keychain can be reached"
        }
    })
}
