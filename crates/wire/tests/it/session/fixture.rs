//! A small server whose every answer is known.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use switchboard_wire::{
    Error, Version,
    client::{Client, ClientOptions, Greeting, Inbox, InputRequest, Target},
    envelope::{RpcError, code},
    json::Raw,
    link::pair::pair,
    server::{Asked, Changes, Context, Description, Handler, Reply, ServeOptions, serve},
};

pub(crate) struct Fixture;

impl Handler for Fixture {
    fn describe(&self) -> Description {
        Description {
            info: raw(r#"{"name":"fixture","version":"1"}"#),
            capabilities: raw(
                r#"{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},
                   "prompts":{},"logging":{},"completions":{}}"#,
            ),
            instructions: Some("be kind".into()),
        }
    }

    fn call<'a>(
        &'a self,
        asked: Asked,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Reply, RpcError>> {
        Box::pin(async move {
            match asked.method.as_str() {
                "tools/list" => Ok(Reply::Complete(raw(
                    r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"odd":true}]}"#,
                ))),
                "tools/call" => tool(asked, context).await,
                "resources/read" => {
                    Err(RpcError::new(code::RESOURCE_NOT_FOUND, "no such resource")
                        .with_data(raw(r#"{"uri":"x:y"}"#)))
                }
                other => Err(RpcError::new(code::METHOD_NOT_FOUND, other)),
            }
        })
    }
}

async fn tool(asked: Asked, context: &Context) -> Result<Reply, RpcError> {
    let name = asked
        .params
        .get("name")
        .unwrap()
        .unwrap()
        .to_text()
        .unwrap();
    match name.as_str() {
        "echo" => {
            let arguments = asked
                .params
                .get("arguments")
                .unwrap()
                .unwrap_or_else(Raw::null);
            Ok(Reply::Complete(raw(&format!(
                r#"{{"content":[],"echo":{arguments}}}"#
            ))))
        }
        "count" => {
            for step in 0..200 {
                context
                    .progress(&raw(&format!(r#"{{"progress":{step}}}"#)))
                    .await;
                tokio::task::yield_now().await;
            }
            context.log_text("info", "counted").await;
            Ok(Reply::Complete(raw(r#"{"content":[]}"#)))
        }
        "ask" => match asked.answers.first() {
            None => Ok(Reply::NeedsInput {
                questions: vec![InputRequest {
                    key: "who".into(),
                    method: "elicitation/create".into(),
                    params: raw(r#"{"message":"who?","requestedSchema":{"type":"object"}}"#),
                }],
                state: Some(Raw::string("s1")),
            }),
            Some(answer) => {
                let said = answer
                    .outcome
                    .as_ref()
                    .map(Raw::to_string)
                    .unwrap_or_default();
                let state = asked.state.unwrap();
                Ok(Reply::Complete(raw(&format!(
                    r#"{{"said":{said},"state":{state}}}"#
                ))))
            }
        },
        "hang" => std::future::pending().await,
        other => Err(RpcError::new(
            code::INVALID_PARAMS,
            format!("no tool {other}"),
        )),
    }
}

pub(crate) fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned()).unwrap()
}

pub(crate) fn options(greeting: Greeting) -> ClientOptions {
    let mut options = ClientOptions::new("test", "1");
    options.capabilities = raw(r#"{"elicitation":{},"sampling":{}}"#);
    options.greeting = greeting;
    options
}

/// A client of the fixture, over a linked pair.
pub(crate) async fn connect(greeting: Greeting) -> Result<(Client, Inbox, Changes), Error> {
    let (near, far) = pair();
    let changes = Changes::default();
    let announcing = changes.clone();
    tokio::spawn(async move {
        serve(far, Arc::new(Fixture), &announcing, ServeOptions::default()).await
    });
    let (client, inbox) = Client::connect(Target::InProcess(near), options(greeting)).await?;
    Ok((client, inbox, changes))
}

/// Every version, and the probe.
pub(crate) fn greetings() -> Vec<Greeting> {
    let mut greetings: Vec<_> = Version::ALL.into_iter().map(Greeting::Only).collect();
    greetings.push(Greeting::Probe);
    greetings
}
