//! A whole agent: a model, the tools of a configured workspace, and the loop between them.
//!
//! ```text
//! MODEL_URL=https://… MODEL_KEY=… cargo run -p switchboard-core --example agent_loop -- "What time is it in Zürich?"
//! ```
//!
//! It reads the configuration of the folder it runs in, as every other program of Switchboard does. Servers that
//! await approval are not started.

#![allow(clippy::disallowed_methods, reason = "a program reads its own environment")]
#![allow(clippy::print_stdout)] // It answers a person.

use std::error::Error;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_config::{
    EnvironmentVariables, HostContext, PermissionMode, Platform, ResolveOptions, resolve_desired,
};
use switchboard_core::agent_loop::Toolbox;
use switchboard_core::{Engine, EngineOptions, Session, Workspace, WorkspaceId};
use switchboard_process::{ProcessGuard, guard};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // First of all: this program is also what sees to it that no server outlives it.
    guard::run_if_guard();
    let question = std::env::args().nth(1).ok_or("ask something")?;

    // Which servers are desired here, and an engine that keeps connections matching it.
    let env: EnvironmentVariables = std::env::vars().collect();
    let cwd = std::env::current_dir()?;
    let surroundings = HostContext::for_platform(Platform::Linux, env, cwd).ok_or("no home")?;
    let desired = resolve_desired(&surroundings, &ResolveOptions::default());
    let environment = std::env::vars_os().collect::<Vec<_>>().into();
    let workspace = Workspace {
        id: WorkspaceId::from_desired(&desired, &environment, ""),
        environment,
        in_process: Vec::new(),
    };
    let mut options = EngineOptions::new("agent-loop", "1.0", ProcessGuard::this_program()?);
    options.state_dir = Some(surroundings.state_dir.clone());
    let engine = Engine::start(options).await;
    engine.apply(&workspace, desired);
    engine.settled_snapshot(&workspace.id, Duration::from_secs(10)).await;

    // A session that may call whatever no rule forbids.
    let session =
        Session { mode: Some(PermissionMode::BypassPermissions), ..Session::new("agent") };
    let caller = engine.attach(&workspace.id, session)?;
    let tools = Toolbox::new(engine.clone(), caller);

    let model = Model::from_env()?;
    let mut messages = vec![json!({ "role": "user", "content": question })];
    loop {
        let content = model.answer(&tools, &messages).await?;
        let results = tools.anthropic_results(&content).await;
        messages.push(json!({ "role": "assistant", "content": content }));
        if results.is_empty() {
            break;
        }
        messages.push(json!({ "role": "user", "content": results }));
    }
    let last = messages.last().map(|message| message["content"].clone()).unwrap_or_default();
    for block in last.as_array().into_iter().flatten() {
        println!("{}", block["text"].as_str().unwrap_or_default());
    }
    drop(tools);
    engine.shutdown().await;
    Ok(())
}

/// A model behind an endpoint of the Messages shape.
struct Model {
    url: String,
    key: String,
    http: reqwest::Client,
}

impl Model {
    fn from_env() -> Result<Self, Box<dyn Error>> {
        // The TLS library wants to know who does its arithmetic; asking twice is no harm.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(Self {
            url: std::env::var("MODEL_URL")?,
            key: std::env::var("MODEL_KEY").unwrap_or_default(),
            http: reqwest::Client::new(),
        })
    }

    async fn answer(
        &self,
        tools: &Toolbox,
        messages: &[Value],
    ) -> Result<Vec<Value>, Box<dyn Error>> {
        let request = json!({
            "model": std::env::var("MODEL").unwrap_or_default(),
            "max_tokens": 4096,
            "system": tools.instructions(),
            "tools": tools.anthropic_tools(),
            "messages": messages,
        });
        let request = self
            .http
            .post(&self.url)
            .header("x-api-key", &self.key)
            .header("content-type", "application/json")
            .body(request.to_string());
        let answer = request.send().await?.error_for_status()?.text().await?;
        let answer: Value = serde_json::from_str(&answer)?;
        Ok(answer["content"].as_array().cloned().unwrap_or_default())
    }
}
