//! Tools that become tasks, on the SDK's `TaskManager`. A client without the extension gets the result of the call
//! itself where the tool can do without a task.

use std::time::Duration;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, CreateTaskResult,
};
use rmcp::schemars::JsonSchema;
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskFuture, TaskOptions};
use rmcp::{ErrorData, RoleServer, tool, tool_router};
use serde::Deserialize;

use crate::handler::ConformanceServer;
use crate::modern::{Round, ask, confirm, name};
use crate::tools::say;

const POLL_INTERVAL_MS: u64 = 200;
const KEPT_MS: u64 = 600_000;

#[derive(Deserialize, JsonSchema)]
struct GreetArguments {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct ComputeArguments {
    seconds: u64,
    label: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct DeleteArguments {
    filename: String,
}

type Answered = Result<CallToolResponse, ErrorData>;

#[tool_router(router = task_tools, vis = "pub(crate)")]
impl ConformanceServer {
    #[tool(description = "Greets at once")]
    async fn greet(
        &self,
        Parameters(GreetArguments { name }): Parameters<GreetArguments>,
    ) -> CallToolResult {
        say(format!("Hello, {name}!"))
    }

    #[tool(description = "Takes a while")]
    async fn slow_compute(
        &self,
        Parameters(ComputeArguments { seconds, label }): Parameters<ComputeArguments>,
        context: RequestContext<RoleServer>,
    ) -> Answered {
        let lasts = Duration::from_secs(seconds);
        let said = say(format!("computed {}", label.unwrap_or_default()));
        if lasts.is_zero() || !takes_tasks(&context) {
            tokio::time::sleep(lasts).await;
            return Ok(said.into());
        }
        Ok(self.begin(move |task| Box::pin(wait(task, lasts, said))))
    }

    #[tool(description = "Takes a moment, and fails")]
    async fn failing_job(&self, context: RequestContext<RoleServer>) -> Answered {
        require_tasks(&context)?;
        let failed = CallToolResult::error(vec![ContentBlock::text("the job failed")]);
        Ok(self.begin(move |task| Box::pin(wait(task, Duration::from_secs(1), failed))))
    }

    #[tool(description = "Breaks")]
    async fn protocol_error_job(&self, context: RequestContext<RoleServer>) -> Answered {
        require_tasks(&context)?;
        let error = ErrorData::internal_error("the job broke", None);
        Ok(self.begin(move |_| Box::pin(async { Err(TaskExit::Error(error)) })))
    }

    #[tool(description = "Asks before it deletes")]
    async fn confirm_delete(
        &self,
        Parameters(DeleteArguments { filename }): Parameters<DeleteArguments>,
        round: Round,
        context: RequestContext<RoleServer>,
    ) -> Answered {
        let (key, question) = confirm("confirm")?;
        if !takes_tasks(&context) {
            return ask(&round, vec![(key, question)], None);
        }
        Ok(self.begin(move |task| {
            Box::pin(async move {
                let answer = task.request_input(key, question).await?;
                Ok(say(format!("{filename}: {answer}")))
            })
        }))
    }

    #[tool(description = "Asks two things at once")]
    async fn multi_input(&self, round: Round, context: RequestContext<RoleServer>) -> Answered {
        let (first, second) = (confirm("first")?, confirm("second")?);
        if !takes_tasks(&context) {
            return ask(&round, vec![first, second], None);
        }
        Ok(self.begin(move |task| {
            Box::pin(async move {
                let (first, second) = tokio::join!(
                    task.request_input(first.0, first.1),
                    task.request_input(second.0, second.1)
                );
                Ok(say(format!("{} {}", first?, second?)))
            })
        }))
    }

    #[tool(description = "Asks, then takes a while")]
    async fn test_tool_with_task(
        &self,
        round: Round,
        context: RequestContext<RoleServer>,
    ) -> Answered {
        require_tasks(&context)?;
        let question = name("user_name")?;
        let Some(answer) = round.answer(&question) else {
            return ask(&round, vec![question], None);
        };
        let said = say(answer.to_string());
        Ok(self.begin(move |task| Box::pin(wait(task, Duration::from_secs(1), said))))
    }
}

impl ConformanceServer {
    fn begin(&self, work: impl FnOnce(TaskContext) -> TaskFuture) -> CallToolResponse {
        let options =
            TaskOptions::new().with_poll_interval_ms(POLL_INTERVAL_MS).with_ttl_ms(KEPT_MS);
        CallToolResponse::Task(CreateTaskResult::new(self.tasks.spawn(options, work)))
    }
}

async fn wait(
    task: TaskContext,
    lasts: Duration,
    result: CallToolResult,
) -> Result<CallToolResult, TaskExit> {
    tokio::select! {
        () = task.cancelled() => Err(TaskExit::Cancelled),
        () = tokio::time::sleep(lasts) => Ok(result),
    }
}

fn takes_tasks(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|able| able.supports_tasks())
}

pub(crate) fn require_tasks(context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    if takes_tasks(context) {
        return Ok(());
    }
    let required = ClientCapabilities::builder().enable_tasks().build();
    Err(ErrorData::missing_required_client_capability(required))
}
