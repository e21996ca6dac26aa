//! From what was typed to what to connect to.

use std::{env, ffi::OsString};

use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard_wire::{
    client::{HttpTarget, Stdio, Target},
    http::{EndpointOptions, Pool, PoolOptions},
    process::{Command, Guard, StderrOptions},
    ws::WsOptions,
};
use url::Url;

use crate::{
    args::{Probe, Transport},
    environment,
    report::Failure,
};

/// What to connect to, and what to call it.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) transport: &'static str,
    pub(crate) target: Target,
}

/// Reads the command line of `probe`.
pub(crate) fn resolve(probe: &Probe) -> Result<Named, Failure> {
    match probe.server.as_slice() {
        [] => builtin(),
        [only] if looks_like_url(only) => remote(probe, only),
        _ if probe.transport.is_some() || !probe.header.is_empty() => Err(Failure::usage(
            "`--transport` and `--header` are for URLs",
            "give a URL, or leave them out",
        )),
        [command, args @ ..] => local(probe, command, args),
    }
}

fn looks_like_url(text: &str) -> bool {
    text.contains("://")
}

/// This program again, as a server of its own.
fn builtin() -> Result<Named, Failure> {
    let program = env::current_exe()
        .map_err(|error| Failure::new("cannot find this program on disk", error))?;
    let mut command = Command::new(program);
    command.args = vec![OsString::from("builtin")];
    command.env = environment::baseline(env::vars_os());
    Ok(Named {
        name: "the built-in server".into(),
        transport: "stdio",
        target: stdio(command)?,
    })
}

fn local(probe: &Probe, program: &str, args: &[String]) -> Result<Named, Failure> {
    let mut command = Command::new(program);
    command.args = args.iter().map(OsString::from).collect();
    command.env = environment::baseline(env::vars_os());
    for variable in &probe.env {
        command.env.push(parse_variable(variable)?);
    }
    Ok(Named {
        name: format!("`{program}`"),
        transport: "stdio",
        target: stdio(command)?,
    })
}

fn stdio(command: Command) -> Result<Target, Failure> {
    let guard = Guard::this_program()
        .map_err(|error| Failure::new("cannot open this program to guard the server", error))?;
    Ok(Target::Stdio(Stdio {
        command,
        guard,
        stderr: StderrOptions::default(),
    }))
}

fn parse_variable(text: &str) -> Result<(OsString, OsString), Failure> {
    if let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) {
        return Ok((name.into(), value.into()));
    }
    match env::var_os(text) {
        Some(value) => Ok((text.into(), value)),
        None => Err(Failure::usage(
            format!("variable `{text}` is not set here"),
            format!("set it, or write `-e {text}=VALUE`"),
        )),
    }
}

fn remote(probe: &Probe, text: &str) -> Result<Named, Failure> {
    if !probe.env.is_empty() {
        return Err(Failure::usage(
            "`--env` is for commands",
            "give a command, or leave it out",
        ));
    }
    let url = Url::parse(text)
        .map_err(|error| Failure::usage(format!("`{text}` is not a URL: {error}"), "check it"))?;
    let transport = match (probe.transport, url.scheme()) {
        (None | Some(Transport::Ws), "ws" | "wss") => Transport::Ws,
        (None | Some(Transport::Http), "http" | "https") => Transport::Http,
        (Some(Transport::Sse), "http" | "https") => Transport::Sse,
        (_, scheme) => {
            return Err(Failure::usage(
                format!("a server cannot be reached this way by a `{scheme}` URL"),
                "use http or https, or ws or wss with `-t ws`",
            ));
        }
    };
    let headers = headers(&probe.header)?;
    let pool = Pool::new(&PoolOptions::default())
        .map_err(|error| Failure::new("cannot set up HTTP", error))?;
    let name = format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default());
    Ok(Named {
        name,
        transport: transport.name(),
        target: transport.target(url, pool, headers),
    })
}

fn headers(given: &[String]) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for (index, text) in given.iter().enumerate() {
        let parsed = text.split_once(':').and_then(|(name, value)| {
            let name = HeaderName::try_from(name.trim()).ok()?;
            Some((name, HeaderValue::try_from(value.trim()).ok()?))
        });
        let (name, value) = parsed.ok_or_else(|| {
            // It may be a secret that was meant to be a value, so it is not shown.
            let place = index + 1;
            Failure::usage(
                format!("header {place} cannot be read"),
                "write it as `Key: Value`",
            )
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

    fn target(self, url: Url, pool: Pool, headers: HeaderMap) -> Target {
        if self == Self::Ws {
            let options = Box::new(WsOptions {
                headers,
                ..WsOptions::default()
            });
            return Target::WebSocket { url, pool, options };
        }
        let options = EndpointOptions {
            headers,
            ..EndpointOptions::default()
        };
        let target = HttpTarget { url, pool, options };
        if self == Self::Sse {
            Target::Sse(target)
        } else {
            Target::Http(target)
        }
    }
}
