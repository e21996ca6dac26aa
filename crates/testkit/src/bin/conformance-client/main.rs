//! The client that the official conformance suite tests: `conformance-client … URL`.
//!
//! Used by `cargo xtask conformance`, where the suite starts it. It performs a scenario through the library's public
//! interface, and ends with status 0 only if all steps worked. It does not know the protocol.

#![allow(clippy::disallowed_methods, reason = "a program for tests")]
#![allow(clippy::print_stderr, reason = "telling why it failed is its job")]

mod signing_in;

use std::process::ExitCode;

use switchboard_wire::{
    Error, Version,
    client::{
        CallRequest, Client, ClientOptions, Exchange, ExchangeEvent, HttpTarget, InboxEvent,
        InputRequest, InputResponse, ListKind, ServerInbox, ServerTarget, VersionNegotiation,
        elicitation, skills,
    },
    http::{EndpointOptions, HttpPool, HttpPoolOptions},
    json::Raw,
    meta::method,
};

/// The client's capabilities; the library adds roots.
const CAPABILITIES: &str = r#"{"elicitation":{"form":{}},"sampling":{},
    "extensions":{"io.modelcontextprotocol/skills":{}}}"#;

use signing_in::SigningIn;

type Failure = Box<dyn std::error::Error>;
type Done = Result<(), Failure>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            let mut cause = failure.source();
            while let Some(error) = cause {
                eprintln!("  caused by: {error}");
                cause = error.source();
            }
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Done {
    let url = std::env::args().next_back().unwrap_or_default();
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO")?;
    let version: Version = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION")?.parse()?;
    let options = options(greeting(&scenario, version))?;
    let signing_in = SigningIn::new(&url)?;
    let (client, inbox) = Client::connect(target(&url, &signing_in)?, options).await?;
    let answering = tokio::spawn(answer_all(inbox));
    let done = if client.server_facts().era() == version.era() {
        play(&client, &scenario).await
    } else {
        Err(format!("{version} was asked for, not {}", client.server_facts().version).into())
    };
    client.close().await;
    answering.await?;
    done
}

fn target(url: &str, signing_in: &SigningIn) -> Result<ServerTarget, Failure> {
    let credentials = signing_in.credentials.clone();
    Ok(ServerTarget::Http(HttpTarget {
        url: url.parse()?,
        pool: HttpPool::new(&HttpPoolOptions::default())?,
        options: EndpointOptions { credentials, ..EndpointOptions::default() },
    }))
}

/// The era is probed, as a host does. The skills scenarios answer the probe as a modern server at
/// every version, so there the version is fixed.
fn greeting(scenario: &str, version: Version) -> VersionNegotiation {
    if scenario.starts_with("sep-2640-") {
        return VersionNegotiation::Only(version);
    }
    VersionNegotiation::Probe
}

fn options(greeting: VersionNegotiation) -> Result<ClientOptions, Failure> {
    let mut options = ClientOptions::new("switchboard-conformance", env!("CARGO_PKG_VERSION"));
    options.capabilities = Raw::parse(CAPABILITIES)?;
    options.roots = Some(Vec::new());
    options.greeting = greeting;
    Ok(options)
}

/// Performs the steps of a scenario, once connected.
async fn play(client: &Client, scenario: &str) -> Done {
    match scenario {
        "initialize" | "request-metadata" | "json-schema-ref-no-deref" => {
            client.list(ListKind::Tools).await?;
            Ok(())
        }
        "tools_call" => call_listed(client, "add_numbers", r#"{"a":5,"b":3}"#).await,
        "elicitation-sep1034-client-defaults" => {
            call_listed(client, "test_client_elicitation_defaults", "{}").await
        }
        "sse-retry" => call_listed(client, "test_reconnection", "{}").await,
        "http-standard-headers" => use_everything(client).await,
        "http-invalid-tool-headers" => call_every_tool(client, r#"{"region":"eu"}"#).await,
        "http-custom-headers" => call_what_the_context_says(client).await,
        "json-schema-2020-12-preservation" => echo_schema(client).await,
        "sep-2322-client-request-state" => interleave_rounds(client).await,
        "sep-2640-client-no-prefetch" => {
            skills::list_skills(client).await?;
            Ok(())
        }
        "sep-2640-client-verify-digest"
        | "sep-2640-client-verify-size"
        | "sep-2640-client-verify-frontmatter" => load_skills(client).await,
        signing_in if signing_in.starts_with("auth/") => {
            // Twice: the second call notices changes since the first.
            call_listed(client, "test-tool", "{}").await?;
            call_listed(client, "test-tool", "{}").await
        }
        other => Err(format!("nobody has said what to do in `{other}`").into()),
    }
}

/// Lists the tools, as a host does before a call, and calls this one.
async fn call_listed(client: &Client, tool: &str, arguments: &str) -> Done {
    let tools = names(client, ListKind::Tools, "name").await?;
    if !tools.iter().any(|name| name == tool) {
        return Err(format!("there is no `{tool}` among {tools:?}").into());
    }
    finish(client, CallRequest::call_tool(tool, &Raw::parse(arguments.to_owned())?)).await
}

async fn call_every_tool(client: &Client, arguments: &str) -> Done {
    let arguments = Raw::parse(arguments.to_owned())?;
    for tool in names(client, ListKind::Tools, "name").await? {
        finish(client, CallRequest::call_tool(&tool, &arguments)).await?;
    }
    Ok(())
}

async fn use_everything(client: &Client) -> Done {
    call_every_tool(client, "{}").await?;
    for uri in names(client, ListKind::Resources, "uri").await? {
        finish(client, CallRequest::read_resource(&uri)).await?;
    }
    for prompt in names(client, ListKind::Prompts, "name").await? {
        finish(client, CallRequest::get_prompt(&prompt, &Raw::empty_object())).await?;
    }
    Ok(())
}

/// Makes the tool calls of the context. The tools are not listed first: the library must find out
/// which arguments travel in headers.
async fn call_what_the_context_says(client: &Client) -> Done {
    let context = Raw::parse(std::env::var("MCP_CONFORMANCE_CONTEXT")?)?;
    let calls = member(&context, "toolCalls")?;
    for call in calls.elements() {
        let name = text(&call, "name")?;
        finish(client, CallRequest::call_tool(&name, &member(&call, "arguments")?)).await?;
    }
    Ok(())
}

/// Sends a tool's schema back unchanged.
async fn echo_schema(client: &Client) -> Done {
    let tools = client.list(ListKind::Tools).await?.items;
    let tool = tools
        .iter()
        .find(|tool| text(tool, "name").is_ok_and(|name| name == "json_schema_2020_12_tool"))
        .ok_or("the tool with the schema is missing")?;
    let schema = member(tool, "inputSchema")?;
    let arguments = Raw::parse(format!(r#"{{"schema":{schema}}}"#))?;
    finish(client, CallRequest::call_tool("json_schema_echo", &arguments)).await
}

/// Suspends a call with a question, runs another, and resumes the first.
async fn interleave_rounds(client: &Client) -> Done {
    let nothing = Raw::empty_object();
    let asking = CallRequest::call_tool("test_mrtr_echo_state", &nothing);
    let mut exchange = client.call(asking.clone());
    let questions = match exchange.next().await? {
        ExchangeEvent::NeedsInput(questions) => questions,
        other => return Err(format!("a question was expected, not {other:?}").into()),
    };
    let resume = exchange.suspend().ok_or("the call cannot be put away")?;
    finish(client, CallRequest::call_tool("test_mrtr_unrelated", &nothing)).await?;
    conclude(client.resume(&asking, resume, answers(&questions))).await?;
    finish(client, CallRequest::call_tool("test_mrtr_no_state", &nothing)).await?;
    finish(client, CallRequest::call_tool("test_mrtr_no_result_type", &nothing)).await
}

/// Loads each skill, then its listed files.
async fn load_skills(client: &Client) -> Done {
    for skill in skills::list_skills(client).await?.skills {
        let loaded = skill.load(client).await?;
        if let skills::SkillFiles::Listed(files) = skill.files() {
            for file in files {
                loaded.read(client, &file.uri).await?;
            }
        }
    }
    Ok(())
}

/// Makes a call, answers its questions, and demands a result that is no error.
async fn finish(client: &Client, call: CallRequest) -> Done {
    conclude(client.call(call)).await
}

async fn conclude(mut exchange: Exchange) -> Done {
    loop {
        match exchange.next().await? {
            ExchangeEvent::NeedsInput(questions) => exchange.answer(answers(&questions)),
            ExchangeEvent::Done(result) if is_error(&result) => {
                return Err(format!("the tool failed: {result}").into());
            }
            ExchangeEvent::Done(_) => return Ok(()),
            _ => {}
        }
    }
}

fn is_error(result: &Raw) -> bool {
    matches!(result.get("isError"), Ok(Some(value)) if value.as_str() == "true")
}

fn answers(questions: &[InputRequest]) -> Vec<InputResponse> {
    let answer = |question: &InputRequest| match reply(&question.method, &question.params) {
        Some(result) => question.answer(result),
        None => question.refuse("nobody here can answer this"),
    };
    questions.iter().map(answer).collect()
}

/// Answers questions outside any call, until the connection ends.
async fn answer_all(mut inbox: ServerInbox) {
    loop {
        match inbox.next().await {
            Ok(InboxEvent::Question(question)) => {
                let Some(result) = reply(question.method(), question.params()) else {
                    continue; // Dropped, it is refused.
                };
                if let Err(error) = question.answer(Ok(result)).await {
                    eprintln!("an answer was not sent: {error}");
                }
            }
            Ok(_) => {}
            Err(Error::Closed) => return,
            Err(error) => {
                eprintln!("the connection broke: {error}");
                return;
            }
        }
    }
}

/// Accepts a form with its defaults; answers sampling with a fixed sentence.
fn reply(asked: &str, params: &Raw) -> Option<Raw> {
    match asked {
        method::ELICIT => {
            let schema = params.get("requestedSchema").ok()??;
            Some(elicitation::accept_form(&elicitation::form_defaults(&schema)))
        }
        method::SAMPLE => Raw::parse(
            r#"{"role":"assistant","model":"none","content":{"type":"text","text":"Hello."}}"#,
        )
        .ok(),
        _ => None,
    }
}

async fn names(client: &Client, list: ListKind, key: &str) -> Result<Vec<String>, Failure> {
    let items = client.list(list).await?.items;
    items.iter().map(|item| text(item, key)).collect()
}

fn member(raw: &Raw, key: &str) -> Result<Raw, Failure> {
    let found = raw.get(key)?;
    Ok(found.ok_or_else(|| format!("`{key}` is missing"))?)
}

fn text(raw: &Raw, key: &str) -> Result<String, Failure> {
    let text = member(raw, key)?.to_text();
    Ok(text.ok_or_else(|| format!("`{key}` is no text"))?)
}
