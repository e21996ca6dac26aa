//! The permission stage: decides whether a tool may be called, and asks a person where no rule or answer decides.
//!
//! Used by `dispatch::tool`. The decision is in `permission::judge`; this module collects its inputs, runs hooks,
//! asks and remembers.

use std::sync::Arc;

use switchboard_config::{Mode, SourceLocation};
use tokio::time::timeout;

use super::tool::ToolCall;
use super::{
    CallError, CallEvent, PendingQuestion, PermissionQuestion, QuestionAnswer, QuestionKind, Stage,
};
use crate::catalog::Tool;
use crate::engine::{AppliedServer, QuestionAnswerer};
use crate::hooks::PermissionAnswer;
use crate::permission::{
    AnswerLifetime, AnswerTarget, AskReason as Asked, CallClassifier, ClassifierInput,
    DecisionReason, HookVerdict, PermissionSubject, PermissionVerdict, ToolInteraction, ToolOrigin,
    judge_call,
};

// === impl Stage ===

impl Stage {
    /// Allows the call, with the reason, or returns why not.
    pub(super) async fn permit(
        &self,
        call: &mut ToolCall,
        hook: HookVerdict,
    ) -> Result<DecisionReason, CallError> {
        let permissions = self.applied.permissions.with_mode(self.mode());
        let listed = Arc::clone(&call.found.item);
        let (server, tool) = (listed.label.server().normal(), listed.label.normal());
        let subject = PermissionSubject {
            permissions: &permissions,
            server,
            tool,
            annotations: call.found.item.tool.annotations,
            interaction: interaction(&call.found.item.tool),
            origin: ToolOrigin::Server,
            consent: self.caller.session().consent,
        };
        let remembered = self.engine.memory.recall(&self.caller.session().id, &self.target(call));
        let verdict = match judge_call(&subject, &hook, &remembered) {
            PermissionVerdict::Classify => Box::pin(self.classify(call)).await,
            verdict => verdict,
        };
        let allow = |because: &DecisionReason| {
            permissions.allow_rule_for(server, tool).filter(|_| because.yields_to_allow_rule())
        };
        match verdict {
            PermissionVerdict::Allow { because } => Ok(because),
            PermissionVerdict::Deny { because } => {
                let allow = allow(&because);
                Err(denied_error(&call.name, because, allow))
            }
            // A classifier that decides nothing leaves the decision to a person.
            PermissionVerdict::Classify => {
                let because = DecisionReason::Mode { mode: Mode::Auto };
                let allow = allow(&because);
                Err(denied_error(&call.name, because, allow))
            }
            PermissionVerdict::Ask { because } => {
                let allow = allow(&because);
                Box::pin(self.ask_consent(call, because, allow)).await
            }
        }
    }

    /// Returns the permission mode of this call.
    pub(super) fn mode(&self) -> Mode {
        self.applied.mode(self.caller.session())
    }

    /// Refuses items of a server that rules hide as a whole.
    pub(super) fn check_visible(
        &self,
        placed: &AppliedServer,
        name: &str,
    ) -> Result<(), CallError> {
        if self.applied.permissions.hides_server(&placed.normal) {
            return Err(self.denied_by_rule_error(name, &placed.normal, ""));
        }
        Ok(())
    }

    /// Returns the error for a tool that is not listed because a rule denies it.
    pub(super) fn denied_by_rule_error(&self, name: &str, server: &str, tool: &str) -> CallError {
        let ruling = self.applied.permissions.ruling(server, tool);
        match ruling.deny {
            Some(rule) => denied_error(name, DecisionReason::Rule(rule.clone()), None),
            None => CallError::NotFound { name: name.to_owned(), similar: Vec::new() },
        }
    }

    async fn classify(&self, call: &ToolCall) -> PermissionVerdict {
        let command = self.applied.desired.rules.classifier.as_ref();
        let classifier = match command {
            None => CallClassifier::Hints,
            Some(command) => CallClassifier::Command {
                command: command.command.clone(),
                start_folder: command.start_folder.clone(),
                runner: self.applied.hooks.runner().clone(),
            },
        };
        let inquiry = ClassifierInput {
            tool: &call.found.item.tool.name,
            annotations: &call.found.item.tool.annotations,
            input: &call.arguments,
            server: &call.found.placed.name,
            workspace: &self.applied.desired.root,
        };
        classifier.classify(&inquiry).await
    }

    /// Asks hooks first, then the session's answerer. The answer is remembered for its lifetime.
    async fn ask_consent(
        &self,
        call: &mut ToolCall,
        because: DecisionReason,
        allow: Option<String>,
    ) -> Result<DecisionReason, CallError> {
        if let Some(decision) = self.ask_hooks(call, &because).await? {
            return decision.map_err(|because| denied_error(&call.name, because, None));
        }
        let question = because.question();
        // Sessions that share the queue call the tool by different names, so the queue shows the full name.
        let tool = match self.caller.session().answers {
            QuestionAnswerer::Caller => &call.name,
            QuestionAnswerer::Queue => &call.found.item.name,
        };
        let about = QuestionKind::Permission(Box::new(PermissionQuestion {
            tool: tool.clone(),
            arguments: call.arguments.clone(),
            annotations: call.found.item.tool.annotations,
            because: because.clone(),
            allow: allow.clone().unwrap_or_default(),
        }));
        let (yes, remember) = match self.ask(&call.found.placed, about).await {
            Some(QuestionAnswer::Allow(remember)) => (true, remember),
            Some(QuestionAnswer::Deny(remember)) => (false, remember),
            Some(QuestionAnswer::Result(_) | QuestionAnswer::Cancel) | None => {
                let because = Box::new(because);
                let queue = self.engine.queue_access();
                return Err(CallError::Unanswered {
                    name: call.name.clone(),
                    because,
                    allow,
                    queue,
                });
            }
        };
        self.remember(call, question, yes, remember).await;
        if yes {
            Ok(DecisionReason::Person)
        } else {
            Err(denied_error(&call.name, DecisionReason::Person, None))
        }
    }

    async fn ask_hooks(
        &self,
        call: &mut ToolCall,
        because: &DecisionReason,
    ) -> Result<Option<Result<DecisionReason, DecisionReason>>, CallError> {
        let hooks = &self.applied.hooks;
        if !hooks.has(switchboard_config::HookEvent::PermissionRequest, call.uncut()) {
            return Ok(None);
        }
        let said = hooks.permission_request(&call.tool_use(self), because).await;
        self.note(&call.found.placed, &said.notes);
        match said.answer {
            None => Ok(None),
            Some(PermissionAnswer::Deny { reason }) => {
                Ok(Some(Err(DecisionReason::Hook { reason })))
            }
            Some(PermissionAnswer::Allow { updated_input }) => {
                if let Some(input) = updated_input {
                    call.arguments = input;
                    self.check_arguments(call)?;
                }
                Ok(Some(Ok(DecisionReason::Hook { reason: String::new() })))
            }
        }
    }

    /// Asks the session's answerer: its caller or the queue. `None` if there is no one to answer.
    pub(super) async fn ask(
        &self,
        placed: &AppliedServer,
        about: QuestionKind,
    ) -> Option<QuestionAnswer> {
        let (question, answer) = PendingQuestion::new(&placed.name, about);
        let question = question.of_client(&self.caller.identity().client);
        match self.caller.session().answers {
            QuestionAnswerer::Queue => self.engine.queue().ask((question, answer)).await,
            QuestionAnswerer::Caller => {
                self.emit.send(CallEvent::Question(question)).await;
                match timeout(self.engine.question_timeout(), answer).await {
                    Ok(Ok(reply)) => Some(reply),
                    // The question was dropped, or not answered in time.
                    Ok(Err(_)) | Err(_) => Some(QuestionAnswer::Cancel),
                }
            }
        }
    }

    async fn remember(
        &self,
        call: &ToolCall,
        question: Option<Asked>,
        yes: bool,
        remember: AnswerLifetime,
    ) {
        // A no counts once, unless it is for good; questions that cannot be answered in advance are not remembered.
        let (Some(question), true) = (question, yes != (remember == AnswerLifetime::Never)) else {
            return;
        };
        let session = &self.caller.session().id;
        let target = self.target(call);
        if let Err(error) = self.engine.memory.remember(session, &target, question, remember).await
        {
            tracing::warn!(%error, "an answer could not be remembered");
        }
    }

    fn target<'a>(&'a self, call: &'a ToolCall) -> AnswerTarget<'a> {
        AnswerTarget {
            project: &self.applied.desired.root,
            server: &call.found.placed.name,
            signature: &call.found.placed.signature,
            tool: &call.found.item.tool.name,
        }
    }
}

fn interaction(tool: &Tool) -> ToolInteraction {
    if tool.meta.requires_user_interaction {
        ToolInteraction::Required
    } else {
        ToolInteraction::Free
    }
}

fn denied_error(name: &str, because: DecisionReason, allow: Option<String>) -> CallError {
    let at: Option<SourceLocation> = match &because {
        DecisionReason::Rule(rule) => Some(rule.at.clone()),
        _ => None,
    };
    CallError::Denied { name: name.to_owned(), because: Box::new(because), allow, at }
}
