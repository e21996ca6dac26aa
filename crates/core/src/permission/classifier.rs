//! What the `auto` mode makes of a call that nothing else decides.
//!
//! Where a command is configured it decides. Otherwise the tool's own hints do, and since they are the
//! server's word, only a tool that neither writes nor reaches out goes unasked. A command that fails
//! decides nothing: a person is asked, and told why.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use switchboard_process::Exit;
use switchboard_wire::json::Raw;
use switchboard_wire::sanitize;

use super::{Annotations, Because, Verdict};
use crate::hooks::{Ran, Runner};

/// How long the command may take.
const TIME: Duration = Duration::from_secs(10);

/// Decides what the `auto` mode leaves open.
#[derive(Debug, Clone)]
pub enum Classifier {
    /// By the tool's own hints.
    Hints,
    /// By a command.
    Command {
        /// The command line, run by a shell.
        command: String,
        /// Where it starts.
        start_folder: PathBuf,
        /// What runs it.
        runner: Runner,
    },
}

/// One call, as the command sees it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Inquiry<'a> {
    /// The tool, as the server calls it.
    pub tool: &'a str,
    /// What it says about itself.
    pub annotations: &'a Annotations,
    /// What it is called with.
    pub input: &'a Raw,
    /// The server's name, as configured.
    pub server: &'a str,
    /// The root of the project.
    pub workspace: &'a Path,
}

#[derive(Deserialize)]
struct Answer {
    decision: Decision,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Allow,
    Ask,
    Deny,
}

// === impl Classifier ===

impl Classifier {
    /// Decides about a call; never [`Verdict::Classify`].
    pub async fn classify(&self, inquiry: &Inquiry<'_>) -> Verdict {
        match self {
            Self::Hints => by_hints(*inquiry.annotations),
            Self::Command { command, start_folder, runner } => {
                match ask(command, start_folder, runner, inquiry).await {
                    Ok(answer) => answer.into(),
                    Err(failure) => {
                        asking(&format!("its command failed: {}", sanitize::line(&failure)))
                    }
                }
            }
        }
    }
}

fn by_hints(hints: Annotations) -> Verdict {
    if hints.is_destructive() {
        asking("the tool may destroy something")
    } else if !hints.is_read_only() {
        asking("the tool changes something")
    } else if hints.is_open_world() {
        asking("the tool reaches out into the open")
    } else {
        let reason = "the tool only reads, in a closed world".to_owned();
        Verdict::Allow { because: Because::Classifier { reason } }
    }
}

fn asking(reason: &str) -> Verdict {
    Verdict::Ask { because: Because::Classifier { reason: reason.to_owned() } }
}

async fn ask(
    command: &str,
    start_folder: &Path,
    runner: &Runner,
    inquiry: &Inquiry<'_>,
) -> Result<Answer, String> {
    let input = Raw::of(inquiry).map_err(|error| error.to_string())?;
    let ran =
        runner.run(command, start_folder, &input, TIME).await.map_err(|error| error.to_string())?;
    read(&ran)
}

fn read(ran: &Ran) -> Result<Answer, String> {
    if ran.exit != Exit::Code(0) {
        return Err(ran.exit.to_string());
    }
    serde_json::from_slice(&ran.stdout).map_err(|error| format!("its answer is none: {error}"))
}

// === impl Answer ===

impl From<Answer> for Verdict {
    fn from(answer: Answer) -> Self {
        let because = Because::Classifier { reason: sanitize::line(&answer.reason).into_owned() };
        match answer.decision {
            Decision::Allow => Self::Allow { because },
            Decision::Ask => Self::Ask { because },
            Decision::Deny => Self::Deny { because },
        }
    }
}
