//! Test helper: a server with scripted answers, and a workspace around it. Used by the tests of `engine`.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use switchboard_config::{
    Desired, DynamicConfig, EnvironmentVariables, HostContext, PermissionMode, Platform,
    ResolveOptions as Wanted,
};
use switchboard_core::engine::{
    Caller, Engine, EngineOptions, InProcessServer, Session, Workspace, WorkspaceId,
    WorkspaceSnapshot,
};
use switchboard_process::ProcessGuard;
use switchboard_wire::Era;
use switchboard_wire::client::InputRequest;
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::link::pair;
use switchboard_wire::server::{
    ChangeBroadcaster, ChangeNotification, ClientFacts, HandlerReply, HandlerRequest,
    RequestContext, ServeOptions, ServerDescription, ServerHandler, SubscribedResource, serve,
};
use tokio::sync::{Notify, watch};

type Answer = Box<dyn Fn(&str, Raw) -> Result<HandlerReply, RpcError> + Send + Sync>;

/// A server under a test's control.
pub(crate) struct Script {
    tools: Mutex<Vec<Value>>,
    /// Tools for clients that declare a capability.
    tools_for: Vec<(String, Value)>,
    resources: Mutex<Vec<Value>>,
    prompts: Mutex<Vec<Value>>,
    instructions: Option<String>,
    /// What a tool answers, by default its arguments.
    answer: Answer,
    /// What `ask` asks.
    questions: Vec<Value>,
    /// Calls so far, each as `name arguments`.
    pub(crate) seen: watch::Sender<Vec<String>>,
    /// How many calls to `hang` were dropped.
    pub(crate) dropped: watch::Sender<usize>,
    pub(crate) changes: ChangeBroadcaster,
    pub(crate) go_on: Notify,
    era: Era,
    offers_lists: bool,
    /// Who wanted to hear of which resource, or no longer.
    pub(crate) watched: Mutex<Vec<(String, bool)>>,
    /// How often somebody connected.
    pub(crate) opened: Arc<AtomicUsize>,
}

// === impl Script ===

impl Script {
    pub(crate) fn new(tools: &[&str]) -> Self {
        let tool = |name: &&str| json!({ "name": name, "inputSchema": { "type": "object" } });
        Self {
            tools: Mutex::new(tools.iter().map(tool).collect()),
            tools_for: Vec::new(),
            resources: Mutex::default(),
            prompts: Mutex::default(),
            instructions: None,
            answer: Box::new(|_, arguments| text(arguments.as_str())),
            questions: vec![json!({
                "message": "who?",
                "requestedSchema": { "type": "object", "properties": { "name": { "type": "string" } } },
            })],
            seen: watch::Sender::default(),
            dropped: watch::Sender::default(),
            changes: ChangeBroadcaster::default(),
            go_on: Notify::new(),
            era: Era::Modern,
            offers_lists: true,
            watched: Mutex::default(),
            opened: Arc::default(),
        }
    }

    /// A server with instructions.
    pub(crate) fn with_instructions(mut self, text: &str) -> Self {
        self.instructions = Some(text.to_owned());
        self
    }

    /// A server that has no tools, prompts or resources, and says so.
    pub(crate) fn without_lists(mut self) -> Self {
        self.offers_lists = false;
        self
    }

    /// A server that knows only the older era.
    pub(crate) fn legacy(mut self) -> Self {
        self.era = Era::Legacy;
        self
    }

    pub(crate) fn with_tool(self, tool: Value) -> Self {
        self.tools.lock().unwrap().push(tool);
        self
    }

    /// A tool that only clients with a capability are shown.
    pub(crate) fn with_tool_for(mut self, capability: &str, tool: &str) -> Self {
        let tool = json!({ "name": tool, "inputSchema": { "type": "object" } });
        self.tools_for.push((capability.to_owned(), tool));
        self
    }

    pub(crate) fn with_resource(self, uri: &str) -> Self {
        self.resources.lock().unwrap().push(json!({ "uri": uri, "name": uri }));
        self
    }

    pub(crate) fn with_prompt(self, name: &str) -> Self {
        self.prompts.lock().unwrap().push(json!({ "name": name }));
        self
    }

    pub(crate) fn answering(
        mut self,
        answer: impl Fn(&str, Raw) -> Result<HandlerReply, RpcError> + Send + Sync + 'static,
    ) -> Self {
        self.answer = Box::new(answer);
        self
    }

    /// Has `ask` ask these instead.
    pub(crate) fn asking(mut self, questions: Vec<Value>) -> Self {
        self.questions = questions;
        self
    }

    /// Puts another list of tools in the place of the one there was, and says so.
    pub(crate) fn relist(&self, tools: &[&str]) {
        let tool = |name: &&str| json!({ "name": name, "inputSchema": { "type": "object" } });
        *self.tools.lock().unwrap() = tools.iter().map(tool).collect();
        self.changes.announce(ChangeNotification::List(switchboard_wire::client::ListKind::Tools));
    }

    async fn tool(
        &self,
        asked: HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        let member = |key| asked.params.get(key).ok().flatten();
        let name = member("name").and_then(|name| name.to_text()).unwrap_or_default();
        let arguments = member("arguments").unwrap_or_else(Raw::empty_object);
        self.seen.send_modify(|seen| seen.push(format!("{name} {arguments}")));
        match name.as_str() {
            "hang" => {
                let _noticed = Noticed(&self.dropped);
                std::future::pending::<()>().await;
                unreachable!()
            }
            "wait" => {
                self.go_on.notified().await;
                text("waited")
            }
            "count" => {
                for number in 1..=3 {
                    context.progress(&raw(&json!({ "progress": number, "total": 3 }))).await;
                }
                text("counted")
            }
            "ask" => self.ask(&asked),
            "capabilities" => text(context.capabilities.as_str()),
            other => (self.answer)(other, arguments),
        }
    }
}

impl Script {
    /// Asks, and then says what it was told first.
    fn ask(&self, asked: &HandlerRequest) -> Result<HandlerReply, RpcError> {
        if let Some(answer) = asked.answers.first() {
            return match &answer.outcome {
                Ok(result) => text(result.as_str()),
                Err(error) => text(&format!("refused: {}", error.message)),
            };
        }
        let question = |(at, params): (usize, &Value)| InputRequest {
            key: if at == 0 { "who".to_owned() } else { format!("who{at}") },
            method: "elicitation/create".into(),
            params: raw(params),
        };
        let questions = self.questions.iter().enumerate().map(question).collect();
        Ok(HandlerReply::NeedsInput { questions, state: Some(Raw::string("asked")) })
    }
}

struct Noticed<'a>(&'a watch::Sender<usize>);

impl Drop for Noticed<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|dropped| *dropped += 1);
    }
}

impl ServerHandler for Script {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: raw(&json!({ "name": "script", "version": "1" })),
            capabilities: if self.offers_lists {
                raw(&json!({
                    "tools": { "listChanged": true }, "resources": { "subscribe": true },
                    "prompts": {}, "completions": {}, "logging": {},
                }))
            } else {
                raw(&json!({ "logging": {} }))
            },
            instructions: self.instructions.clone(),
        }
    }

    fn subscribe<'a>(
        &'a self,
        resource: &'a SubscribedResource,
        on: bool,
        _: &'a ClientFacts,
    ) -> BoxFuture<'a, Result<(), RpcError>> {
        self.watched.lock().unwrap().push((resource.uri.clone(), on));
        Box::pin(std::future::ready(Ok(())))
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        context: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(async move {
            let list = |key: &str, items: &Mutex<Vec<Value>>| {
                Ok(HandlerReply::Complete(raw(&json!({ key: *items.lock().unwrap() }))))
            };
            match &*asked.method {
                "tools/list" => {
                    let mut tools = self.tools.lock().unwrap().clone();
                    let shown =
                        self.tools_for.iter().filter(|(of, _)| context.has_capability(&[of]));
                    tools.extend(shown.map(|(_, tool)| tool.clone()));
                    list("tools", &Mutex::new(tools))
                }
                "resources/list" => list("resources", &self.resources),
                "resources/templates/list" => list("resourceTemplates", &Mutex::default()),
                "prompts/list" => list("prompts", &self.prompts),
                "prompts/get" => Ok(HandlerReply::Complete(raw(
                    &json!({ "messages": [], "asked": asked.params }),
                ))),
                "resources/read" => {
                    let uri = asked.params.get("uri").ok().flatten();
                    let contents = json!([{ "uri": uri, "text": "read" }]);
                    Ok(HandlerReply::Complete(raw(&json!({ "contents": contents }))))
                }
                "completion/complete" => {
                    let values = json!({ "values": [asked.params.as_str()] });
                    Ok(HandlerReply::Complete(raw(&json!({ "completion": values }))))
                }
                "tools/call" => self.tool(asked, context).await,
                other => Err(RpcError::new(code::METHOD_NOT_FOUND, other)),
            }
        })
    }
}

/// A result of one text.
#[expect(clippy::unnecessary_wraps, reason = "the last word of many fallible functions")]
pub(crate) fn text(text: &str) -> Result<HandlerReply, RpcError> {
    Ok(HandlerReply::Complete(raw(&json!({ "content": [{ "type": "text", "text": text }] }))))
}

pub(crate) fn raw(value: &Value) -> Raw {
    Raw::from_value(value).unwrap()
}

/// The same server, but it has never heard of the newer era.
fn legacy(name: &str, script: Arc<Script>) -> InProcessServer {
    InProcessServer::from_link(name, move || {
        script.opened.fetch_add(1, Ordering::SeqCst);
        let (behind, theirs) = pair::link_pair();
        let script = script.clone();
        tokio::spawn(async move {
            let changes = script.changes.clone();
            // It ends with its link.
            let _ = serve(theirs, script, &changes, ServeOptions::default()).await;
        });
        Ok(switchboard_testkit::older::legacy_only(behind))
    })
}

/// An engine and one workspace in it.
pub(crate) struct Bench {
    pub(crate) engine: Engine,
    pub(crate) workspace: Workspace,
    pub(crate) folder: tempfile::TempDir,
}

// === impl Bench ===

impl Bench {
    pub(crate) async fn new() -> Self {
        Self::with(|_| ()).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut EngineOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let guard = ProcessGuard::at(switchboard_testkit::guard_path()).unwrap();
        let mut options = EngineOptions::new("test", "1", guard);
        options.state_dir = Some(folder.path().join("state"));
        options.timing.jitter = switchboard_core::connection::RetryJitter::NONE;
        change(&mut options);
        Self {
            engine: Engine::start(options).await,
            workspace: Workspace {
                id: WorkspaceId::from("one"),
                environment: Arc::new([]),
                in_process: Vec::new(),
            },
            folder,
        }
    }

    /// What this configuration desires.
    pub(crate) fn desired(&self, configuration: &Value) -> Desired {
        desired(self.folder.path(), configuration)
    }

    /// Adds a server of the test's own and applies everything.
    pub(crate) fn serve(&mut self, name: &str, script: Script) -> Arc<Script> {
        self.serve_with(name, script, &json!({}))
    }

    pub(crate) fn serve_with(
        &mut self,
        name: &str,
        script: Script,
        configuration: &Value,
    ) -> Arc<Script> {
        let script = Arc::new(script);
        let server = match script.era {
            Era::Modern => InProcessServer::new(name, script.clone(), script.changes.clone()),
            Era::Legacy => legacy(name, script.clone()),
        };
        self.workspace.in_process.push(server);
        self.engine.apply(&self.workspace, self.desired(configuration));
        script
    }

    pub(crate) async fn settled(&self) -> Arc<WorkspaceSnapshot> {
        self.engine.settled_snapshot(&self.workspace.id, Duration::from_secs(60)).await.unwrap()
    }

    pub(crate) fn caller(&self, session: &str) -> Caller {
        self.attach(Session {
            mode: Some(PermissionMode::BypassPermissions),
            ..Session::new(session)
        })
    }

    pub(crate) fn attach(&self, session: Session) -> Caller {
        self.engine.attach(&self.workspace.id, session).unwrap()
    }
}

/// What a configuration desires, given for one run in `folder`.
pub(crate) fn desired(folder: &Path, configuration: &Value) -> Desired {
    let home = folder.to_str().unwrap().to_owned();
    let env: EnvironmentVariables = [("HOME".to_owned(), home.clone())].into();
    let mut surroundings = HostContext::for_platform(Platform::Linux, env, home.into()).unwrap();
    surroundings.managed_dir = folder.join("managed");
    let asked = Wanted {
        dynamic: vec![DynamicConfig::Text(configuration.to_string())],
        ..Wanted::default()
    };
    switchboard_config::resolve_desired(&surroundings, &asked)
}

/// What a tool said, if it said one text.
pub(crate) fn said(result: &Raw) -> String {
    let result: Value = result.decode().unwrap();
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}
