//! Parses the command line of `probe` into a connection target and an entry for the policy.
//!
//! Used by `commands::probe`. It does not connect, and does not check the policy (`commands::admission` does).

use std::{env, ffi::OsString, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard_config::{self as config, BUILTIN_SERVER, Entry, baseline_environment};
use switchboard_process::ProcessCommand;
use switchboard_wire::{client::ServerTarget, http::NoCredentials};
use url::Url;

use super::stdio;
use crate::{
    args::{Probe, Transport, looks_like_url},
    report::Failure,
    surroundings,
};

/// The name of a typed server in policy rules.
const TYPED_SERVER: &str = "probe";

/// A target with its name.
pub(crate) struct NamedTarget {
    pub(crate) name: String,
    /// The name of the server in policy rules.
    pub(crate) policy_name: &'static str,
    /// The equivalent entry, for the policy check.
    pub(crate) entry: Entry,
    pub(crate) transport: &'static str,
    pub(crate) target: ServerTarget,
}

/// Resolves the arguments of `probe`.
pub(crate) fn resolve(probe: &Probe) -> Result<NamedTarget, Failure> {
    match probe.server.as_slice() {
        [] => builtin(),
        [only] if looks_like_url(only) => remote(probe, only),
        [url, ..] if looks_like_url(url) => Err(Failure::usage(
            "a URL takes no arguments",
            "`switchboard probe --help` shows all flags",
        )),
        _ if probe.transport.is_some() || !probe.header.is_empty() => Err(Failure::usage(
            "`--transport` and `--header` are for URLs",
            "give a URL, or leave them out",
        )),
        [command, args @ ..] => local(probe, command, args),
    }
}

/// The built-in server: this program with the argument `builtin`.
fn builtin() -> Result<NamedTarget, Failure> {
    let program = env::current_exe()
        .map_err(|error| Failure::new("cannot find this program on disk", error))?;
    let mut command = ProcessCommand::new(program);
    command.args = vec![OsString::from("builtin")];
    command.env = baseline_environment(surroundings::variables().into_iter());
    Ok(NamedTarget {
        name: "the built-in server".into(),
        policy_name: BUILTIN_SERVER,
        entry: Entry::new(config::Transport::Sdk),
        transport: "stdio",
        target: stdio(command)?,
    })
}

fn local(probe: &Probe, program: &str, args: &[String]) -> Result<NamedTarget, Failure> {
    let mut command = ProcessCommand::new(program);
    command.args = args.iter().map(OsString::from).collect();
    command.env = baseline_environment(surroundings::variables().into_iter());
    for variable in &probe.env {
        command.env.push(parse_variable(variable)?);
    }
    let typed = config::StdioTransport {
        command: program.to_owned(),
        args: args.to_vec(),
        ..Default::default()
    };
    Ok(NamedTarget {
        name: format!("`{program}`"),
        policy_name: TYPED_SERVER,
        entry: Entry::new(config::Transport::Stdio(typed)),
        transport: "stdio",
        target: stdio(command)?,
    })
}

fn parse_variable(text: &str) -> Result<(OsString, OsString), Failure> {
    if let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) {
        return Ok((name.into(), value.into()));
    }
    let mut ours = surroundings::variables().into_iter();
    match ours.find(|(name, _)| name == text) {
        Some(variable) => Ok(variable),
        None => Err(Failure::usage(
            format!("variable `{text}` is not set here"),
            format!("set it, or write `-e {text}=VALUE`"),
        )),
    }
}

fn remote(probe: &Probe, text: &str) -> Result<NamedTarget, Failure> {
    if !probe.env.is_empty() {
        return Err(Failure::usage("`--env` is for commands", "give a command, or leave it out"));
    }
    let url = Url::parse(text)
        .map_err(|error| Failure::usage(format!("`{text}` is not a URL: {error}"), "check it"))?;
    let transport = match (probe.transport, url.scheme()) {
        (None | Some(Transport::Ws), "ws" | "wss") => Transport::Ws,
        (None | Some(Transport::Http), "http" | "https") => Transport::Http,
        (Some(Transport::Sse), "http" | "https") => Transport::Sse,
        (_, scheme) => {
            return Err(Failure::usage(
                format!("a `{scheme}` URL does not work with this transport"),
                "use http or https, or ws or wss with `-t ws`",
            ));
        }
    };
    let headers = headers(&probe.header)?;
    let name = format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default());
    let typed = config::RemoteTransport { url: text.to_owned(), ..Default::default() };
    let entry = Entry::new(match transport {
        Transport::Http => config::Transport::Http(typed),
        Transport::Sse => config::Transport::Sse(typed),
        Transport::Ws => config::Transport::Ws(typed),
    });
    let target = super::remote(transport, url, headers, Arc::new(NoCredentials))?;
    let (policy_name, transport) = (TYPED_SERVER, transport.name());
    Ok(NamedTarget { name, policy_name, entry, transport, target })
}

fn headers(given: &[String]) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for (index, text) in given.iter().enumerate() {
        let parsed = text.split_once(':').and_then(|(name, value)| {
            let name = HeaderName::try_from(name.trim()).ok()?;
            Some((name, HeaderValue::try_from(value.trim()).ok()?))
        });
        let (name, value) = parsed.ok_or_else(|| {
            // The text may be a secret without its name, so it is not shown.
            let place = index + 1;
            Failure::usage(format!("header {place} cannot be read"), "write it as `Key: Value`")
        })?;
        headers.append(name, value);
    }
    Ok(headers)
}

// === impl Transport ===

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Sse => "sse",
            Self::Ws => "ws",
        }
    }
}
