//! Hooks: commands of the person that run before and after calls, and around questions.
//!
//! Used by `dispatch` (`tool`, `consent`, `elicit`, `tasks`); built by `engine::supervisor::apply`. A hook is a
//! command line and a matcher. At its event it gets one JSON object on standard input and may answer with one on
//! standard output, or by its exit code. The members have the names that Claude Code documents for its hooks, so
//! that existing hooks work.
//!
//! | exit | standard output | meaning |
//! |---|---|---|
//! | 0 | a JSON object | the members of the object |
//! | 0 | anything else | nothing |
//! | 2 | | it blocks; its standard error is the reason |
//! | anything else, a timeout, or a failed start | | it failed: a note, and nothing is blocked |
//!
//! Where the matcher or the answer of a hook *before* a call cannot be parsed, a person is asked about the call: a
//! broken protection must not become no protection.
//!
//! It does not decide about calls (`permission::judge`), and does not validate changed input (`dispatch`).

mod answer;
mod elicitation_events;
mod input;
mod matcher;
mod note;
mod runner;
mod tool_events;

use futures_util::future::join_all;
use switchboard_config::{EffectiveHook, HookEvent};

pub use elicitation_events::{ElicitationAction, ElicitationAnswer, ElicitationOutcome};
pub use input::{HookElicitation, HookElicitationKind, ToolUse};
pub use note::{HookNote, HookNoteKind};
pub use runner::{CommandOutput, HookRunError, HookRunner};
pub use tool_events::{PermissionAnswer, PermissionRequest, PostToolUse, PreToolUse};

use crate::{EngineProblem, EngineProblemKind};
use answer::HookAnswer;
use input::EncodedInput;
use matcher::HookMatcher;

/// The hooks of a workspace.
#[derive(Debug)]
pub struct Hooks {
    /// The hooks in the order of the configuration.
    hooks: Vec<CompiledHook>,
    runner: HookRunner,
}

/// A hook with its compiled matcher, which may be unreadable.
#[derive(Debug)]
struct CompiledHook {
    hook: EffectiveHook,
    matcher: HookMatcher,
}

// === impl Hooks ===

impl Hooks {
    /// Compiles the matchers, once. Returns a problem for each hook that can never run.
    pub fn new(hooks: &[EffectiveHook], runner: HookRunner) -> (Self, Vec<EngineProblem>) {
        let mut problems = Vec::new();
        let mut read = |hook: &EffectiveHook| {
            let matcher = HookMatcher::read(hook.matcher.as_deref());
            problems.extend(matcher.flaw(hook.event).map(|flaw| problem(hook, &flaw)));
            CompiledHook { hook: hook.clone(), matcher }
        };
        let hooks = hooks.iter().map(&mut read).collect();
        (Self { hooks, runner }, problems)
    }

    /// Returns the runner of the commands.
    pub fn runner(&self) -> &HookRunner {
        &self.runner
    }

    /// Whether a hook runs at this event. `name` is the tool's full name, or the server's for the events of
    /// elicitation. Callers ask this first, since most calls have no hook.
    pub fn has(&self, event: HookEvent, name: &str) -> bool {
        self.hooks.iter().any(|ready| ready.hook.event == event && ready.concerns(name))
    }

    /// Runs every matching hook, all at once, and returns their answers in the order of the configuration. A
    /// command that is configured twice runs once.
    async fn run(
        &self,
        event: HookEvent,
        name: &str,
        told: EncodedInput,
    ) -> Vec<(&EffectiveHook, HookAnswer)> {
        let mut matching: Vec<&CompiledHook> = Vec::new();
        for ready in self.hooks.iter().filter(|ready| ready.hook.event == event) {
            if ready.concerns(name) && !matching.iter().any(|known| known.runs_same(ready)) {
                matching.push(ready);
            }
        }
        let runs = matching.into_iter().map(|ready| {
            let told = &told;
            async move { (&ready.hook, ready.run(&self.runner, told).await) }
        });
        join_all(runs).await
    }
}

fn problem(hook: &EffectiveHook, flaw: &str) -> EngineProblem {
    let event = hook.event.word();
    let message = format!("the {event} hook at {} {flaw}", hook.at);
    EngineProblem::new(EngineProblemKind::BadHook, message).of_item(&hook.command)
}

// === impl CompiledHook ===

impl CompiledHook {
    /// Whether the hook runs for `name`. An unreadable matcher matches every name before a call, where it leads to
    /// a question, and no name at other events.
    fn concerns(&self, name: &str) -> bool {
        let guards = self.hook.event == HookEvent::PreToolUse;
        self.matcher.matches(name) || (self.matcher.is_unreadable() && guards)
    }

    /// Whether two hooks run an equal command. A hook with an unreadable matcher runs nothing, so it never replaces
    /// another.
    fn runs_same(&self, other: &Self) -> bool {
        self.hook.command == other.hook.command
            && self.hook.start_folder == other.hook.start_folder
            && !self.matcher.is_unreadable()
            && !other.matcher.is_unreadable()
    }

    async fn run(&self, runner: &HookRunner, told: &EncodedInput) -> HookAnswer {
        match told {
            _ if self.matcher.is_unreadable() => HookAnswer::Unreadable("its matcher".to_owned()),
            Err(error) => HookAnswer::Failed(format!("it could not be told of the event: {error}")),
            Ok(input) => {
                let ran = runner
                    .run(&self.hook.command, &self.hook.start_folder, input, self.hook.timeout)
                    .await;
                HookAnswer::of(self.hook.event, ran)
            }
        }
    }
}
