//! `switchboard add`: builds an entry from flags and words, and writes it to a configuration file.
//!
//! Used by `commands::run`. It does not connect to the server; writing is in `write_entry`.

use std::collections::BTreeMap;

use serde_json::Value;
use switchboard_config::{Entry, OAuth, Remote, Stdio, Transport};

use super::write_entry;
use crate::args::{Add, Kind, looks_like_url};
use crate::printer::Printer;
use crate::report::Failure;
use crate::surroundings::Caller;

pub(super) fn run(add: &Add, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let entry = entry(add)?;
    write_entry::add(add.scope.scope(), &add.name, &entry, caller, printer)
}

fn entry(add: &Add) -> Result<Value, Failure> {
    let [first, rest @ ..] = &*add.server else {
        return Err(Failure::usage("no command and no URL", "give one of them"));
    };
    let kind = add.transport.unwrap_or_else(|| implied(first));
    refuse_misfits(add, kind)?;
    let transport = match kind {
        Kind::Stdio => Transport::Stdio(stdio(add, first, rest)?),
        Kind::Http => Transport::Http(remote(add, first, rest)?),
        Kind::Sse => Transport::Sse(remote(add, first, rest)?),
        Kind::Ws => Transport::Ws(remote(add, first, rest)?),
    };
    Ok(Entry::new(transport).to_json())
}

fn implied(first: &str) -> Kind {
    let scheme = first.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        None => Kind::Stdio,
        Some("ws" | "wss") => Kind::Ws,
        Some(_) => Kind::Http,
    }
}

/// Refuses flags that would have no effect for this kind of server.
fn refuse_misfits(add: &Add, kind: Kind) -> Result<(), Failure> {
    let is_remote = kind != Kind::Stdio;
    if is_remote && !add.env.is_empty() {
        let hint = "a URL gets headers: `-H 'Key: Value'`";
        return Err(Failure::usage("`--env` is for commands", hint));
    }
    if !is_remote && !add.header.is_empty() {
        let hint = "a command gets variables: `-e KEY=VALUE`";
        return Err(Failure::usage("`--header` is for URLs", hint));
    }
    let signing_in = [
        ("--client-id", add.client_id.is_some()),
        ("--client-secret", add.client_secret.is_some()),
        ("--callback-port", add.callback_port.is_some()),
        ("--xaa", add.xaa),
    ];
    match signing_in.iter().find(|(_, given)| *given) {
        Some((flag, _)) if !matches!(kind, Kind::Http | Kind::Sse) => {
            let message =
                format!("`{flag}` is for http and sse servers; this one is {}", kind.word());
            Err(Failure::usage(message, "leave it out"))
        }
        _ => Ok(()),
    }
}

fn stdio(add: &Add, command: &str, args: &[String]) -> Result<Stdio, Failure> {
    if command.starts_with('-') {
        let hint = "flags stand before the command; `switchboard add --help` shows them";
        return Err(Failure::usage(format!("there is no flag `{command}`"), hint));
    }
    let env = add.env.iter().map(|text| variable(text));
    Ok(Stdio {
        command: command.to_owned(),
        args: args.to_vec(),
        env: env.collect::<Result<_, _>>()?,
        ..Stdio::default()
    })
}

/// `KEY=VALUE` as it is; `KEY` becomes the reference `${KEY}`, so that the value stays in the environment.
fn variable(text: &str) -> Result<(String, String), Failure> {
    if let Some((name, value)) = text.split_once('=') {
        return Ok((name.to_owned(), value.to_owned()));
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if text.is_empty()
        || text.starts_with(|c: char| c.is_ascii_digit())
        || !text.chars().all(is_name)
    {
        // The text may be a value without its name, so it is not shown.
        return Err(Failure::usage(
            "a value of `--env` is not the name of a variable",
            "write `-e KEY=VALUE`, or `-e KEY` to pass yours on",
        ));
    }
    Ok((text.to_owned(), format!("${{{text}}}")))
}

fn remote(add: &Add, url: &str, rest: &[String]) -> Result<Remote, Failure> {
    if !looks_like_url(url) {
        let message = format!("`{url}` is not a URL");
        return Err(Failure::usage(message, "give one such as https://example.com/mcp"));
    }
    if let Some(word) = rest.first() {
        let message = format!("`{word}` cannot stand after a URL");
        return Err(Failure::usage(message, "`switchboard add --help` shows the flags there are"));
    }
    Ok(Remote {
        url: url.to_owned(),
        headers: headers(&add.header)?,
        headers_helper: None,
        oauth: oauth(add),
        tls: None,
    })
}

fn headers(given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let header = |(index, text): (usize, &String)| {
        let pair = text.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
        match pair.filter(|(name, _)| !name.is_empty()) {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            // The text may be a secret without its name, so it is not shown.
            None => Err(Failure::usage(
                format!("header {} cannot be read", index + 1),
                "write it as `Key: Value`",
            )),
        }
    };
    given.iter().enumerate().map(header).collect()
}

fn oauth(add: &Add) -> Option<OAuth> {
    let oauth = OAuth {
        client_id: add.client_id.clone(),
        client_secret: add.client_secret.clone(),
        callback_port: add.callback_port,
        xaa: add.xaa.then_some(true),
        ..OAuth::default()
    };
    (oauth != OAuth::default()).then_some(oauth)
}
