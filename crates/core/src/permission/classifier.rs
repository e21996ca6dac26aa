//! The classifier: decides about calls in the `auto` mode that no rule, hook or answer decides.
//!
//! Used by `dispatch::consent`. A configured command decides. Without one the tool's annotations do; since they are
//! the server's claim, only a tool that neither writes nor reaches outside is allowed without a question. Where the
//! command fails, a person is asked, and told why.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use switchboard_process::ProcessExit;
use switchboard_wire::json::Raw;
use switchboard_wire::sanitize;

use super::{DecisionReason, PermissionVerdict, ToolAnnotations};
use crate::hooks::{CommandOutput, HookRunner};

/// How long the classifier command may take.
const CLASSIFIER_TIMEOUT: Duration = Duration::from_secs(10);

/// The classifier of the `auto` mode.
#[derive(Debug, Clone)]
pub enum CallClassifier {
    /// Decides by the tool's annotations.
    Hints,
    /// Decides by a command.
    Command {
        /// The command line, run by a shell.
        command: String,
        /// The folder in which the command starts.
        start_folder: PathBuf,
        /// Runs the command.
        runner: HookRunner,
    },
}

/// One call, as the classifier command sees it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ClassifierInput<'a> {
    /// The tool's name, as the server lists it.
    pub tool: &'a str,
    /// The tool's annotations.
    pub annotations: &'a ToolAnnotations,
    /// The arguments of the call.
    pub input: &'a Raw,
    /// The server's name, as configured.
    pub server: &'a str,
    /// The root of the project.
    pub workspace: &'a Path,
}

#[derive(Deserialize)]
struct ClassifierOutput {
    decision: ClassifierDecision,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ClassifierDecision {
    Allow,
    Ask,
    Deny,
}

// === impl CallClassifier ===

impl CallClassifier {
    /// Decides about a call; never returns [`PermissionVerdict::Classify`].
    pub async fn classify(&self, inquiry: &ClassifierInput<'_>) -> PermissionVerdict {
        match self {
            Self::Hints => classify_by_hints(*inquiry.annotations),
            Self::Command { command, start_folder, runner } => {
                match ask(command, start_folder, runner, inquiry).await {
                    Ok(answer) => answer.into(),
                    Err(failure) => ask_verdict(&format!(
                        "its command failed: {}",
                        sanitize::sanitize_line(&failure)
                    )),
                }
            }
        }
    }
}

fn classify_by_hints(hints: ToolAnnotations) -> PermissionVerdict {
    if hints.is_destructive() {
        ask_verdict("the tool may destroy something")
    } else if !hints.is_read_only() {
        ask_verdict("the tool changes something")
    } else if hints.is_open_world() {
        ask_verdict("the tool reaches out into the open")
    } else {
        let reason = "the tool only reads, in a closed world".to_owned();
        PermissionVerdict::Allow { because: DecisionReason::Classifier { reason } }
    }
}

fn ask_verdict(reason: &str) -> PermissionVerdict {
    PermissionVerdict::Ask { because: DecisionReason::Classifier { reason: reason.to_owned() } }
}

async fn ask(
    command: &str,
    start_folder: &Path,
    runner: &HookRunner,
    inquiry: &ClassifierInput<'_>,
) -> Result<ClassifierOutput, String> {
    let input = Raw::from_value(inquiry).map_err(|error| error.to_string())?;
    let ran = runner
        .run(command, start_folder, &input, CLASSIFIER_TIMEOUT)
        .await
        .map_err(|error| error.to_string())?;
    read(&ran)
}

fn read(ran: &CommandOutput) -> Result<ClassifierOutput, String> {
    if ran.exit != ProcessExit::Code(0) {
        return Err(ran.exit.to_string());
    }
    serde_json::from_slice(&ran.stdout).map_err(|error| format!("its answer is none: {error}"))
}

// === impl PermissionVerdict ===

impl From<ClassifierOutput> for PermissionVerdict {
    fn from(answer: ClassifierOutput) -> Self {
        let because = DecisionReason::Classifier {
            reason: sanitize::sanitize_line(&answer.reason).into_owned(),
        };
        match answer.decision {
            ClassifierDecision::Allow => Self::Allow { because },
            ClassifierDecision::Ask => Self::Ask { because },
            ClassifierDecision::Deny => Self::Deny { because },
        }
    }
}
