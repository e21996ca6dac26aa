//! `switchboard add`: builds an entry from flags and words, and writes it to a configuration file.
//!
//! Used by `commands::run`. It does not connect to the server; writing is in `write_entry`.

use std::collections::BTreeMap;

use clap::ValueEnum as _;
use serde_json::Value;
use switchboard_config::{Entry, OAuth, RemoteTransport, StdioTransport, Transport};

use super::add_secret::move_secrets;
use super::write_entry;
use crate::args::{Add, Kind, ScopeArg, looks_like_url};
use crate::printer::Printer;
use crate::report::Failure;
use crate::show;
use crate::surroundings::Caller;

pub(super) fn run(add: &Add, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let entry = entry(add, caller)?;
    let moves = move_secrets(add, &entry, caller, printer)?;
    let entry = moves.entry_to_write(&add.name, &entry);
    let written = write_entry::add(add.scope.scope(), &add.name, &entry, caller, printer);
    if written.is_err() {
        moves.take_back(|_| false)?;
    }
    written
}

fn entry(add: &Add, caller: &Caller) -> Result<Value, Failure> {
    let [first, rest @ ..] = &*add.server else {
        return Err(Failure::usage("no command and no URL", "give one of them"));
    };
    if !add.is_literal {
        refuse_late_scope(add)?;
        refuse_bare_address(add, caller)?;
    }
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

/// Refuses `-s SCOPE` at the end of a command: it would go to the server, and the entry to another scope than meant.
fn refuse_late_scope(add: &Add) -> Result<(), Failure> {
    let (words, scope) = match &*add.server {
        [words @ .., flag, scope] if matches!(&**flag, "-s" | "--scope") => (words, &**scope),
        [words @ .., last] => match last.strip_prefix("--scope=") {
            Some(scope) => (words, scope),
            None => return Ok(()),
        },
        [] => return Ok(()),
    };
    let Ok(scope) = ScopeArg::from_str(scope, false) else { return Ok(()) };
    let scope = scope.scope();
    let command = words.iter().map(|word| show::word(word)).collect::<Vec<_>>().join(" ");
    let name = show::word(&add.name);
    let hint = format!(
        "did you mean `switchboard add -s {scope} {name} {command}`? To pass `-s` to the server, write `--` before the command"
    );
    let message =
        format!("`-s {scope}` comes after the command, so it would be passed to the server");
    Err(Failure::usage(message, hint))
}

/// Refuses an address without a scheme, unless a program has that name.
fn refuse_bare_address(add: &Add, caller: &Caller) -> Result<(), Failure> {
    let [word] = &*add.server else { return Ok(()) };
    let is_meant = add.transport != Some(Kind::Stdio);
    let Some(url) = url_of_address(word).filter(|_| is_meant) else { return Ok(()) };
    if caller.surroundings.cwd.join(word).exists() {
        return Ok(());
    }
    let hint = format!("did you mean `{url}`? If it is a command, write `--` before it");
    Err(Failure::usage(format!("`{}` is an address without a scheme", show::word(word)), hint))
}

/// The URL of an address without a scheme: `example.com/mcp`, `localhost:8000`.
fn url_of_address(word: &str) -> Option<String> {
    let (authority, path) =
        word.split_once('/').map_or((word, None), |(at, path)| (at, Some(path)));
    let (host, port) = authority.split_once(':').map_or((authority, None), |(h, p)| (h, Some(p)));
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
    if !is_port || (path.is_none() && port.is_none()) {
        return None;
    }
    let is_here = host == "localhost" || host.parse::<std::net::Ipv4Addr>().is_ok();
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let is_domain = |top: &str| top.len() > 1 && top.chars().all(|c| c.is_ascii_alphabetic());
    let is_name = host.rsplit_once('.').is_some_and(|(_, top)| is_domain(top))
        && host.split('.').all(is_label);
    match (is_here, is_name) {
        (true, _) => Some(format!("http://{word}")),
        (false, true) => Some(format!("https://{word}")),
        (false, false) => None,
    }
}

/// Refuses flags that would have no effect for this kind of server.
fn refuse_misfits(add: &Add, kind: Kind) -> Result<(), Failure> {
    let is_remote = kind != Kind::Stdio;
    if is_remote && !add.env.is_empty() {
        let hint = "for a URL, use `-H 'Key: Value'`";
        return Err(Failure::usage("`--env` is for commands", hint));
    }
    if !is_remote && !add.header.is_empty() {
        let hint = "for a command, use `-e KEY=VALUE`";
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

fn stdio(add: &Add, command: &str, args: &[String]) -> Result<StdioTransport, Failure> {
    if command.starts_with('-') {
        let hint = "flags stand before the command; `switchboard add --help` shows them";
        return Err(Failure::usage(format!("there is no flag `{command}`"), hint));
    }
    let env = add.env.iter().map(|text| variable(text));
    Ok(StdioTransport {
        command: command.to_owned(),
        args: args.to_vec(),
        env: env.collect::<Result<_, _>>()?,
        ..StdioTransport::default()
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
            "write `-e KEY=VALUE`, or `-e KEY` to pass your own variable on",
        ));
    }
    Ok((text.to_owned(), format!("${{{text}}}")))
}

fn remote(add: &Add, url: &str, rest: &[String]) -> Result<RemoteTransport, Failure> {
    if !looks_like_url(url) {
        let hint = match url_of_address(url) {
            Some(url) => format!("did you mean `{url}`?"),
            None => "give one such as https://example.com/mcp".to_owned(),
        };
        return Err(Failure::usage(format!("`{url}` is not a URL"), hint));
    }
    if let Some(word) = rest.first() {
        let message = format!("`{word}` is not allowed after a URL");
        return Err(Failure::usage(message, "`switchboard add --help` shows all flags"));
    }
    Ok(RemoteTransport {
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

#[cfg(test)]
mod tests {
    use super::url_of_address;

    #[test]
    fn an_address_without_a_scheme_is_told_from_a_program() {
        let check = |word, url: Option<&str>| assert_eq!(url_of_address(word).as_deref(), url);
        check("example.com/mcp", Some("https://example.com/mcp"));
        check("mcp.example.com:8443", Some("https://mcp.example.com:8443"));
        check("localhost:8000/mcp", Some("http://localhost:8000/mcp"));
        check("127.0.0.1:8000", Some("http://127.0.0.1:8000"));
        check("server.py", None);
        check("localhost", None);
        check("./server.py/x", None);
        check("/usr/bin/server", None);
        check("bin/server", None);
        check("@org/server", None);
        check("image:latest", None);
    }
}
