//! `switchboard probe`: connects to a server that is not configured, lists its items, and calls a tool if asked.
//!
//! Used by `commands::run`. The target is made by `target`. It does not use the hub or the engine.

use std::time::{Duration, Instant};

use serde::Serialize;
use switchboard_wire::{
    Error,
    client::{CallRequest, Client, ClientOptions, ExchangeEvent, ListKind, VersionNegotiation},
    json::Raw,
    sanitize,
};

use super::admission;
use crate::version::VERSION;
use crate::{
    args::Probe,
    hint::{Reach, Subject},
    printer::{BOLD, DIM, Printer},
    report::Failure,
    show::shorten,
    surroundings::Caller,
    target::{self, NamedTarget},
    wait::{self, millis},
};

/// How many lines of a server's instructions are shown.
const INSTRUCTION_LINES: usize = 6;
/// The longest line of instructions.
const MAX_LINE_CHARS: usize = 100;

/// The result of a probe, and the output of `--json`.
#[derive(Debug, Serialize)]
struct ProbeReport {
    server: ProbedServer,
    tools: ProbedList,
    prompts: ProbedList,
    resources: ProbedList,
    #[serde(rename = "resourceTemplates")]
    templates: ProbedList,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<ProbedCall>,
}

#[derive(Debug, Serialize)]
struct ProbedServer {
    name: Option<String>,
    version: Option<String>,
    protocol: &'static str,
    era: String,
    transport: &'static str,
    #[serde(rename = "connectMillis")]
    connect_millis: u64,
    capabilities: Raw,
    instructions: Option<String>,
}

/// A list of items, or the error of listing them.
#[derive(Debug, Serialize, Default)]
struct ProbedList {
    items: Vec<Raw>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ProbedCall {
    tool: String,
    millis: u64,
    result: Raw,
}

pub(crate) async fn run(probe: &Probe, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let arguments = Raw::parse(probe.arguments.clone()).map_err(|error| {
        Failure::usage(format!("`--arguments` is not JSON: {error}"), "quote it for your shell")
    })?;
    let named = target::resolve(probe)?;
    admission::admit(&caller.workspace.desired(), named.policy_name, named.entry.clone())?;
    tokio::select! {
        found = explore(probe, named, &arguments, printer) => found,
        _ = tokio::signal::ctrl_c() => Err(Failure::interrupted()),
    }
}

async fn explore(
    probe: &Probe,
    named: NamedTarget,
    arguments: &Raw,
    printer: &Printer,
) -> Result<(), Failure> {
    let mut options = ClientOptions::new("switchboard", VERSION);
    options.connect_timeout = probe.timeout;
    options.listen = false;
    options.greeting = probe.protocol.map_or(VersionNegotiation::Probe, VersionNegotiation::Only);
    let (name, transport) = (named.name, named.transport);
    let started = Instant::now();
    let connecting = Box::pin(Client::connect(named.target, options));
    let connected =
        wait::wait_with_text(printer, &format!("connecting to {name}"), connecting).await;
    let subject = Subject::Typed(Reach::of_transport(Some(transport)));
    let (client, _inbox) = connected
        .map_err(|error| Failure::server(format!("cannot connect to {name}"), &error, &subject))?;
    let server = describe(&client, transport, started.elapsed());
    let found = examine(probe, &client, server, arguments, printer).await;
    client.close().await;
    let found = found?;
    if printer.is_json() {
        printer.json(&found)?;
    } else {
        found.print(printer);
    }
    match found.call.filter(ProbedCall::is_error) {
        Some(call) => Err(Failure::tool(&call.tool)),
        None => Ok(()),
    }
}

fn describe(client: &Client, transport: &'static str, took: Duration) -> ProbedServer {
    let facts = client.server_facts();
    ProbedServer {
        name: facts.name(),
        version: facts.server_version(),
        protocol: facts.version.as_str(),
        era: facts.era().to_string(),
        transport,
        connect_millis: millis(took),
        capabilities: facts.capabilities.clone(),
        instructions: facts.instructions.clone(),
    }
}

async fn examine(
    probe: &Probe,
    client: &Client,
    server: ProbedServer,
    arguments: &Raw,
    printer: &Printer,
) -> Result<ProbeReport, Failure> {
    let listing = async {
        tokio::join!(
            list(client, ListKind::Tools),
            list(client, ListKind::Prompts),
            list(client, ListKind::Resources),
            list(client, ListKind::Templates)
        )
    };
    let (tools, prompts, resources, templates) =
        wait::wait_with_text(printer, "listing", listing).await;
    let call = match &probe.call {
        None => None,
        Some(tool) => Some(call(client, tool, arguments, probe.timeout, printer).await?),
    };
    Ok(ProbeReport { server, tools, prompts, resources, templates, call })
}

/// Fetches one list; a failure does not affect the other lists.
async fn list(client: &Client, list: ListKind) -> ProbedList {
    if !client.server_facts().has_capability(&[list.capability()]) {
        return ProbedList::default();
    }
    match client.list(list).await {
        Ok(listing) => {
            let excluded = listing.excluded.iter();
            let mut problems: Vec<String> = excluded
                .map(|item| {
                    format!(
                        "`{}` is left out: {}",
                        sanitize::sanitize_line(&item.name),
                        item.reason
                    )
                })
                .collect();
            problems.extend(listing.cut_short.map(|reason| reason.to_string()));
            ProbedList { items: listing.items, problems }
        }
        Err(error) => ProbedList { items: Vec::new(), problems: vec![error.to_string()] },
    }
}

async fn call(
    client: &Client,
    tool: &str,
    arguments: &Raw,
    timeout: Duration,
    printer: &Printer,
) -> Result<ProbedCall, Failure> {
    let started = Instant::now();
    let mut exchange =
        client.call(CallRequest::call_tool(tool, arguments).with_progress().with_timeout(timeout));
    let mut waiting = None;
    let result = loop {
        let next = exchange.next().await;
        match next {
            Ok(ExchangeEvent::Done(result)) => break Ok(result),
            Ok(ExchangeEvent::Progress(params)) => {
                drop(waiting.take());
                waiting = printer.waiting(&wait::progress_line(tool, &params));
            }
            Ok(ExchangeEvent::NeedsInput(questions)) => {
                let refusals =
                    questions.iter().map(|question| question.refuse("`probe` does not ask people"));
                exchange.answer(refusals.collect());
            }
            Ok(_) => {}
            Err(error) => break Err(error),
        }
    };
    drop(waiting);
    // The server has started, so the hint must not blame a slow start.
    let subject = Subject::Typed(Reach::Url);
    let failed = |error: Error| Failure::server(format!("cannot call `{tool}`"), &error, &subject);
    let result = result.map_err(failed)?;
    Ok(ProbedCall { tool: tool.to_owned(), millis: millis(started.elapsed()), result })
}

// === impl ProbeReport ===

impl ProbeReport {
    fn print(&self, printer: &Printer) {
        self.server.print(printer);
        for (title, key, listed) in [
            ("tools", "name", &self.tools),
            ("prompts", "name", &self.prompts),
            ("resources", "uri", &self.resources),
            ("resource templates", "uriTemplate", &self.templates),
        ] {
            listed.print(title, key, printer);
        }
        if let Some(call) = &self.call {
            call.print(printer);
        }
    }
}

impl ProbedServer {
    fn print(&self, printer: &Printer) {
        let name = self.name.as_deref().unwrap_or("a server without a name");
        let version = self.version.as_deref().unwrap_or_default();
        printer.line(format!(
            "{BOLD}{}{BOLD:#} {} speaks {} ({}) over {}, connected in {} ms",
            sanitize::sanitize_line(name),
            sanitize::sanitize_line(version),
            self.protocol,
            self.era,
            self.transport,
            self.connect_millis
        ));
        if let Some(text) = &self.instructions {
            let text = sanitize::sanitize_block(text);
            let lines: Vec<_> = text.lines().collect();
            for line in lines.iter().take(INSTRUCTION_LINES) {
                printer.line(format!("{DIM}  {}{DIM:#}", shorten(line, MAX_LINE_CHARS)));
            }
            if let Some(more @ 1..) = lines.len().checked_sub(INSTRUCTION_LINES) {
                printer.line(format!("{DIM}  … {more} more lines{DIM:#}"));
            }
        }
    }
}

impl ProbedList {
    fn print(&self, title: &str, key: &str, printer: &Printer) {
        if self.items.is_empty() && self.problems.is_empty() {
            return;
        }
        printer.line(format!("\n{BOLD}{title}{BOLD:#} ({})", self.items.len()));
        let names: Vec<String> = self.items.iter().map(|item| named(item, key)).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(40);
        for (item, name) in self.items.iter().zip(&names) {
            let described = text(item, "description");
            let first = described.lines().next().unwrap_or_default();
            printer.line(
                format!("  {name:width$}  {DIM}{}{DIM:#}", shorten(first, MAX_LINE_CHARS))
                    .trim_end(),
            );
        }
        for problem in &self.problems {
            printer.line(format!("  ! {}", sanitize::sanitize_line(problem)));
        }
    }
}

fn named(item: &Raw, key: &str) -> String {
    match text(item, key) {
        name if name.is_empty() => format!("(no {key})"),
        name => sanitize::sanitize_line(&name).into_owned(),
    }
}

fn text(item: &Raw, key: &str) -> String {
    let value = item.get(key).ok().flatten().and_then(|raw| raw.to_text()).unwrap_or_default();
    sanitize::sanitize_block(&value).into_owned()
}

// === impl ProbedCall ===

impl ProbedCall {
    fn is_error(&self) -> bool {
        matches!(self.result.get("isError"), Ok(Some(flag)) if flag.as_str() == "true")
    }

    fn print(&self, printer: &Printer) {
        let tool = sanitize::sanitize_line(&self.tool);
        printer.line(format!("\n{BOLD}{tool}{BOLD:#} answered in {} ms", self.millis));
        let content = self.result.get("content").ok().flatten();
        let Some(content) = content else {
            return printer.line(format!("  {}", sanitize::sanitize_line(self.result.as_str())));
        };
        for block in content.elements() {
            let shown = match text(&block, "type").as_str() {
                "text" => text(&block, "text"),
                other => format!("({other}, {} bytes)", block.as_str().len()),
            };
            shown.lines().for_each(|line| printer.line(format!("  {line}")));
        }
    }
}
