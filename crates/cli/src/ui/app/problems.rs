//! The rows of the Problems view: failed servers, items that await approval, problems of the engine.
//!
//! Used by `act`, `perform` and `view::problems`. It does not find problems itself (`core` and `config` do).

use switchboard_core::problem::EngineProblem;
use switchboard_core::remote::RemoteServer;

use super::hub_model::{ApprovalCase, HubModel};
use super::server_state;
use crate::show;

/// States in which a server needs attention.
const PROBLEM_STATES: [&str; 5] =
    ["failed", "needs-auth", "invalid", "blocked", "awaiting-approval"];

/// The reason for an item without approval.
const UNAPPROVED_TEXT: &str = "the project contains it; it runs only after you approve it";

/// One problem.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ProblemRow<'a> {
    Server(&'a RemoteServer),
    /// An item other than a server that awaits approval.
    Approval(&'a ApprovalCase),
    Problem(&'a EngineProblem),
}

/// All problems, most severe first.
pub(crate) fn troubles(known: &HubModel) -> Vec<ProblemRow<'_>> {
    let servers = known.servers.iter().filter(|server| PROBLEM_STATES.contains(&&*server.state));
    let approvals = known.approvals.iter().filter(|case| case.kind != "server");
    servers
        .map(ProblemRow::Server)
        .chain(approvals.map(ProblemRow::Approval))
        .chain(known.problems.iter().map(ProblemRow::Problem))
        .collect()
}

// === impl ProblemRow ===

impl ProblemRow<'_> {
    /// The problem in a few words.
    pub(crate) fn title(&self) -> String {
        match self {
            Self::Server(server) => {
                format!("{}: {}", server.name, show::state_word(server_state(server)))
            }
            Self::Approval(case) => format!("{} {}: awaiting approval", case.kind, case.name),
            Self::Problem(problem) => {
                let names = [problem.server.as_deref(), problem.item.as_deref()];
                names.into_iter().flatten().collect::<Vec<_>>().join(" · ")
            }
        }
    }

    /// The cause, and the next step.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::Server(server) => match (&server.why, &server.error) {
                (Some(why), _) => why.clone(),
                (None, Some(error)) => {
                    let hint = error.hint.as_ref().map(|hint| format!("; {hint}"));
                    format!("{}{}", error.causes.join(": "), hint.unwrap_or_default())
                }
                (None, None) => UNAPPROVED_TEXT.to_owned(),
            },
            Self::Approval(_) => UNAPPROVED_TEXT.to_owned(),
            Self::Problem(problem) => problem.message.clone(),
        }
    }
}
