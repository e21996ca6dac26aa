//! The server of these tests, with one tool for each feature.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use switchboard_core::engine::InProcessServer;
use switchboard_wire::Era;
use switchboard_wire::client::InputRequest;
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::link::pair::link_pair;
use switchboard_wire::server::{
    ChangeBroadcaster, HandlerReply, HandlerRequest, RequestContext, ServeOptions,
    ServerDescription, ServerHandler, serve,
};
use tokio::sync::watch;

use super::raw;

/// The server. It is configured under both names.
#[derive(Default)]
pub(super) struct Server {
    pub(super) changes: ChangeBroadcaster,
    /// Calls of `hang` that were dropped.
    pub(super) dropped: watch::Sender<usize>,
    /// Calls of `hang` that began.
    pub(super) hanging: watch::Sender<usize>,
    /// Tasks of `task`, by id.
    pub(super) tasks: Mutex<BTreeMap<String, Task>>,
}

/// A task that has one question, if it was called with `ask`.
#[derive(Default)]
pub(super) struct Task {
    asks: bool,
    said: Option<String>,
    pub(super) cancelled: bool,
}

const TOOLS: &str = r#"{"tools":[
    {"name":"echo","title":"Echo","inputSchema":{"type":"object","properties":{"n":{"type":"number"}}},"odd":1.0},
    {"name":"count","inputSchema":{"type":"object"}},
    {"name":"log","inputSchema":{"type":"object"}},
    {"name":"ask","inputSchema":{"type":"object","properties":{"n":{"type":"number"}}}},
    {"name":"sample","inputSchema":{"type":"object"}},
    {"name":"hang","inputSchema":{"type":"object"}},
    {"name":"long","inputSchema":{"type":"object"}},
    {"name":"picture","inputSchema":{"type":"object"}},
    {"name":"fail","inputSchema":{"type":"object"}},
    {"name":"task","inputSchema":{"type":"object","properties":{"n":{"type":"number"}}}},
    {"name":"odd","inputSchema":{"type":"object"}},
    {"name":"pay","inputSchema":{"type":"object"}}
]}"#;
/// Legacy servers declare task support for each tool.
const TASK_TOOL: &str = r#""name":"task","#;
const OLDER_TASK_TOOL: &str = r#""name":"task","execution":{"taskSupport":"optional"},"#;

/// A picture of one pixel.
pub(super) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const WHO: &str = r#"{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}"#;

impl Server {
    pub(super) fn in_process(self: &Arc<Self>, name: &str, era: Era) -> InProcessServer {
        let server = self.clone();
        InProcessServer::from_link(name, move || {
            let (ours, theirs) = link_pair();
            let server = server.clone();
            tokio::spawn(async move {
                let changes = server.changes.clone();
                // The session ends with its link.
                let _ = serve(theirs, server, &changes, ServeOptions::default()).await;
            });
            Ok(match era {
                Era::Modern => ours,
                Era::Legacy => switchboard_testkit::older::legacy_only(ours),
            })
        })
    }

    async fn tool(
        &self,
        asked: HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        let member = |key| asked.params.get(key).ok().flatten();
        let arguments = member("arguments").unwrap_or_else(Raw::empty_object);
        match member("name").and_then(|name| name.to_text()).unwrap_or_default().as_str() {
            "echo" => Ok(done(&format!(r#"{{"content":[],"echo":{arguments},"odd":[1e400]}}"#))),
            "count" => {
                for step in 1..=3 {
                    context.progress(&raw(&format!(r#"{{"progress":{step},"total":3}}"#))).await;
                }
                Ok(done(r#"{"content":[]}"#))
            }
            "log" => {
                context.log_text("warning", "mind the gap").await;
                Ok(done(r#"{"content":[]}"#))
            }
            "ask" => Ok(ask(&asked, "elicitation/create", WHO)),
            "pay" => Err(RpcError::new(code::URL_ELICITATION_REQUIRED, "pay first").with_data(raw(
                r#"{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://pay.test/","message":"Pay."}]}"#,
            ))),
            "odd" => Ok(ask(&asked, "odd/ask", "{}")),
            "sample" => {
                Ok(ask(&asked, "sampling/createMessage", r#"{"messages":[],"maxTokens":5}"#))
            }
            "long" => {
                let lines: Vec<String> =
                    (1..=200).map(|number| format!("line {number} of many")).collect();
                let block = serde_json::json!({ "type": "text", "text": lines.join("\n") });
                Ok(done(&serde_json::json!({ "content": [block] }).to_string()))
            }
            "picture" => {
                let block =
                    serde_json::json!({ "type": "image", "mimeType": "image/png", "data": PIXEL });
                Ok(done(&serde_json::json!({ "content": [block] }).to_string()))
            }
            "task" => Ok(self.begin(&asked, &arguments, context)),
            "hang" => {
                self.hanging.send_modify(|count| *count += 1);
                let _noticed = Noticed(&self.dropped);
                std::future::pending().await
            }
            _ => Err(RpcError::new(-32099, "as you wish").with_data(raw(r#"{"odd":1.0}"#))),
        }
    }
}

// === impl Server, its tasks ===

impl Server {
    /// Starts a task for a call, if the caller can follow one.
    fn begin(
        &self,
        asked: &HandlerRequest,
        arguments: &Raw,
        context: &RequestContext,
    ) -> HandlerReply {
        let era = context.version.era();
        let wanted = match era {
            Era::Modern => context.has_capability(&["extensions", "io.modelcontextprotocol/tasks"]),
            Era::Legacy => matches!(asked.params.get("task"), Ok(Some(_))),
        };
        if !wanted {
            return done(r#"{"content":[],"at once":true}"#);
        }
        let mut tasks = self.tasks.lock().unwrap();
        let id = format!("t-{}", tasks.len());
        let asks = matches!(arguments.get("ask"), Ok(Some(_)));
        tasks.insert(id.clone(), Task { asks, ..Task::default() });
        let state = state(&id, "working", era);
        match era {
            Era::Modern => done(&format!(r#"{{"resultType":"task",{state}}}"#)),
            Era::Legacy => done(&format!(r#"{{"task":{{{state}}}}}"#)),
        }
    }

    fn task(
        &self,
        asked: &HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        let era = context.version.era();
        let id = asked.params.get("taskId").unwrap().unwrap().to_text().unwrap();
        let mut tasks = self.tasks.lock().unwrap();
        let task = tasks.get_mut(&id);
        let task = task.ok_or_else(|| RpcError::new(code::INVALID_PARAMS, "no such task"))?;
        if let Some(Ok(said)) = asked.answers.first().map(|answer| &answer.outcome) {
            task.said = Some(said.to_string());
        }
        let open = task.asks && task.said.is_none();
        let said = task.said.as_deref().unwrap_or("0");
        let tag =
            format!(r#""_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"{id}"}}}}"#);
        let result = format!(r#"{{"content":[],"said":{said},{tag}}}"#);
        let who = format!("{},{tag}}}", WHO.strip_suffix('}').unwrap());
        Ok(match &*asked.method {
            "tasks/update" => done("{}"),
            "tasks/cancel" => {
                task.cancelled = true;
                done(&format!("{{{}}}", state(&id, "cancelled", era)))
            }
            "tasks/result" if open => ask(asked, "elicitation/create", &who),
            "tasks/result" => done(&result),
            _ if task.cancelled => done(&format!("{{{}}}", state(&id, "cancelled", era))),
            _ if open && era == Era::Modern => {
                let asks = format!(r#"{{"q":{{"method":"elicitation/create","params":{who}}}}}"#);
                let state = state(&id, "input_required", era);
                done(&format!(r#"{{{state},"inputRequests":{asks}}}"#))
            }
            _ if open => done(&format!("{{{}}}", state(&id, "input_required", era))),
            _ if era == Era::Modern => {
                done(&format!(r#"{{{},"result":{result}}}"#, state(&id, "completed", era)))
            }
            _ => done(&format!("{{{}}}", state(&id, "completed", era))),
        })
    }
}

/// The members of a task.
fn state(id: &str, status: &str, era: Era) -> String {
    let (ttl, poll) = match era {
        Era::Modern => ("ttlMs", "pollIntervalMs"),
        Era::Legacy => ("ttl", "pollInterval"),
    };
    let when = "2026-01-01T00:00:00Z";
    format!(
        r#""taskId":"{id}","status":"{status}","createdAt":"{when}","lastUpdatedAt":"{when}","{ttl}":60000,"{poll}":20"#
    )
}

struct Noticed<'a>(&'a watch::Sender<usize>);

impl Drop for Noticed<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count += 1);
    }
}

fn ask(asked: &HandlerRequest, method: &str, params: &str) -> HandlerReply {
    if let Some(answer) = asked.answers.first() {
        let said = match &answer.outcome {
            Ok(result) => result.to_string(),
            Err(error) => error.to_raw().to_string(),
        };
        let state = asked.state.clone().unwrap_or_else(Raw::null);
        return done(&format!(r#"{{"content":[],"said":{said},"state":{state}}}"#));
    }
    let question = InputRequest { key: "q".into(), method: method.into(), params: raw(params) };
    HandlerReply::NeedsInput { questions: vec![question], state: Some(Raw::string("state")) }
}

fn done(text: &str) -> HandlerReply {
    HandlerReply::Complete(raw(text))
}

impl ServerHandler for Server {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: raw(r#"{"name":"behind","version":"1"}"#),
            capabilities: raw(
                r#"{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"completions":{},"logging":{},
                    "tasks":{"cancel":{},"requests":{"tools":{"call":{}}}},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
            ),
            instructions: Some("be kind".into()),
        }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        context: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(async move {
            Ok(match &*asked.method {
                "tools/list" if context.version.era() == Era::Legacy => {
                    done(&TOOLS.replace(TASK_TOOL, OLDER_TASK_TOOL))
                }
                "tools/list" => done(TOOLS),
                "tasks/get" | "tasks/update" | "tasks/cancel" | "tasks/result" => {
                    return self.task(&asked, context);
                }
                "prompts/list" => done(r#"{"prompts":[{"name":"greet"}]}"#),
                "prompts/get" => {
                    let params = &asked.params;
                    done(&format!(r#"{{"messages":[],"asked":{params}}}"#))
                }
                "resources/list" => done(r#"{"resources":[{"uri":"note://a","name":"a"}]}"#),
                "resources/templates/list" => {
                    done(r#"{"resourceTemplates":[{"uriTemplate":"note://t/{x}","name":"t"}]}"#)
                }
                "resources/read" => {
                    done(r#"{"contents":[{"uri":"note://a","text":"read","odd":1.50}]}"#)
                }
                "completion/complete" => {
                    let name = asked.params.get_path(&["ref", "name"]).ok().flatten();
                    let name = name.unwrap_or_else(Raw::null);
                    done(&format!(r#"{{"completion":{{"values":[{name}]}}}}"#))
                }
                "tools/call" => return self.tool(asked, context).await,
                "odd/task" => done(&format!(r#"{{"asked":{}}}"#, asked.params)),
                other => return Err(RpcError::new(code::METHOD_NOT_FOUND, other)),
            })
        })
    }
}
