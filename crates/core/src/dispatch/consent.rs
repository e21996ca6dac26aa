//! Whether a tool may be called, and whom to ask where nobody has said yet.

use std::sync::Arc;

use switchboard_config::{Location, Mode};
use tokio::time::timeout;

use super::tool::ToolCall;
use super::{About, CallError, CallEvent, Consent, Question, Reply, Stage};
use crate::catalog::Tool;
use crate::engine::{Answers, Placed};
use crate::hooks::PermissionAnswer;
use crate::permission::{
    Because, Classifier, HookVerdict, Inquiry, Interaction, Origin, Question as Asked, Remember,
    Subject, Target, Verdict, judge,
};

// === impl Stage ===

impl Stage {
    /// Lets the call pass, with the reason, or says why not.
    pub(super) async fn permit(
        &self,
        call: &mut ToolCall,
        hook: HookVerdict,
    ) -> Result<Because, CallError> {
        let permissions = self.applied.permissions.with_mode(self.mode());
        let listed = Arc::clone(&call.found.item);
        let (server, tool) = (listed.label.server().normal(), listed.label.normal());
        let subject = Subject {
            permissions: &permissions,
            server,
            tool,
            annotations: call.found.item.tool.annotations,
            interaction: interaction(&call.found.item.tool),
            origin: Origin::Server,
            consent: self.caller.session().consent,
        };
        let remembered = self.engine.memory.recall(&self.caller.session().id, &self.target(call));
        let verdict = match judge(&subject, &hook, &remembered) {
            Verdict::Classify => Box::pin(self.classify(call)).await,
            verdict => verdict,
        };
        let allow = |because: &Because| {
            permissions.allowing(server, tool).filter(|_| because.yields_to_allow_rule())
        };
        match verdict {
            Verdict::Allow { because } => Ok(because),
            Verdict::Deny { because } => {
                let allow = allow(&because);
                Err(denied(&call.name, because, allow))
            }
            // A classifier that passes the question on has said that a person should decide.
            Verdict::Classify => {
                let because = Because::Mode { mode: Mode::Auto };
                let allow = allow(&because);
                Err(denied(&call.name, because, allow))
            }
            Verdict::Ask { because } => {
                let allow = allow(&because);
                Box::pin(self.ask_consent(call, because, allow)).await
            }
        }
    }

    /// The mode that holds for this call.
    pub(super) fn mode(&self) -> Mode {
        self.applied.mode(self.caller.session())
    }

    /// Refuses what belongs to a server that rules hide as a whole.
    pub(super) fn visible(&self, placed: &Placed, name: &str) -> Result<(), CallError> {
        if self.applied.permissions.hides_server(&placed.normal) {
            return Err(self.denied_by_rule(name, &placed.normal, ""));
        }
        Ok(())
    }

    /// Why a tool that is not listed is not.
    pub(super) fn denied_by_rule(&self, name: &str, server: &str, tool: &str) -> CallError {
        let ruling = self.applied.permissions.ruling(server, tool);
        match ruling.deny {
            Some(rule) => denied(name, Because::Rule(rule.clone()), None),
            None => CallError::NotFound { name: name.to_owned(), similar: Vec::new() },
        }
    }

    async fn classify(&self, call: &ToolCall) -> Verdict {
        let command = self.applied.desired.rules.classifier.as_ref();
        let classifier = match command {
            None => Classifier::Hints,
            Some(command) => Classifier::Command {
                command: command.command.clone(),
                start_folder: command.start_folder.clone(),
                runner: self.applied.hooks.runner().clone(),
            },
        };
        let inquiry = Inquiry {
            tool: &call.found.item.tool.name,
            annotations: &call.found.item.tool.annotations,
            input: &call.arguments,
            server: &call.found.placed.name,
            workspace: &self.applied.desired.root,
        };
        classifier.classify(&inquiry).await
    }

    /// Hooks first, then whoever can answer. An answer is remembered as long as it says.
    async fn ask_consent(
        &self,
        call: &mut ToolCall,
        because: Because,
        allow: Option<String>,
    ) -> Result<Because, CallError> {
        if let Some(decision) = self.asked_hooks(call, &because).await? {
            return decision.map_err(|because| denied(&call.name, because, None));
        }
        let question = because.question();
        // The queue is shared by sessions that call the tool by other names.
        let tool = match self.caller.session().answers {
            Answers::Caller => &call.name,
            Answers::Queue => &call.found.item.name,
        };
        let about = About::Permission(Box::new(Consent {
            tool: tool.clone(),
            arguments: call.arguments.clone(),
            annotations: call.found.item.tool.annotations,
            because: because.clone(),
            allow: allow.clone().unwrap_or_default(),
        }));
        let (yes, remember) = match self.ask(&call.found.placed, about).await {
            Some(Reply::Allow(remember)) => (true, remember),
            Some(Reply::Deny(remember)) => (false, remember),
            Some(Reply::Result(_) | Reply::Cancel) | None => {
                let because = Box::new(because);
                return Err(CallError::Unanswered { name: call.name.clone(), because, allow });
            }
        };
        self.remember(call, question, yes, remember).await;
        if yes { Ok(Because::Person) } else { Err(denied(&call.name, Because::Person, None)) }
    }

    async fn asked_hooks(
        &self,
        call: &mut ToolCall,
        because: &Because,
    ) -> Result<Option<Result<Because, Because>>, CallError> {
        let hooks = &self.applied.hooks;
        if !hooks.has(switchboard_config::HookEvent::PermissionRequest, call.uncut()) {
            return Ok(None);
        }
        let said = hooks.permission_request(&call.used(self), because).await;
        self.note(&call.found.placed, &said.notes);
        match said.answer {
            None => Ok(None),
            Some(PermissionAnswer::Deny { reason }) => Ok(Some(Err(Because::Hook { reason }))),
            Some(PermissionAnswer::Allow { updated_input }) => {
                if let Some(input) = updated_input {
                    call.arguments = input;
                    self.check_arguments(call)?;
                }
                Ok(Some(Ok(Because::Hook { reason: String::new() })))
            }
        }
    }

    /// Asks whoever answers this session's questions. `None`: nobody is there.
    pub(super) async fn ask(&self, placed: &Placed, about: About) -> Option<Reply> {
        let (question, answer) = Question::new(&placed.name, about);
        let question = question.of_client(&self.caller.who().client);
        match self.caller.session().answers {
            Answers::Queue => self.engine.queue().ask((question, answer)).await,
            Answers::Caller => {
                self.emit.event(CallEvent::Question(question)).await;
                match timeout(self.engine.patience(), answer).await {
                    Ok(Ok(reply)) => Some(reply),
                    // Dropped, or not answered in time.
                    Ok(Err(_)) | Err(_) => Some(Reply::Cancel),
                }
            }
        }
    }

    async fn remember(
        &self,
        call: &ToolCall,
        question: Option<Asked>,
        yes: bool,
        remember: Remember,
    ) {
        // A no counts once, unless it is for good; what cannot be answered in advance is not remembered.
        let (Some(question), true) = (question, yes != (remember == Remember::Never)) else {
            return;
        };
        let session = &self.caller.session().id;
        let target = self.target(call);
        if let Err(error) = self.engine.memory.remember(session, &target, question, remember).await
        {
            tracing::warn!(%error, "an answer could not be remembered");
        }
    }

    fn target<'a>(&'a self, call: &'a ToolCall) -> Target<'a> {
        Target {
            project: &self.applied.desired.root,
            server: &call.found.placed.name,
            signature: &call.found.placed.signature,
            tool: &call.found.item.tool.name,
        }
    }
}

fn interaction(tool: &Tool) -> Interaction {
    if tool.meta.requires_user_interaction { Interaction::Required } else { Interaction::Free }
}

fn denied(name: &str, because: Because, allow: Option<String>) -> CallError {
    let at: Option<Location> = match &because {
        Because::Rule(rule) => Some(rule.at.clone()),
        _ => None,
    };
    CallError::Denied { name: name.to_owned(), because: Box::new(because), allow, at }
}
