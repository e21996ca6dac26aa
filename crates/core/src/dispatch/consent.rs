//! The permission stage: decides whether a tool may be called, and asks a person where no rule or answer decides.
//!
//! Used by `dispatch::tool`. The decision is in `permission::judge`; this module collects its inputs, runs hooks,
//! asks and remembers.

use std::sync::Arc;

use switchboard_config::{PermissionMode, SourceLocation};
use switchboard_wire::json::Raw;
use tokio::time::timeout;

use super::tool::ToolCall;
use super::{
    CallError, CallEvent, PendingQuestion, PermissionQuestion, QuestionAnswer, QuestionKind, Stage,
};
use crate::engine::{AppliedServer, QuestionAnswerer};
use crate::hooks::PermissionAnswer;
use crate::permission::{
    AnswerLifetime, AnswerTarget, AskReason as Asked, CallClassifier, ClassifierInput,
    DecisionReason, HookVerdict, JudgedCall, PermissionSubject, PermissionVerdict, ToolInteraction,
    ToolOrigin, judge_call,
};

/// The decision of the hooks about a permission question.
enum HookConsent {
    /// They decide nothing.
    Undecided,
    /// They decided, or a rule about the arguments that they changed did.
    Decided(Result<DecisionReason, DecisionReason>),
    /// They changed the arguments, and now another rule asks.
    OtherQuestion(DecisionReason),
}

// === impl Stage ===

impl Stage {
    /// Allows the call, with the reason, or returns why not.
    pub(super) async fn permit(
        &self,
        call: &mut ToolCall,
        hook: HookVerdict,
    ) -> Result<DecisionReason, CallError> {
        let listed = Arc::clone(&call.found.item);
        let (server, tool) = (listed.label.server().normal(), listed.label.normal());
        let verdict = match self.judge(call, &hook) {
            PermissionVerdict::Classify => Box::pin(self.classify(call)).await,
            verdict => verdict,
        };
        let allow = |because: &DecisionReason| {
            let rule = self.applied.permissions.allow_rule_for(server, tool);
            rule.filter(|_| because.yields_to_allow_rule())
        };
        match verdict {
            PermissionVerdict::Allow { because } => Ok(because),
            PermissionVerdict::Deny { because } => {
                let allow = allow(&because);
                Err(denied_error(&call.name, because, allow))
            }
            // A classifier that decides nothing leaves the decision to a person.
            PermissionVerdict::Classify => {
                let because = DecisionReason::Mode { mode: PermissionMode::Auto };
                let allow = allow(&because);
                Err(denied_error(&call.name, because, allow))
            }
            PermissionVerdict::Ask { because } => {
                let allow = allow(&because);
                Box::pin(self.ask_consent(call, because, allow)).await
            }
        }
    }

    /// Judges a call with its arguments as they are now.
    fn judge(&self, call: &ToolCall, hook: &HookVerdict) -> PermissionVerdict {
        let label = &call.found.item.label;
        let subject = PermissionSubject {
            permissions: &self.applied.permissions.with_mode(self.mode()),
            server: label.server().normal(),
            tool: label.normal(),
            call: self.judged_call(&call.arguments),
            annotations: call.found.item.tool.annotations,
            interaction: ToolInteraction::of_tool(&call.found.item.tool),
            origin: ToolOrigin::Server,
            consent: self.caller.session().consent,
        };
        let remembered = self.engine.memory.recall(&self.caller.session().id, &self.target(call));
        judge_call(&subject, hook, &remembered)
    }

    /// What conditions of rules are judged on.
    pub(super) fn judged_call<'a>(&'a self, arguments: &'a Raw) -> JudgedCall<'a> {
        JudgedCall { principal: self.caller.rule_principal(), arguments }
    }

    /// Returns the permission mode of this call.
    pub(super) fn mode(&self) -> PermissionMode {
        self.applied.mode(self.caller.session())
    }

    /// Refuses items of a server that rules hide as a whole.
    pub(super) fn check_visible(
        &self,
        placed: &AppliedServer,
        name: &str,
    ) -> Result<(), CallError> {
        if self.applied.permissions.hides_server(&placed.normal, self.caller.rule_principal()) {
            return Err(self.denied_by_rule_error(name, &placed.normal, ""));
        }
        if let Some(at) = self.applied.permissions.unclear_settings() {
            return Err(denied_error(
                name,
                DecisionReason::UnclearSettings { at: Some(at.clone()) },
                None,
            ));
        }
        Ok(())
    }

    /// Returns the error for a tool that is not listed because a rule denies it.
    pub(super) fn denied_by_rule_error(&self, name: &str, server: &str, tool: &str) -> CallError {
        let principal = self.caller.rule_principal();
        match self.applied.permissions.hiding_rule(server, tool, principal) {
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
        let because = match self.ask_hooks(call, &because).await? {
            HookConsent::Undecided => because,
            HookConsent::OtherQuestion(because) => because,
            HookConsent::Decided(decision) => {
                return decision.map_err(|because| denied_error(&call.name, because, None));
            }
        };
        // Sessions that share the queue call the tool by different names, so the queue shows the full name.
        let tool = match self.caller.session().answers {
            QuestionAnswerer::Caller => &call.name,
            QuestionAnswerer::Queue => &call.found.item.name,
        };
        let question = PermissionQuestion {
            tool: tool.clone(),
            arguments: call.arguments.clone(),
            annotations: call.found.item.tool.annotations,
            because,
            allow: allow.unwrap_or_default(),
        };
        self.ask_person(&call.found.placed, &call.name, question, &self.target(call)).await
    }

    /// Asks the session's answerer for permission to call `name`. The answer is remembered for its lifetime.
    pub(super) async fn ask_person(
        &self,
        placed: &AppliedServer,
        name: &str,
        mut question: PermissionQuestion,
        target: &AnswerTarget<'_>,
    ) -> Result<DecisionReason, CallError> {
        // The error keeps the place of a rule until the call is recorded.
        let because = question.because.clone();
        if !self.caller.session().principal.is_local() {
            question.because = question.because.without_places();
        }
        let allow = Some(question.allow.clone()).filter(|allow| !allow.is_empty());
        let about = QuestionKind::Permission(Box::new(question));
        let (yes, remember) = match self.ask(placed, about).await {
            Some(QuestionAnswer::Allow(remember)) => (true, remember),
            Some(QuestionAnswer::Deny(remember)) => (false, remember),
            Some(QuestionAnswer::Result(_) | QuestionAnswer::Cancel) | None => {
                let because = Box::new(because);
                let queue = self.engine.queue_access();
                return Err(CallError::Unanswered { name: name.to_owned(), because, allow, queue });
            }
        };
        self.remember(target, because.question(), yes, remember).await;
        if yes {
            Ok(DecisionReason::Person)
        } else {
            Err(denied_error(name, DecisionReason::Person, None))
        }
    }

    async fn ask_hooks(
        &self,
        call: &mut ToolCall,
        because: &DecisionReason,
    ) -> Result<HookConsent, CallError> {
        let hooks = &self.applied.hooks;
        if !hooks.has(switchboard_config::HookEvent::PermissionRequest, call.full_name()) {
            return Ok(HookConsent::Undecided);
        }
        let said = hooks.permission_request(&call.tool_use(self), because).await;
        self.note(&call.found.placed, &said.notes);
        match said.answer {
            None => Ok(HookConsent::Undecided),
            Some(PermissionAnswer::Deny { reason }) => {
                Ok(HookConsent::Decided(Err(DecisionReason::Hook { reason })))
            }
            Some(PermissionAnswer::Allow { updated_input }) => {
                if let Some(input) = updated_input {
                    call.arguments = input;
                    self.check_arguments(call)?;
                    return Ok(self.judge_changed(call, because));
                }
                Ok(HookConsent::Decided(Ok(DecisionReason::hook(""))))
            }
        }
    }

    /// Judges a call again whose arguments a hook changed as it allowed it. What the hook allowed is the question that it
    /// was asked: a rule that denies the new arguments counts, and one that asks about them for another reason leaves
    /// the question to a person.
    fn judge_changed(&self, call: &ToolCall, because: &DecisionReason) -> HookConsent {
        match self.judge(call, &HookVerdict::None) {
            PermissionVerdict::Deny { because } => HookConsent::Decided(Err(because)),
            PermissionVerdict::Ask { because: now @ DecisionReason::Rule(_) }
                if now != *because =>
            {
                HookConsent::OtherQuestion(now)
            }
            PermissionVerdict::Ask { .. }
            | PermissionVerdict::Allow { .. }
            | PermissionVerdict::Classify => HookConsent::Decided(Ok(DecisionReason::hook(""))),
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
            QuestionAnswerer::Queue => {
                self.engine
                    .queue_for(self.caller.session().principal.id())?
                    .ask((question, answer))
                    .await
            }
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
        target: &AnswerTarget<'_>,
        question: Option<Asked>,
        yes: bool,
        remember: AnswerLifetime,
    ) {
        // A no counts once, unless it is for good; questions that cannot be answered in advance are not remembered.
        let (Some(question), true) = (question, yes != (remember == AnswerLifetime::Never)) else {
            return;
        };
        let session = &self.caller.session().id;
        if let Err(error) = self.engine.memory.remember(session, target, question, remember).await {
            tracing::warn!(%error, "an answer could not be remembered");
        }
    }

    fn target<'a>(&'a self, call: &'a ToolCall) -> AnswerTarget<'a> {
        AnswerTarget {
            principal: self.caller.session().principal.id(),
            project: &self.applied.desired.root,
            server: &call.found.placed.name,
            signature: &call.found.placed.signature,
            tool: &call.found.item.tool.name,
        }
    }
}

pub(super) fn denied_error(
    name: &str,
    because: DecisionReason,
    allow: Option<String>,
) -> CallError {
    let at: Option<SourceLocation> = match &because {
        DecisionReason::Rule(rule) => rule.at.clone(),
        DecisionReason::UnclearSettings { at } => at.clone(),
        _ => None,
    };
    CallError::Denied { name: name.to_owned(), because: Box::new(because), allow, at }
}
